//! The reference server for the official conformance suite; see `manifold_testkit::conformance` for what it offers.

use std::process::ExitCode;

fn main() -> ExitCode {
    manifold_testkit::conformance::main()
}
