//! The commands that change which servers the config has.

mod marked;
mod package;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::forms::OneForm;
use crate::output::Form;

pub(super) use marked::with_command_marked;
use package::PackageArgs;

const ADD_EXAMPLES: &str = "\
Examples:
  manifold add git -- uvx mcp-server-git
  manifold add docs https://docs.example/mcp -H 'Authorization: Bearer ${DOCS_KEY}'
  manifold add 'npx -y @modelcontextprotocol/server-filesystem ~/notes'
  manifold add '{\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}}'
  manifold add claude mcp add --transport http sentry https://mcp.sentry.dev/mcp
  manifold add io.github.acme/weather --set UNITS=metric
  manifold add notes.mcpb

Everything after `--` is the server's own command line, and stays as it is. What is pasted may be a command, an
address, an entry of another program's file (JSON, TOML, YAML) or its command for adding servers; a name is found where none is given. What a server of
the registry or a bundle has to know is asked at a terminal, and given by --set or -e without one.";

const ADD_JSON_EXAMPLES: &str = "\
Examples:
  manifold add-json git '{\"command\": \"uvx\", \"args\": [\"mcp-server-git\"]}'
  manifold add-json git - < git.json";

const REMOVE_EXAMPLES: &str = "\
Example:
  manifold remove git              out of the namespaces and rules that name it, too";

const RENAME_EXAMPLES: &str = "\
Example:
  manifold rename git vcs          wherever it is named in the config; its tools begin with vcs__ then";

const IMPORT_EXAMPLES: &str = "\
Examples:
  manifold import --dry-run        what the files of other programs have, and what would come of it
  manifold import                  all of it
  manifold import --from cursor    of one program
  manifold import --from mcp.json  of one file
  manifold import --secrets move   secrets go into the store, and ${secret:NAME} into the config

Servers of project files are asked about at a terminal; without one they are added disabled. What two files start in the
same way is added once; one name for different servers keeps both.";

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum EntryCommand {
    /// Put a server into the config: a command, an address, or what was copied from somewhere
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// Put a server into the config, as JSON
    #[command(after_help = ADD_JSON_EXAMPLES)]
    AddJson(AddJsonArgs),
    /// Take servers out of the config
    #[command(visible_alias = "rm", after_help = REMOVE_EXAMPLES)]
    Remove(RemoveArgs),
    /// Give a server another name, in the config
    #[command(after_help = RENAME_EXAMPLES)]
    Rename(RenameArgs),
    /// Put the servers of other programs' files into the config
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct AddArgs {
    /// The server's name and its address; or what was copied from somewhere
    #[arg(value_name = "NAME")]
    pub(crate) words: Vec<String>,
    /// The program to run, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// A variable of the program: NAME=VALUE, or NAME for the one of that name when it is started
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header that is sent to the address
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// The folder the program runs in
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// How the address is spoken to [default: found out]
    #[arg(long, value_name = "http|sse")]
    pub(crate) transport: Option<TransportArg>,
    #[command(flatten)]
    pub(crate) package: PackageArgs,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

/// How something is put into the config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct PutArgs {
    /// Who shares a process of it: true, false or project [default: those of a folder]
    #[arg(long, value_name = "WHO")]
    pub(crate) shared: Option<SharedArg>,
    /// Not to be used before `manifold enable`
    #[arg(long)]
    pub(crate) disabled: bool,
    /// In the place of a server of that name
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct AddJsonArgs {
    /// The server's name
    pub(crate) name: String,
    /// Its entry, as in the file of any client; - reads standard input
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) entry: String,
    #[command(flatten)]
    pub(crate) put: PutArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RemoveArgs {
    /// The servers' ids, or schema/id
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RenameArgs {
    /// The server's id, or schema/id
    #[arg(value_name = "OLD")]
    pub(crate) name: String,
    /// The id it gets
    #[arg(value_name = "NEW")]
    pub(crate) to: String,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct ImportArgs {
    /// A program, such as cursor, or a file [default: all that are there]
    #[arg(long, value_name = "CLIENT|FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ask nothing: servers of project files are added disabled, secrets stay in their entries
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// What becomes of secrets in entries: move them into the store, or keep them there [default: ask, else keep]
    #[arg(long, value_name = "move|keep")]
    pub(crate) secrets: Option<SecretsArg>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    Http,
    Sse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SecretsArg {
    Move,
    Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SharedArg {
    True,
    False,
    Project,
}

impl EntryCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Add(args) => args.put.form.into(),
            Self::AddJson(args) => args.put.form.into(),
            Self::Remove(args) => args.form.into(),
            Self::Rename(args) => args.form.into(),
            Self::Import(args) => args.form.into(),
        }
    }
}
