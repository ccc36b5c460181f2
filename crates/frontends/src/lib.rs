//! The ways to be reached.

pub mod http;
mod session;
pub mod stdio;

pub use session::{Doorway, Session};
