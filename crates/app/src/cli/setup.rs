//! `init`, `install`, `uninstall` and `undo`: our entry in other programs' files, and the way back.

use clap::{Args, Subcommand, ValueEnum};

use super::forms::OneForm;
use crate::output::Form;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SetupCommand {
    /// Set up everything: import the servers of all clients, and put Manifold into each of them
    #[command(after_help = "\
Examples:
  manifold init                    asks before it does anything
  manifold init --yes              asks nothing; servers of project files are added disabled
  manifold init --dry-run          what would be done

`manifold undo` takes all of it back: every file is as it was.")]
    Init(InitArgs),
    /// Put Manifold into clients: one entry in the file of each
    #[command(after_help = "\
Examples:
  manifold install claude-code cursor
  manifold install --all --dry-run     what would be written, for every client that is here
  manifold install cursor --take-over  its servers move behind Manifold; `manifold undo` brings them back
  manifold install jetbrains --print   what to paste, and a link where there is one

The client's own command is used where it has one, else its file is changed with comments and order kept.")]
    Install(InstallArgs),
    /// Take Manifold out of clients again
    #[command(after_help = "\
Examples:
  manifold uninstall cursor
  manifold uninstall --all --dry-run")]
    Uninstall(UninstallArgs),
    /// Take back the last command that changed files; the next one takes back the one before
    #[command(after_help = "\
Examples:
  manifold undo
  manifold undo --list             what can be undone
  manifold undo --client cursor    only what was last done to the files of one client")]
    Undo(UndoArgs),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct InitArgs {
    /// Ask nothing: import all there is, servers of project files disabled, and install into every client
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Leave the clients' own entries where they are, beside ours
    #[arg(long)]
    pub(crate) keep: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) which: WhichClients,
    /// Whose file: the user's, or that of the project in this folder
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ScopeArg,
    /// Move the client's other servers behind Manifold
    #[arg(long)]
    pub(crate) take_over: bool,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = "manifold")]
    pub(crate) name: String,
    /// Replace an entry that is not ours; write though the client runs
    #[arg(long)]
    pub(crate) force: bool,
    /// Write nothing: print what to paste, and a link where there is one
    #[arg(long, conflicts_with_all = ["take_over", "dry_run"])]
    pub(crate) print: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
    /// The entry has a URL instead of a command (`--http`, which all commands have).
    #[arg(skip)]
    pub(crate) http: bool,
    /// Only a line is said of each client.
    #[arg(skip)]
    pub(crate) is_brief: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    pub(crate) which: WhichClients,
    /// Whose file: the user's, or that of the project in this folder
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ScopeArg,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = "manifold")]
    pub(crate) name: String,
    /// Take out an entry that is not ours; write though the client runs
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct WhichClients {
    /// The clients: claude-code, cursor, vscode, codex …
    #[arg(value_name = "CLIENT")]
    pub(crate) clients: Vec<String>,
    /// Every client that is here
    #[arg(long, conflicts_with = "clients")]
    pub(crate) all: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct UndoArgs {
    /// One command, by its id in `--list` [default: the last one]
    #[arg(conflicts_with_all = ["list", "client"])]
    pub(crate) id: Option<String>,
    /// Show what can be undone
    #[arg(long)]
    pub(crate) list: bool,
    /// Only what was last done to the files of this client
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    #[default]
    User,
    Project,
}

impl From<ScopeArg> for manifold_config::Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::User => Self::User,
            ScopeArg::Project => Self::Project,
        }
    }
}

impl SetupCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Init(args) => args.form.into(),
            Self::Install(args) => args.form.into(),
            Self::Uninstall(args) => args.form.into(),
            Self::Undo(args) => args.form.into(),
        }
    }

    /// Returns the command with what the flags say that all commands have.
    pub(super) fn with_http(self, http: bool) -> Self {
        match self {
            Self::Install(args) => Self::Install(InstallArgs { http, ..args }),
            other => other,
        }
    }
}
