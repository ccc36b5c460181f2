//! The ways to be reached.

mod asked;
#[cfg(test)]
mod fake;
pub mod http;
pub mod litemcp;
mod modern;
mod parked;
mod questions;
mod session;
pub mod stdio;

pub use modern::facts_of_anyone;
pub use session::{Doorway, Outlet, Session};
