//! Every committed input of the fuzz targets, replayed.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they try"
)]

#[path = "../../../fuzz/checks/config.rs"]
mod config;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn config_seeds_hold() {
    replay("config", config::check);
}
