//! What went wrong: a word to branch on, and a text for people.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a server does not work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Error {
    pub reason: Reason,
    /// For people, without secrets.
    pub text: String,
    /// What to do about it, where that is not part of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How long ago it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ago_ms: Option<u64>,
}

impl Error {
    /// Returns it for a reader who gets one text: how to sign in belongs to it.
    pub fn told(self) -> String {
        match self.hint {
            Some(hint) if self.reason == Reason::SignIn => format!("{}; {hint}", self.text),
            _ => self.text,
        }
    }
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It did not come up.
    FailedToStart,
    /// It ended and has not been started again.
    NotRunning,
    /// It ended with work in its hands.
    Died,
    TimedOut,
    /// It would not take what it was sent.
    Refused,
    /// It runs and yet gives no sign of life.
    Unresponsive,
    /// What it said was no valid message.
    Malformed,
    TooLarge,
    /// More is waiting for it than may.
    Busy,
    /// Its credentials are missing or were not accepted.
    Credentials,
    /// It wants to know who asks.
    SignIn,
    /// A variable its entry refers to is not set.
    MissingVariable,
    NoSuchProgram,
    /// Its entry in the config is wrong.
    BadEntry,
    /// It would be this gateway again.
    Itself,
    ShuttingDown,
    #[default]
    #[serde(other)]
    Other,
}

/// One thing that is wrong with a config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Problem {
    pub severity: Severity,
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<usize>,
    /// The path of keys, such as `servers.git`; empty for the file as a whole.
    pub place: String,
    pub what: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A server, or the whole file, cannot be used.
    Error,
    /// Something else is done than what was written.
    Warning,
    #[default]
    #[serde(other)]
    Other,
}

/// Writes a problem in one line, as compilers do: every face shows it alike.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}
