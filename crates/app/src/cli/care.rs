//! The commands that look after what belongs to the gateway beside its servers: stored secrets, tokens that let clients
//! in, and its health.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::Task;
use super::forms::{ListForm, OneForm};
use super::values::{Span, future_span};
use crate::output::Form;

#[derive(Debug, Subcommand)]
pub(super) enum CareCommand {
    /// Store secrets for the config, where `${secret:NAME}` stands for them
    #[command(after_help = "\
Examples:
  manifold secret set GITHUB_TOKEN            asks for the value, and does not show it
  pass show github | manifold secret set GITHUB_TOKEN
  manifold secret list

  manifold secret rekey                       another key, or a first one, for everything
  manifold secret export backup.manifold      asks for a passphrase

A value is never an argument: others could see it in the list of processes. The key of all
values is MANIFOLD_KEY, or in the file that --key-file names (`openssl rand -base64 32` makes
one), else in the keyring of the desktop. Where there is neither, values are stored in clear, in
files that only you can read; `secret rekey` seals them later.")]
    Secret {
        #[command(subcommand)]
        command: SecretCommand,
    },
    /// Make tokens that let clients in over HTTP, each with what it may use
    #[command(after_help = "\
Examples:
  manifold token create laptop
  manifold token create ci --namespace work --tool 'git__*' --expires 30d
  manifold token list
  manifold token revoke ci

The token is written to standard output and shown this once: only its hash is kept. Gateways that
run hear of it within two seconds. Once there is a token, nobody comes in over HTTP without one.")]
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Find what is wrong, and what to do about it
    #[command(after_help = "\
Examples:
  manifold doctor
  manifold doctor --fix            mends modes, left-over sockets and files, folders of ours
  manifold doctor --json | jq '.checks[] | select(.status != \"ok\")'

Every server is started once. Ends with 1 where a check fails.")]
    Doctor(DoctorArgs),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct DoctorArgs {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Mend what is safe to mend
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value, from standard input or as it is typed
    Set {
        /// The name, as in `${secret:NAME}`
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
    /// Show what is stored, without the values
    List(ListForm),
    /// Remove one
    #[command(visible_alias = "remove")]
    Rm {
        /// The name
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
    /// Give everything that is stored another key
    #[command(after_help = "\
Examples:
  manifold secret rekey                            a new key in the keyring, or the one that is given
  manifold secret rekey --new-key-file ~/new.key   from then on to be given by --key-file
  manifold secret rekey --to plain                 no key: values in clear

The present key is found or given as ever: MANIFOLD_KEY, --key-file, the keyring. What was
interrupted leaves everything readable, with the old key or with the new one.")]
    Rekey(RekeyArgs),
    /// Write all that is stored, logins too, into one sealed file
    #[command(after_help = "\
Examples:
  manifold secret export backup.manifold
  manifold secret export backup.manifold --with-key-file ~/backup.key

The passphrase is asked for, or read from standard input.")]
    Export {
        /// The file, which must not be there yet
        file: PathBuf,
        #[command(flatten)]
        with: BackupArgs,
    },
    /// Take over what such a file holds
    Import {
        /// The file
        file: PathBuf,
        /// Replace what is stored under the same names with other values
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        with: BackupArgs,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct RekeyArgs {
    /// Where the new key is to come from
    #[arg(long, value_enum)]
    pub(crate) to: Option<KeyArg>,
    /// A file with the new key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) new_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct BackupArgs {
    /// A file with a key to seal it with, instead of a passphrase
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) with_key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyArg {
    /// A new one in the keyring
    Keyring,
    /// The file that --new-key-file names
    File,
    /// The variable MANIFOLD_NEW_KEY, from then on to be given as MANIFOLD_KEY
    Variable,
    /// None: values in clear
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make one, and show it this once
    Create(TokenArgs),
    /// Show those there are, without the tokens themselves
    List(ListForm),
    /// Let one let in nobody any more
    #[command(visible_alias = "rm")]
    Revoke {
        /// The name
        name: String,
        #[command(flatten)]
        form: OneForm,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TokenArgs {
    /// The name it goes by in logs, lists and the audit
    pub(crate) name: String,
    /// A namespace it may use; may be given several times [default: all]
    #[arg(id = "namespace", long = "namespace", value_name = "NAMESPACE")]
    pub(crate) namespaces: Vec<String>,
    /// Tools it may use, by the names clients see, `*` for any text; may be given several times [default: all]
    #[arg(long = "tool", value_name = "GLOB")]
    pub(crate) tools: Vec<String>,
    /// For how long it is good, as in 12h or 30d [default: until it is revoked]
    #[arg(long, value_name = "SPAN", value_parser = future_span)]
    pub(crate) expires: Option<Span>,
    #[command(flatten)]
    pub(crate) form: OneForm,
}

impl CareCommand {
    pub(super) fn task(self) -> Task {
        match self {
            Self::Secret { command } => Task::Secret(command),
            Self::Token { command } => Task::Token(command),
            Self::Doctor(args) => Task::Doctor(args),
        }
    }
}

impl SecretCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Set { form, .. } | Self::Rm { form, .. } => (*form).into(),
            Self::List(form) => (*form).into(),
            Self::Rekey(args) => args.form.into(),
            Self::Export { with, .. } | Self::Import { with, .. } => with.form.into(),
        }
    }
}

impl TokenCommand {
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Create(args) => args.form.into(),
            Self::Revoke { form, .. } => (*form).into(),
            Self::List(form) => (*form).into(),
        }
    }
}
