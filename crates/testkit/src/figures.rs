//! Times, printed beside what is wanted of them. A test never fails by one: how fast a machine is, and what else it does
//! meanwhile, is not what it tests. `bench/figures` gathers them.
#![expect(clippy::print_stdout, reason = "a figure is there to be read")]

use std::fmt::Debug;
use std::time::Duration;

/// Prints how long something took.
pub fn took(what: &str, reached: Duration, wanted: Duration) {
    print(what, format_args!("{reached:?}"), wanted, reached <= wanted);
}

/// Prints a number that should be small: a ratio, or a share.
pub fn ratio(what: &str, reached: f64, wanted: f64) {
    print(what, format_args!("{reached:.3}"), wanted, reached <= wanted);
}

/// Returns whether someone wants the figures that only measuring at length can give.
pub fn are_wanted() -> bool {
    std::env::var_os("MANIFOLD_FIGURES").is_some()
}

fn print(what: &str, reached: impl std::fmt::Display, wanted: impl Debug, is_reached: bool) {
    let verdict = if is_reached { "" } else { " MISSED" };
    println!("figure: {what}: {reached} ({wanted:?} wanted){verdict}");
}
