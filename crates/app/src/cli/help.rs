//! What `--help` shows: each command with the flags that are of use to it.

use clap::CommandFactory;

use super::Cli;

/// Returns what `--help` shows.
pub(crate) fn help() -> String {
    command().render_help().to_string()
}

/// Options that mean something to whoever serves over HTTP, on a pipe, or at all; by their names in `Flags`.
const OF_HTTP: &[&str] =
    &["port", "host", "allowed_hosts", "token_file", "token", "cors", "cors_origins", "tls_cert", "tls_key"];
const OF_STDIO: &[&str] = &["framing"];
const OF_SERVING: &[&str] = &["eager", "log_level", "log_format", "silent"];
const OF_CONFIGS: &[&str] = &["config", "namespace", "profile"];
const MODES: &[&str] = &["stdio", "http"];

/// Returns the grammar. Every option may stand before or after the command, but each command's help lists only those that
/// act there (D10).
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    // Only a built command has its options in its subcommands.
    command.build();
    let silent: [(&str, &[&[&str]]); 13] = [
        ("stdio", &[OF_HTTP, MODES]),
        ("http", &[OF_STDIO, MODES]),
        ("litemcp", &[OF_HTTP, OF_STDIO, MODES]),
        ("status", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("tui", &[OF_HTTP, OF_STDIO, OF_SERVING, OF_CONFIGS, MODES]),
        ("config", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("config schema", &[OF_CONFIGS]),
        ("call", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("read", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("prompt", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("complete", &[OF_HTTP, OF_STDIO, OF_SERVING, MODES]),
        ("completions", &[OF_HTTP, OF_STDIO, OF_SERVING, OF_CONFIGS, MODES]),
        ("man", &[OF_HTTP, OF_STDIO, OF_SERVING, OF_CONFIGS, MODES]),
    ];
    for (path, groups) in silent {
        let mut found = Some(&mut command);
        for name in path.split(' ') {
            found = found.and_then(|command| command.find_subcommand_mut(name));
        }
        if let Some(subcommand) = found {
            hide(subcommand, &groups.concat());
        }
    }
    command
}

/// Keeps these options out of the help of a command and of those below it.
fn hide(command: &mut clap::Command, names: &[&str]) {
    let hidden = std::mem::take(command)
        .mut_args(|arg| if names.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg });
    *command = hidden;
    for below in command.get_subcommands_mut() {
        hide(below, names);
    }
}
