//! What these commands need of a gateway, whichever it is: one that runs, or one of their own.

use manifold_admin::{AskEvent, ItemPage, QuestionAnswer};
use serde_json::value::RawValue;

use crate::output::Failure;

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
