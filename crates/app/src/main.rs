//! Manifold: every MCP server behind one plug.

mod audit;
mod browser;
mod cli;
mod commands;
mod config_editor;
mod daemon;
mod door;
mod interrupt;
mod logging;
mod login;
mod logins;
mod machine;
mod operator;
mod output;
mod recorder;
mod registry;
mod remembered;
mod replica;
mod secrets;
mod signals;
mod telemetry;
mod tokens;
mod watch;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Where the small guard it carries cannot run, this program is the guard of its own children; that role is decided
    // before anything else runs.
    manifold_upstreams::process::guard_main_if_asked();
    if commands::complete_if_asked() {
        return ExitCode::SUCCESS;
    }
    machine::forbid_inspection();
    manifold_upstreams::process::own_all_orphans();
    output::ended(match cli::parse(std::env::args_os()) {
        Ok(invocation) => commands::run(invocation),
        Err(exit) => exit,
    })
}
