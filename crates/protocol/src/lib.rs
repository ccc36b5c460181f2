//! Bytes ⇄ messages ⇄ model. No I/O, so all of it can be fuzzed.

pub mod dialect;
pub mod envelope;
pub mod extension;
mod fault;
pub mod framing;
mod id;
pub mod members;
mod method;
mod model;
mod outgoing;
pub mod raw;
pub mod scan;
pub mod tools;
mod version;

pub use fault::{CodeSet, Fault, login_command};
pub use id::{Id, put_decimal};
pub use method::{Method, notification};
pub use model::{Answer, Call, Caller, Failure, Freshness, Kind, List, Mark, Reply, Scope, Words};
pub use outgoing::{Frames, Outgoing};
pub use raw::{Raw, RawArray, RawObject};
pub use version::{Era, Revision};
