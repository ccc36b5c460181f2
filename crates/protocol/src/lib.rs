//! Bytes ⇄ messages ⇄ model. No I/O, so all of it can be fuzzed.

pub mod dialect;
pub mod envelope;
mod fault;
pub mod framing;
mod id;
mod method;
mod model;
pub mod raw;
pub mod scan;
mod version;

pub use fault::{CodeSet, Fault};
pub use id::Id;
pub use method::{Method, notification};
pub use model::{Call, Failure, Kind, Reply};
pub use raw::{Raw, RawObject};
pub use version::Revision;
