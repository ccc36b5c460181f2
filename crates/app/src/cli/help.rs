//! What `--help` shows: each command with the flags that are of use to it.

use std::ffi::OsString;

use clap::CommandFactory;

use super::Cli;

/// The first page, on one screen: commands by what they are for. A test sees to it that all of them are here.
pub(super) const TEMPLATE: &str = "\
{about}

Usage: {usage}

Servers:
  list, get, search, login      Show all servers, one, or what the Registry has; sign in to one
  start, stop, enable, disable  Run a server now, or end it; let it be used or not, in the config
  restart, wait, refresh, logs  Run it anew, wait for it, read its lists anew, see what it writes
  add, add-json, import         Put a server into the config; import those of other programs' files
  remove, rename, logout        Take a server out of the config, or rename it; sign out of it
Tools:
  tools, tool                   Show what clients see, or what one tool takes
  resources, prompts            The same of resources and prompts
  call, read, prompt, complete  Call a tool, read a resource, get a prompt, complete an argument
Clients and namespaces:
  init, install, uninstall      Set up everything at once; put Manifold into Cursor …, take it out
  undo, clients, ns, audit      Take back a change; who is connected; namespaces; what operators did
Serving:
  serve, stdio, http, litemcp   Serve one client on a pipe, or many over HTTP
  daemon, open, token           What stdio clients share; all in the browser; who comes in by HTTP
  watch, record, replay         Messages as they pass; kept in a file; served, repeated, compared
Files and help:
  status, doctor, config, tui   What is configured, how it does, what is wrong; all in the terminal
  secret, completions, man      Secrets for the config; completions for your shell, manual pages

Options (`manifold COMMAND --help` shows those of a command):
{options}

Examples:
  manifold init                            all your servers behind Manifold, in all your clients
  manifold serve --stdio --namespace work  serve one client, as `--stdio --schema=workspace` does
  manifold call time.get_current_time timezone=UTC
";

/// Returns `manifold help call` as `manifold call --help`.
pub(super) fn asked_by_word(args: Vec<OsString>) -> Vec<OsString> {
    match args.as_slice() {
        [program, help, words @ ..] if help == "help" => {
            let words = words.iter().filter(|word| *word != "--help").cloned();
            [program.clone()].into_iter().chain(words).chain(["--help".into()]).collect()
        }
        _ => args,
    }
}

/// Returns what `--help` shows.
pub(crate) fn help() -> String {
    command().render_help().to_string()
}

/// Options that mean something to whoever serves over HTTP, on a pipe, or at all; by their names in `Flags`.
const OF_HTTP: &[&str] = &[
    "port",
    "host",
    "allowed_hosts",
    "token_file",
    "token",
    "cors",
    "cors_origins",
    "tls_cert",
    "tls_key",
    "metrics",
    "state_key_file",
    "state",
    "replica",
];
const OF_STDIO: &[&str] = &["framing"];
const OF_SERVING: &[&str] = &["eager", "log_level", "log_format", "silent", "alone"];
const OF_CONFIGS: &[&str] = &["config", "namespace", "profile"];
const OF_SECRETS: &[&str] = &["key_file"];
const OF_VERBS: &[&str] = &["color", "verbose"];
const MODES: &[&str] = &["stdio", "http"];

/// Commands that serve, and those that look into no config.
const SERVING: &[&str] = &["serve", "stdio", "http", "litemcp", "daemon"];
const WITHOUT_CONFIG: &[&str] = &["completions", "man"];

/// Returns the grammar. Every option may stand before or after the command, but each command's help lists only those that
/// act there (D10).
pub(crate) fn command() -> clap::Command {
    let mut command = Cli::command();
    // Only a built command has its options in its subcommands.
    command.build();
    for below in command.get_subcommands_mut() {
        let name = below.get_name().to_owned();
        let hidden: &[&[&str]] = match name.as_str() {
            "stdio" => &[OF_HTTP, MODES, OF_VERBS],
            "http" => &[OF_STDIO, MODES, OF_VERBS],
            "litemcp" => &[OF_HTTP, OF_STDIO, MODES, OF_VERBS],
            name if SERVING.contains(&name) => &[OF_VERBS],
            "install" => &[OF_HTTP, OF_STDIO, OF_SERVING, OF_SECRETS, &["stdio"]],
            "undo" | "uninstall" => &[OF_HTTP, OF_STDIO, OF_SERVING, OF_CONFIGS, OF_SECRETS, MODES],
            name if WITHOUT_CONFIG.contains(&name) => {
                &[OF_HTTP, OF_STDIO, OF_SERVING, OF_CONFIGS, OF_SECRETS, MODES, OF_VERBS]
            }
            "tui" => &[OF_HTTP, OF_STDIO, &["eager", "log_level", "log_format", "silent", "verbose"], MODES],
            "secret" => &[OF_HTTP, OF_STDIO, OF_SERVING, MODES],
            _ => &[OF_HTTP, OF_STDIO, OF_SERVING, OF_SECRETS, MODES],
        };
        hide(below, &hidden.concat());
        if name == "config"
            && let Some(schema) = below.find_subcommand_mut("schema")
        {
            hide(schema, OF_CONFIGS);
        }
    }
    let first_page =
        [OF_HTTP, OF_STDIO, OF_SECRETS, &["eager", "log_format", "silent", "alone", "profile"]].concat();
    hide_here(&mut command, &first_page);
    // One line for each.
    command.mut_args(|arg| arg.hide_possible_values(true))
}

/// Keeps these options out of the help of a command and of those below it.
fn hide(command: &mut clap::Command, names: &[&str]) {
    hide_here(command, names);
    for below in command.get_subcommands_mut() {
        hide(below, names);
    }
}

fn hide_here(command: &mut clap::Command, names: &[&str]) {
    let hidden = std::mem::take(command)
        .mut_args(|arg| if names.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg });
    *command = hidden;
}
