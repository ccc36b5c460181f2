//! Why a command failed: for people one line, for programs one object, and an exit code for both.

use manifold_admin::{CommandError, ErrorLine, ErrorRow};
use manifold_admin_client::ClientError;
use manifold_config::{EditError, most_alike};
use manifold_setup::WriteError;

use super::color::{Paint, Tone};
use super::escaped_text;
use super::exit::Exit;
use super::json::compact;

/// What went wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// A word of the control API's, or `usage`, `not-running`, `unreachable`, `interrupted`.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None, server: None, exit }
    }

    /// The command line, or a value in it, is not what is asked for.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// The config cannot be used.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "config-refused", message)
    }

    /// Nothing runs that could be asked.
    pub(crate) fn not_running() -> Self {
        Self::new(Exit::NotRunning, "not-running", "no gateway runs for this config")
            .hint("start one with `manifold daemon start`")
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Says where to look, if there is nothing of a name and nobody has said yet what to do: `word` is what was named.
    pub(crate) fn hint_if_unknown(self, word: &str) -> Self {
        let verb = match (self.code.as_str(), &self.hint) {
            ("unknown-item", None) => format!("{word}s"),
            ("unknown-server", None) => "list".to_owned(),
            _ => return self,
        };
        self.hint(format!("`manifold {verb}` shows those there are"))
    }

    pub(super) fn as_text(&self, paint: Paint) -> String {
        let message = self.message.trim_end_matches(['.', '\n']);
        let comma = if message.ends_with('?') { " " } else { "; " };
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("{comma}{hint}"));
        let said = format!("{message}{hint}");
        format!("{} {}", paint.tone(Tone::Bad, "manifold:"), escaped_text(&said))
    }

    /// Returns the one line for programs.
    pub(crate) fn as_json(&self) -> String {
        let Self { code, message, hint, server, exit: _ } = self.clone();
        compact(&ErrorLine { error: ErrorRow { code, message, hint, server } })
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self {
            code: error.code.as_str().to_owned(),
            message: error.message,
            hint: error.hint,
            server: error.server.map(|server| server.to_string()),
            exit: Exit::of(error.code),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused { error, .. } => error.into(),
            ClientError::Silent => Self::new(Exit::TimedOut, "timed-out", error.to_string()),
            error => Self::new(Exit::Failed, "unreachable", error.to_string()),
        }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let hint = error.hint();
        Self { hint, ..Self::new(Exit::Failed, "failed", error.to_string()) }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let (exit, code) = match error {
            EditError::NoSuchServer { .. } | EditError::NoSuchNamespace { .. } => {
                (Exit::Unknown, "unknown-server")
            }
            EditError::Unreadable(_) => (Exit::Usage, "config-refused"),
            _ => (Exit::Failed, "failed"),
        };
        Self::new(exit, code, error.to_string())
    }
}

/// The nearest of the names there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion(Option<String>);

impl Suggestion {
    /// Finds the name that was likely meant. It is only ever said, never used.
    pub(crate) fn among<'n>(names: impl IntoIterator<Item = &'n str>, meant: &str) -> Self {
        Self(most_alike(meant, names).map(str::to_owned))
    }

    /// Returns the hint, or another where nothing is alike.
    pub(crate) fn or(self, else_say: &str) -> String {
        match self.0 {
            Some(name) => format!("did you mean `{name}`?"),
            None => else_say.to_owned(),
        }
    }
}
