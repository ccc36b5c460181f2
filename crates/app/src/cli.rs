//! The command line: one grammar for every name the program goes by (decision 1).

mod call;
mod help;
mod values;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use manifold_config::{Bare, Profile};

use crate::daemon::InheritedFds;
pub(crate) use call::{
    AskCommand, CallArgs, CompleteArgs, CompleteOf, HowArgs, PromptArgs, ReadArgs, ShellArg, ShellCommand,
};
pub(crate) use help::command;
pub(crate) use help::help;
use values::profile;
pub(crate) use values::{FormatArg, FramingArg, LevelArg};

/// The exit code of a wrong command line or an unusable config.
pub(crate) const USAGE: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  manifold                                   serve over HTTP on 127.0.0.1:3095
  manifold serve --stdio                     serve one client on standard input and output
  manifold serve --stdio --namespace work    ... with the servers of one namespace
  manifold --stdio --schema=workspace        the same, as mcps-proxy spells it
  manifold stdio --mcp-config mcp.json       the same, as mcp-all-in-one spells it
  manifold litemcp --tool time__now          serve one tool to a LiteMCP client
  manifold status                            what is configured, and what is wrong with it
  manifold config check ~/mcp.json           check a config file
  manifold config schema > schema.json       JSON Schema for your editor

In a client's config:
  {\"mcpServers\": {\"manifold\": {\"command\": \"manifold\", \"args\": [\"serve\", \"--stdio\"]}}}";

#[derive(Debug, Parser)]
#[command(name = "manifold", version, about = "Every MCP server behind one plug", after_help = EXAMPLES)]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    mode: ModeFlags,
    #[command(flatten)]
    flags: Flags,
    /// Check a config file and exit (as mcp-all-in-one spells `config check`)
    #[arg(long, value_name = "FILE", num_args = 0..=1, hide = true)]
    validate_mcp_config: Option<Option<PathBuf>>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
struct ModeFlags {
    /// Serve one client on standard input and output
    #[arg(long, global = true)]
    stdio: bool,
    /// Serve over HTTP
    #[arg(long, global = true)]
    http: bool,
}

/// What applies to every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flags {
    /// The config file [default: the profile's, such as ~/.config/manifold/config.json]
    #[arg(short, long, alias = "mcp-config", global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The namespace to serve, by id or unique name
    #[arg(long, alias = "schema", global = true, value_name = "ID")]
    pub(crate) namespace: Option<String>,
    /// Whose defaults apply: manifold, mcps-proxy, mcp-studio or mcp-all-in-one [env: MANIFOLD_PROFILE]
    #[arg(long, global = true, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<Profile>,
    /// Serve by ourselves, without the user's daemon [env: MANIFOLD_DAEMON=off]
    #[arg(long, global = true)]
    pub(crate) alone: bool,
    /// Start all servers with the first request
    #[arg(long, global = true)]
    pub(crate) eager: bool,
    /// How much is logged on standard error
    #[arg(short, long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<LevelArg>,
    /// How log lines look
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) log_format: Option<FormatArg>,
    /// Log nothing
    #[arg(short, long, global = true)]
    pub(crate) silent: bool,
    /// Force the framing of standard input and output [default: as the client's first bytes say]
    #[arg(long, global = true, value_name = "FRAMING")]
    pub(crate) framing: Option<FramingArg>,
    /// The port for HTTP [default: 3095]
    #[arg(short, long, global = true)]
    pub(crate) port: Option<u16>,
    /// The address for HTTP [default: 127.0.0.1]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// A name beside localhost under which HTTP clients may address us; may be repeated
    #[arg(long = "allowed-host", global = true, value_name = "NAME")]
    pub(crate) allowed_hosts: Vec<String>,
    /// A file with the token HTTP clients must send (also MANIFOLD_TOKEN, server.token)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself; others can see it in the list of processes
    #[arg(long, global = true, value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Let web pages of these origins read our answers (see --cors-origin)
    #[arg(long, global = true)]
    pub(crate) cors: bool,
    /// An origin whose pages may read our answers; may be repeated
    #[arg(long = "cors-origin", global = true, value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// The certificate chain for TLS, a PEM file
    #[arg(long, global = true, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key for TLS, a PEM file
    #[arg(long, global = true, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve (over stdio unless told otherwise)
    Serve,
    /// Serve one client on standard input and output
    Stdio,
    /// Serve over HTTP
    Http,
    /// Serve LiteMCP on standard input and output
    Litemcp {
        /// The one tool to serve, by its exposed or its own name [default: one that calls all others]
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
    },
    /// Show what is configured, and what is wrong with it
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a config, or print its JSON Schema
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// The process that all stdio clients share: see it, start it, stop it
    Daemon {
        #[command(subcommand)]
        command: Option<DaemonCommand>,
    },
    /// Watch and manage servers in the terminal
    Tui,
    #[command(flatten)]
    Ask(AskCommand),
    #[command(flatten)]
    Shell(ShellCommand),
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Be the daemon, in the foreground, until stopped
    Run {
        /// Leave the terminal and whoever started us
        #[arg(long, hide = true)]
        detach: bool,
        /// We have left; the lock is on standard input
        #[arg(long, hide = true)]
        detached: bool,
        /// Somebody will stop us: do not end with the last client
        #[arg(long, hide = true)]
        stay: bool,
        /// We take the place of another program, which left these descriptors to us
        #[arg(long, hide = true, value_name = "NUMBERS")]
        resume: Option<InheritedFds>,
        /// How many threads serve; one is enough (docs/performance.md)
        #[arg(long, hide = true, default_value_t = 1)]
        threads: usize,
    },
    /// Say whether this program could take the place of a running daemon
    #[command(hide = true)]
    SelfCheck,
    /// Have the installed program take its place; servers and calls go on
    Upgrade,
    /// Start it in the background, where it stays until stopped
    Start,
    /// Stop it and all its servers
    Stop,
    /// Show whether it runs, its servers and its clients
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop it and start it anew; clients go on
    Restart,
    /// Have systemd start it with the first client, apart from all of them
    Install {
        /// Show the units, write nothing
        #[arg(long)]
        print: bool,
    },
    /// Remove what `install` wrote
    Uninstall,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a config file and report every problem
    Check {
        /// The file [default: as --config]
        file: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of config files
    Schema,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Stdio,
    Http,
    LiteMcp {
        tool: Option<String>,
    },
    Status {
        json: bool,
    },
    ConfigCheck {
        file: Option<PathBuf>,
        json: bool,
    },
    ConfigSchema,
    Daemon(DaemonCommand),
    Ask(AskCommand),
    Shell(ShellCommand),
    /// A command that a later version brings.
    NotYet(&'static str),
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) task: Task,
    pub(crate) flags: Flags,
    /// The profile of the name we were started under, if it is one.
    pub(crate) program_profile: Option<Profile>,
}

impl Flags {
    /// Returns the first flag given that only HTTP can use.
    fn http_only(&self) -> Option<&'static str> {
        let given = [
            ("--port", self.port.is_some()),
            ("--host", self.host.is_some()),
            ("--allowed-host", !self.allowed_hosts.is_empty()),
            ("--token-file", self.token_file.is_some()),
            ("--token", self.token.is_some()),
            ("--cors", self.cors),
            ("--cors-origin", !self.cors_origins.is_empty()),
            ("--tls-cert", self.tls_cert.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Returns the profile as far as it is known before the config is read.
    pub(crate) fn known_profile(&self, program: Option<Profile>) -> Profile {
        self.profile.or(program).unwrap_or(Profile::Manifold)
    }
}

/// Reads the command line. What cannot be carried out has been said on the right stream when this returns `Err`.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    let args: Vec<OsString> = args.collect();
    let program_profile =
        args.first().and_then(|program| Profile::from_program(Path::new(program).file_name()?.to_str()?));
    command()
        .try_get_matches_from(&args)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .and_then(|cli| decide(cli, program_profile))
        .map_err(|error| show(&error, speaks_stdio(&args)))
}

fn decide(mut cli: Cli, program_profile: Option<Profile>) -> Result<Invocation, clap::Error> {
    let usage = |kind: ErrorKind, text: &str| Cli::command().error(kind, text);
    // Not left to clap, for which an empty variable is a wrong name.
    let variable = std::env::var("MANIFOLD_PROFILE").ok().filter(|name| !name.is_empty());
    if let (None, Some(name)) = (cli.flags.profile, variable) {
        let wrong = |why| usage(ErrorKind::InvalidValue, &format!("MANIFOLD_PROFILE is '{name}': {why}"));
        cli.flags.profile = Some(profile(&name).map_err(|why: String| wrong(why))?);
    }
    let ModeFlags { stdio, http } = cli.mode;
    if stdio && http {
        return Err(usage(ErrorKind::ArgumentConflict, "--stdio and --http cannot be used together"));
    }
    let profile = cli.flags.known_profile(program_profile);
    let looks_only = matches!(
        cli.command,
        Some(
            Command::Status { .. }
                | Command::Config { .. }
                | Command::Daemon { .. }
                | Command::Ask(_)
                | Command::Shell(_)
        )
    );
    let task = match (cli.command, cli.validate_mcp_config) {
        (_, Some(file)) => Task::ConfigCheck { file, json: false },
        (Some(Command::Stdio), _) if http => {
            return Err(usage(ErrorKind::ArgumentConflict, "`stdio` and --http cannot be used together"));
        }
        (Some(Command::Http), _) if stdio => {
            return Err(usage(ErrorKind::ArgumentConflict, "`http` and --stdio cannot be used together"));
        }
        (Some(Command::Serve), _) if http => Task::Http,
        (Some(Command::Serve | Command::Stdio), _) => Task::Stdio,
        (Some(Command::Http), _) => Task::Http,
        (Some(Command::Litemcp { .. }), _) if http => {
            let why =
                "`litemcp` and --http cannot be used together; over HTTP it is always served, at /litemcp";
            return Err(usage(ErrorKind::ArgumentConflict, why));
        }
        (Some(Command::Litemcp { tool }), _) => Task::LiteMcp { tool },
        (Some(Command::Tui), _) => Task::NotYet("tui"),
        (Some(Command::Ask(command)), _) => Task::Ask(command),
        (Some(Command::Shell(command)), _) => Task::Shell(command),
        (Some(Command::Daemon { command }), _) => {
            Task::Daemon(command.unwrap_or(DaemonCommand::Status { json: false }))
        }
        (Some(Command::Status { json }), _) => Task::Status { json },
        (Some(Command::Config { command: ConfigCommand::Check { file, json } }), _) => {
            Task::ConfigCheck { file, json }
        }
        (Some(Command::Config { command: ConfigCommand::Schema }), _) => Task::ConfigSchema,
        (None, None) if stdio => Task::Stdio,
        (None, None) if http || profile.defaults().bare == Bare::Http => Task::Http,
        (None, None) => Task::Help,
    };
    if matches!(task, Task::Stdio | Task::LiteMcp { .. })
        && let Some(flag) = cli.flags.http_only()
    {
        return Err(usage(
            ErrorKind::ArgumentConflict,
            &format!("{flag} is for HTTP; it means nothing on stdio"),
        ));
    }
    if looks_only && let Some(flag) = cli.flags.http_only() {
        return Err(usage(
            ErrorKind::ArgumentConflict,
            &format!("{flag} is for serving over HTTP; it means nothing to this command"),
        ));
    }
    if matches!(task, Task::LiteMcp { .. }) && cli.flags.framing.is_some() {
        let why = "--framing is for MCP on stdio; messages of LiteMCP end at three newlines";
        return Err(usage(ErrorKind::ArgumentConflict, why));
    }
    if task == Task::Http && profile == Profile::McpsProxy && cli.flags.namespace.is_some() {
        return Err(usage(
            ErrorKind::ArgumentConflict,
            "--schema is for --stdio; over HTTP every schema is served at /api/{schema}/mcp",
        ));
    }
    Ok(Invocation { task, flags: cli.flags, program_profile })
}

/// Shows help, version or an error of the command line. Standard output stays the protocol's in stdio mode (S1-9).
fn show(error: &clap::Error, stdio: bool) -> ExitCode {
    let (text, code) = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => (error.render(), 0),
        _ => (error.render(), USAGE),
    };
    // A reader that hung up needs no help.
    let _ = if code == 0 && !stdio {
        write!(std::io::stdout(), "{text}")
    } else {
        write!(std::io::stderr(), "{text}")
    };
    ExitCode::from(code)
}

/// Returns whether these arguments, wrong as they may be, ask for stdio mode.
fn speaks_stdio(args: &[OsString]) -> bool {
    let has = |wanted: &str| args.iter().skip(1).any(|arg| arg == wanted);
    has("--stdio") || (!has("--http") && (has("stdio") || has("serve") || has("litemcp")))
}

#[cfg(test)]
mod tests;
