//! What the gateway costs, measured: its parts alone (`parts`, `guard`), and the whole binary beside a server that does
//! next to nothing (`bin/fast-server.rs`, `bin/load.rs`, driven by `bench/run`). No part of the program.

pub mod guard;
pub mod http;
pub mod parts;
mod world;
