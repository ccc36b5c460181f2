//! The ways to be reached.

pub mod admin;
#[cfg(test)]
mod fake;
pub mod http;
pub mod litemcp;
pub mod metrics;
mod modern;
mod one_shot;
mod parked;
mod questions;
pub mod replica;
mod serve;
mod session;
pub mod shim;
pub mod stdio;
mod tap;

pub use modern::facts_of_anyone;
pub use session::{Destination, Outlet, Session};
