//! The verbs that ask servers something, and what helps to type them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const CALL_EXAMPLES: &str = "\
A tool is named server__tool, server.tool, server/tool, or by its own name where one server has it.
Arguments:
  name=text       converted as the tool's schema says; a text where it says nothing
  name:=JSON      sent as it is
  name=@file      the text of a file; name:=@file: JSON of a file
  a.b=1           a member of an object; a\\.b is a name with a dot
  n=1 n=2         a list

Examples:
  manifold call time__get_current_time timezone=UTC
  manifold call fs.write_file path=notes.txt content=@draft.txt
  manifold call 'git.log(repo: \".\", max_count: 3)'
  manifold call search query=rust 'filters:={\"lang\":[\"en\"]}' --json
  manifold call big_tool --args @arguments.json --timeout 60000

Exit codes: 5 the tool reports an error, 7 no such tool, 8 forbidden, 124 timed out, 130 interrupted.";

const READ_EXAMPLES: &str = "\
Examples:
  manifold read file:///etc/hostname
  manifold read demo://image --out pictures";

const PROMPT_EXAMPLES: &str = "\
Examples:
  manifold prompt review language=rust
  manifold prompt docs__summary text=@page.txt --json";

const COMPLETE_EXAMPLES: &str = "\
The last argument is completed; those before it are taken as settled.

Examples:
  manifold complete prompt review language=ru
  manifold complete uri 'github://{owner}/{repo}' owner=octo repo=he";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  manifold completions bash > ~/.local/share/bash-completion/completions/manifold
  manifold completions zsh > ~/.zfunc/_manifold
  manifold completions fish > ~/.config/fish/completions/manifold.fish
  manifold completions nushell | save manifold.nu";

const MAN_EXAMPLES: &str = "\
Examples:
  manifold man call | man -l -
  manifold man --dir ~/.local/share/man/man1";

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum AskCommand {
    /// Call a tool
    #[command(after_help = CALL_EXAMPLES)]
    Call(CallArgs),
    /// Read a resource
    #[command(after_help = READ_EXAMPLES)]
    Read(ReadArgs),
    /// Get a prompt
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArgs),
    /// Ask what could follow what was typed of an argument
    #[command(after_help = COMPLETE_EXAMPLES)]
    Complete(CompleteArgs),
}

/// What needs no server at all.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ShellCommand {
    /// Print what makes a shell complete our commands, servers and tools
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions { shell: ShellArg },
    /// Print the manual page of this program or of a command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The command, such as `call` or `daemon start`
        #[arg(value_name = "COMMAND")]
        verb: Vec<String>,
        /// Write all pages into a folder
        #[arg(long, value_name = "DIR", conflicts_with = "verb")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct CallArgs {
    /// The tool
    #[arg(value_name = "TOOL")]
    pub(crate) address: String,
    /// Its arguments: name=value, name:=JSON, name=@file
    #[arg(value_name = "ARG")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object; @FILE reads one, - reads standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ReadArgs {
    /// The resource
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct PromptArgs {
    /// The prompt
    pub(crate) name: String,
    /// Its arguments: name=text, name=@file
    #[arg(value_name = "ARG")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct CompleteArgs {
    /// What the argument belongs to
    pub(crate) of: CompleteOf,
    /// The name of the prompt, or the template of URIs
    pub(crate) name: String,
    /// The argument and what was typed of it, after those that are settled
    #[arg(value_name = "ARG", required = true)]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// How an answer is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct HowArgs {
    /// The result of MCP as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The bytes of the result and nothing else
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Put images, sound and other files into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How long to wait for the answer
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// Decline what servers ask instead of asking you
    #[arg(long)]
    pub(crate) no_input: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompleteOf {
    Prompt,
    Uri,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Zsh,
    Fish,
    Nushell,
}

impl AskCommand {
    pub(crate) fn how(&self) -> &HowArgs {
        match self {
            Self::Call(args) => &args.how,
            Self::Read(args) => &args.how,
            Self::Prompt(args) => &args.how,
            Self::Complete(args) => &args.how,
        }
    }
}
