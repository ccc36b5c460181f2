//! Every committed input of the fuzz target, replayed.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they try"
)]

#[path = "../../../fuzz/checks/challenge.rs"]
mod challenge;
#[path = "../../../fuzz/checks/replay.rs"]
mod replay;

#[test]
fn challenge_seeds_hold() {
    replay::replay("challenge", challenge::check);
}
