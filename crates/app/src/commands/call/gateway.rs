//! What these commands need of a gateway, whichever it is: one that runs, or one of their own.

use manifold_admin::{AskEvent, CommandError, ItemPage, QuestionAnswer};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::output::{Exit, Failure};

/// A gateway that can be asked.
pub(crate) trait Gateway {
    /// Gets a list.
    fn items(&self, path: &str) -> Result<ItemPage, Failure>;
    /// Asks something that takes its time.
    fn ask(&self, path: &str, body: &RawValue) -> Result<Asked, Failure>;
    /// Answers a question that came with what was asked.
    fn answer(&self, question: &str, answer: &QuestionAnswer) -> Result<(), Failure>;
}

/// What was asked and is under way.
pub(crate) struct Asked {
    pub(crate) events: Box<dyn Iterator<Item = Result<AskEvent, Failure>> + Send>,
    /// Hangs up, which cancels it at its server.
    pub(crate) hang_up: Box<dyn Fn() + Send>,
}

/// Reads an event of a call: its name, and the rest of it as JSON. `None` is one we do not know.
pub(crate) fn event(name: &str, data: &str) -> Result<Option<AskEvent>, Failure> {
    #[derive(Deserialize)]
    struct Progress {
        params: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct Question {
        id: String,
        server: Option<String>,
        method: String,
        params: Option<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    struct Withdrawn {
        id: String,
    }
    #[derive(Deserialize)]
    struct Finished {
        result: Box<RawValue>,
    }
    #[derive(Deserialize)]
    struct Error {
        error: CommandError,
    }
    fn read<'a, T: Deserialize<'a>>(name: &str, data: &'a str) -> Result<T, Failure> {
        let wrong =
            |error| Failure::new(Exit::Failed, "failed", format!("the gateway's `{name}` event: {error}"));
        serde_json::from_str(data).map_err(wrong)
    }
    Ok(Some(match name {
        "progress" => {
            let Progress { params } = read(name, data)?;
            AskEvent::Progress { params }
        }
        "question" => {
            let Question { id, server, method, params } = read(name, data)?;
            AskEvent::Question { id, server, method, params }
        }
        "withdrawn" => {
            let Withdrawn { id } = read(name, data)?;
            AskEvent::Withdrawn { id }
        }
        "result" => {
            let Finished { result } = read(name, data)?;
            AskEvent::Result { result }
        }
        "error" => {
            let Error { error } = read(name, data)?;
            AskEvent::Error { error }
        }
        _ => return Ok(None),
    }))
}
