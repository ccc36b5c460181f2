//! The command line: one grammar for every name the program goes by (decision 1).

mod call;
mod care;
mod clients;
mod daemon;
mod entries;
mod files;
mod flags;
mod forms;
mod help;
mod items;
mod open;
mod recordings;
mod search;
mod serve;
mod servers;
mod setup;
mod sign_in;
mod tui;
mod values;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use manifold_config::{Bare, Profile};

use crate::output::{self, Failure, escaped_text};

pub(crate) use call::{
    AskCommand, CallArgs, CompleteArgs, CompleteOf, HowArgs, PromptArgs, ReadArgs, ShellArg, ShellCommand,
};
use care::CareCommand;
pub(crate) use care::{BackupArgs, DoctorArgs, KeyArg, RekeyArgs, SecretCommand, TokenArgs, TokenCommand};
pub(crate) use clients::{ClientCommand, ClientsCommand, ItemKindArg, NsCommand, RuleArgs};
pub(crate) use daemon::DaemonCommand;
pub(crate) use entries::{
    AddArgs, AddJsonArgs, EntryCommand, ImportArgs, PutArgs, RemoveArgs, RenameArgs, SecretsArg, SharedArg,
    TransportArg,
};
use files::FileCommand;
pub(crate) use files::StatusArgs;
pub(crate) use flags::Flags;
use flags::ModeFlags;
pub(crate) use forms::OneForm;
pub(crate) use help::command;
pub(crate) use help::help;
pub(crate) use items::{ItemArgs, ItemCommand, ToolArgs};
pub(crate) use open::{OpenArgs, OpenCommand};
pub(crate) use recordings::{RecordCommand, ReplayArgs, ReplayCommand, TrafficCommand};
pub(crate) use search::{SearchArgs, SearchCommand};
use serve::{ServeCommand, Wrong};
pub(crate) use servers::{LogsArgs, ServerCommand, WaitArgs, WatchArgs};
pub(crate) use setup::{InitArgs, InstallArgs, SetupCommand, UndoArgs, UninstallArgs, WhichClients};
pub(crate) use sign_in::{LoginArgs, LogoutArgs, SignInCommand};
pub(crate) use tui::{TuiArgs, TuiCommand};
use values::profile;

/// The exit code of a wrong command line or an unusable config.
pub(crate) const USAGE: u8 = 2;

#[derive(Debug, Parser)]
#[command(name = "manifold", version, about = "Every MCP server behind one plug")]
#[command(disable_help_subcommand = true, help_template = help::TEMPLATE)]
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

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Servers(ServerCommand),
    #[command(flatten)]
    Entries(EntryCommand),
    #[command(flatten)]
    Items(ItemCommand),
    #[command(flatten)]
    Clients(ClientCommand),
    #[command(flatten)]
    Setup(SetupCommand),
    #[command(flatten)]
    Search(SearchCommand),
    #[command(flatten)]
    Traffic(TrafficCommand),
    #[command(flatten)]
    Serving(ServeCommand),
    #[command(flatten)]
    Files(FileCommand),
    #[command(flatten)]
    Care(CareCommand),
    #[command(flatten)]
    SignIn(SignInCommand),
    /// The process that all stdio clients share: see it, start it, stop it
    #[command(after_help = "\
Examples:
  manifold daemon status           whether it runs, its servers and clients
  manifold daemon start            it stays until it is stopped
  manifold daemon restart          calls in flight come to their end first")]
    Daemon {
        #[command(subcommand)]
        command: Option<DaemonCommand>,
    },
    #[command(flatten)]
    Tui(TuiCommand),
    #[command(flatten)]
    Open(OpenCommand),
    #[command(flatten)]
    Ask(AskCommand),
    #[command(flatten)]
    Shell(ShellCommand),
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    Help,
    Stdio,
    Http,
    LiteMcp { tool: Option<String> },
    Status(StatusArgs),
    ConfigCheck { file: Option<PathBuf>, json: bool },
    ConfigShow(OneForm),
    ConfigEdit(OneForm),
    ConfigSchema,
    Servers(ServerCommand),
    Entries(EntryCommand),
    Items(ItemCommand),
    Clients(ClientCommand),
    Setup(SetupCommand),
    Search(SearchArgs),
    Traffic(TrafficCommand),
    Daemon(DaemonCommand),
    Secret(SecretCommand),
    Token(TokenCommand),
    SignIn(SignInCommand),
    Doctor(DoctorArgs),
    Ask(AskCommand),
    Shell(ShellCommand),
    Tui(TuiArgs),
    Open(OpenArgs),
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) task: Task,
    pub(crate) flags: Flags,
    /// The profile of the name we were started under, if it is one.
    pub(crate) program_profile: Option<Profile>,
}

/// Reads the command line. What cannot be carried out has been said on the right stream when this returns `Err`.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Invocation, ExitCode> {
    let args: Vec<OsString> = args.collect();
    let program_profile =
        args.first().and_then(|program| Profile::from_program(Path::new(program).file_name()?.to_str()?));
    let args = help::asked_by_word(args);
    let args = entries::with_command_marked(args, &Cli::command());
    Cli::command()
        .try_get_matches_from(&args)
        .or_else(|error| match error.kind() {
            // Only for help is the whole grammar built, with what each command lists.
            ErrorKind::DisplayHelp => command().try_get_matches_from(&args),
            _ => Err(error),
        })
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .and_then(|cli| decide(cli, program_profile))
        .map_err(|error| show(&error, &args))
}

fn decide(mut cli: Cli, program_profile: Option<Profile>) -> Result<Invocation, clap::Error> {
    let usage = |(kind, text): Wrong| Cli::command().error(kind, text);
    // Not left to clap, for which an empty variable is a wrong name.
    let variable = std::env::var("MANIFOLD_PROFILE").ok().filter(|name| !name.is_empty());
    if let (None, Some(name)) = (cli.flags.profile, variable) {
        let wrong = |why| usage((ErrorKind::InvalidValue, format!("MANIFOLD_PROFILE is '{name}': {why}")));
        cli.flags.profile = Some(profile(&name).map_err(|why: String| wrong(why))?);
    }
    let ModeFlags { stdio, http } = cli.mode;
    if stdio && http {
        let text = "--stdio and --http cannot be used together";
        return Err(usage((ErrorKind::ArgumentConflict, text.to_owned())));
    }
    let profile = cli.flags.known_profile(program_profile);
    let task = match (cli.command, cli.validate_mcp_config) {
        (_, Some(file)) => Task::ConfigCheck { file, json: false },
        (Some(Command::Servers(command)), _) => Task::Servers(command),
        (Some(Command::Entries(command)), _) => Task::Entries(command),
        (Some(Command::Items(command)), _) => Task::Items(command),
        (Some(Command::Clients(command)), _) => Task::Clients(command),
        (Some(Command::Setup(command)), _) => Task::Setup(command.with_http(http)),
        (Some(Command::Search(SearchCommand::Search(args))), _) => Task::Search(args),
        (Some(Command::Serving(command)), _) => command.task(&cli.mode).map_err(usage)?,
        (Some(Command::Files(command)), _) => command.task(),
        (Some(Command::Care(command)), _) => command.task(),
        (Some(Command::SignIn(command)), _) => Task::SignIn(command),
        (Some(Command::Traffic(command)), _) => Task::Traffic(command),
        (Some(Command::Tui(TuiCommand::Tui(args))), _) => Task::Tui(args),
        (Some(Command::Open(OpenCommand::Open(args))), _) => Task::Open(args),
        (Some(Command::Daemon { .. }), _) if http => {
            let why =
                "--http means nothing to `daemon`; it serves over HTTP where the config says `daemon.http`";
            return Err(usage((ErrorKind::ArgumentConflict, why.to_owned())));
        }
        (Some(Command::Daemon { .. }), _) if stdio => {
            let why = "--stdio means nothing to `daemon`; a client is served with `manifold serve --stdio`";
            return Err(usage((ErrorKind::ArgumentConflict, why.to_owned())));
        }
        (Some(Command::Ask(command)), _) => Task::Ask(command),
        (Some(Command::Shell(command)), _) => Task::Shell(command),
        (Some(Command::Daemon { command }), _) => {
            Task::Daemon(command.unwrap_or(DaemonCommand::Status { json: false }))
        }
        (None, None) if stdio => Task::Stdio,
        (None, None) if http || profile.defaults().bare == Bare::Http => Task::Http,
        (None, None) => Task::Help,
    };
    serve::check(&task, &cli.flags, profile).map_err(usage)?;
    Ok(Invocation { task, flags: cli.flags, program_profile })
}

/// Shows help, version or an error of the command line. Standard output stays the protocol's in stdio mode (S1-9).
fn show(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let is_error = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // A reader that hung up needs no help.
    let _ = if is_error && args.iter().skip(1).any(|arg| arg == "--json") {
        writeln!(std::io::stderr(), "{}", wrong(error).as_json())
    } else if is_error || speaks_stdio(args) {
        // It repeats what was typed, or was pasted from elsewhere.
        write!(std::io::stderr(), "{}", escaped_text(&error.render().to_string()))
    } else {
        output::write(&error.render().to_string());
        Ok(())
    };
    ExitCode::from(if is_error { USAGE } else { 0 })
}

/// Returns what is wrong with a command line, as programs read it.
fn wrong(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let what = text.split("\n\nUsage:").next().unwrap_or_default().trim_start_matches("error: ");
    let what: Vec<&str> = what.split_whitespace().collect();
    Failure::usage(what.join(" ")).hint("see `manifold --help`")
}

/// Returns whether these arguments, wrong as they may be, ask for stdio mode.
fn speaks_stdio(args: &[OsString]) -> bool {
    let has = |wanted: &str| args.iter().skip(1).any(|arg| arg == wanted);
    has("--stdio") || (!has("--http") && (has("stdio") || has("serve") || has("litemcp")))
}

#[cfg(test)]
mod tests;
