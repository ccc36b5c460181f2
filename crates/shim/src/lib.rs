//! What a client starts in place of a gateway of its own: a relay to the user's daemon, on one thread. It knows frames and
//! ids, holds no catalog, and alone makes it possible that a daemon goes and another comes without the client noticing.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "there is no runtime here, and so no clock of its own"
)]

mod attach;
mod class;
mod decoder;
mod gathering;
mod glance;
mod in_flight;
mod memory;
mod recent_ids;
mod relay;
mod silence;
mod streams;
mod wire;

pub use attach::{Attached, Attaching, Begun, NoDaemon, Patience, Start, attach};
pub use decoder::Language;
pub use silence::Bounds;
pub use wire::serve;
