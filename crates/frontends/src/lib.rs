//! The ways to be reached.

#[cfg(test)]
mod fake;
pub mod http;
mod session;
pub mod stdio;

pub use session::{Doorway, Outlet, Session};
