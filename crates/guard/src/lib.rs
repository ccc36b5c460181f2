//! The guard and its keepers: the processes between the gateway and its servers.
//!
//! They do next to nothing, for as long as the gateway runs, once per server: so they are next to nothing. No
//! allocator, no C library, nothing but system calls. The same code is built twice: into the gateway, and alone
//! (`cfg(alone)`, by `build.rs`) as the small program that the gateway carries and starts ([`PROGRAM`]). Where that
//! one cannot be run, the gateway starts itself and calls [`run`].
//!
//! What they promise is told in `crates/upstreams/src/process/linux.rs`.
#![no_std]
#![cfg_attr(alone, no_main)]
#![cfg_attr(alone, allow(dead_code, unreachable_pub, reason = "the gateway needs more of it than the guard"))]

#[cfg(not(target_os = "linux"))]
compile_error!("the guard speaks to the Linux kernel alone; its numbers mean something else elsewhere");

#[cfg(not(alone))]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(alone)]
mod begin;
mod guard;
mod keeper;
mod kernel;
mod memory;
mod proc;
mod tree;
pub mod wire;

pub use guard::run;
pub use tree::for_each_child;

/// Names the guard where processes are listed. It differs from the gateway's on purpose: a `pkill -9` by that name
/// takes the gateway and spares the one that cleans up after it.
pub const GUARD_NAME: &str = "mcp-guard";

/// The variable that marks guard, keepers and servers as ours. A gateway below a gateway adds a word to it.
pub const MARKER: &str = "MANIFOLD_TREE";

/// The guard as a program of its own; empty where it could not be built.
#[cfg(not(alone))]
pub const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mcp-guard"));
