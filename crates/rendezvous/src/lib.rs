//! Where the shims and the daemon of one user find each other, and what they say once they have met. Both ends use it, so
//! it knows neither of them, and no runtime: a shim has one thread and little memory.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "there is no runtime here, and so no clock of its own"
)]

mod descriptors;
pub mod frame;
pub mod hello;
mod lock;
mod place;
mod sandbox;
mod stages;
pub mod versions;

pub use descriptors::{IncomingLine, receive_line, send_line, wait_ready};
pub use lock::{Lock, LockError};
pub use place::{BaseFolders, Identity, Place, PlaceError, is_our_user, peer_pid};
pub use sandbox::SandboxMarks;
pub use stages::{SLOTS, Stage, Stages};
