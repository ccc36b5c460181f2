//! How Linux keeps its promise that no server outlives us.
//!
//! Three kinds of process take part. The *gateway* starts one *guard* with the first server: a small program that it
//! carries (`crates/guard`), or itself where that one cannot be run. The guard forks one *keeper* per server, and the
//! keeper starts the server:
//!
//! ```text
//! gateway ─── guard ─┬─ keeper ─── server ─── whatever it starts
//!                    └─ keeper ─── server …
//! ```
//!
//! Guard and keepers are subreapers: an orphan is re-parented to its nearest such ancestor, whatever session it moved
//! to and however often it forked. So everything a server ever started stays below its keeper, and nothing else does:
//! no guessing which process belongs to whom. Each keeper holds one end of a socket whose other end is in the gateway
//! alone. When that end closes, by a dropped handle or because the gateway was killed, the keeper kills all it has.
//! When a keeper dies, its orphans fall to the guard, which kills them; when the guard dies, the kernel tells the
//! keepers, which kill theirs and exit. The gateway is a subreaper too, for the case that both are killed: what falls to
//! it then it knows by the variable `MANIFOLD_TREE`, which guard, keepers and servers carry, by the guard's session, or
//! because nothing else can: see [`own_all_orphans`]. Where the system lets it, the gateway also makes a cgroup for each
//! server, which is killed as one ([`cgroup`]). Neither guard nor keepers have any other variable, and nobody but root can
//! look into them.

mod cgroup;
mod client;
mod descriptor;
mod link;
mod orphans;
mod pipes;
mod program;
mod request;
mod saved;
mod tree;
mod unix;
mod usage;

/// The variable that every process below a gateway has.
pub(super) const TREE_MARKER: &str = manifold_guard::MARKER;

#[cfg(test)]
mod tests;

pub use client::ProcessHost;
pub use descriptor::Descriptor;
pub use link::{ExitWatch, ProcessControl};
pub use orphans::own_all_orphans;
pub(crate) use pipes::InputGauge;
pub use pipes::{ServerInput, ServerOutput};
pub use program::guard_main_if_asked;
pub use saved::{SavedHost, SavedKeeper};
pub use usage::Processes;

use nix::sys::signal::Signal;

/// Returns what a signal is called.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    Signal::try_from(number).ok().map(Signal::as_str)
}
