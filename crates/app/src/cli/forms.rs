//! The flags by which a command is told how to write what it found.

use clap::Args;

use crate::output::Form;

/// For what is one thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct OneForm {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For what has ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct ListForm {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Ids alone, one a line
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

impl From<OneForm> for Form {
    fn from(form: OneForm) -> Self {
        if form.json { Self::Json } else { Self::Text }
    }
}

impl From<ListForm> for Form {
    fn from(form: ListForm) -> Self {
        match form {
            ListForm { json: true, .. } => Self::Json,
            ListForm { quiet: true, .. } => Self::Ids,
            ListForm { .. } => Self::Text,
        }
    }
}
