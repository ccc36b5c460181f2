//! An MCP server on stdio, of either era, that misbehaves as told; see `manifold_testkit::fake` for what it can be told.

use std::process::ExitCode;

fn main() -> ExitCode {
    manifold_testkit::fake::main()
}
