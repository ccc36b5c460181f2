//! Every committed input of the fuzz targets, replayed.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they try"
)]

#[path = "../../../fuzz/checks/names.rs"]
mod names;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn names_seeds_hold() {
    replay("names", names::check);
}
