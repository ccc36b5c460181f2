//! One request and what is said until it is answered: progress is shown, questions are passed on, and Ctrl-C cancels it
//! at its server.

use std::io;

use manifold_admin::{AskEvent, QuestionAnswer};
use serde_json::value::RawValue;

use super::gateway::Gateway;
use super::inbox::{Inbox, Interrupts, News, forward};
use super::person::Person;
use super::progress::ProgressLine;
use super::questions::{Question, Said, put};
use crate::output::{Exit, Failure};

/// Whom one talks with, and how.
pub(crate) struct Conversation<'a> {
    pub(crate) gateway: &'a dyn Gateway,
    /// Who answers questions; without anybody they are declined.
    pub(crate) person: Option<&'a mut dyn Person>,
    pub(crate) progress: ProgressLine,
    pub(crate) interrupts: Interrupts,
}

impl Conversation<'_> {
    /// Asks, and returns the result as the server gave it.
    pub(crate) fn ask(&mut self, path: &str, body: &RawValue) -> Result<Box<RawValue>, Failure> {
        let failed = |error: io::Error| Failure::new(Exit::Failed, "failed", error.to_string());
        let (mut inbox, letterbox) = Inbox::new().map_err(failed)?;
        self.interrupts.tell(letterbox.another().map_err(failed)?);
        let hang_up = forward(self.gateway.ask(path, body)?, letterbox).map_err(failed)?;
        let result = self.listen(&mut inbox);
        self.progress.clear();
        self.interrupts.forget();
        if result.is_err() {
            hang_up();
        }
        result
    }

    fn listen(&mut self, inbox: &mut Inbox) -> Result<Box<RawValue>, Failure> {
        loop {
            match inbox.next() {
                News::Event(AskEvent::Progress { params }) => self.progress.show(&params),
                News::Event(AskEvent::Question { id, server, method, params }) => {
                    self.progress.clear();
                    self.answer(&Question { id, server, method, params }, inbox);
                }
                News::Event(AskEvent::Withdrawn { .. }) => {}
                News::Event(AskEvent::Result { result }) => return Ok(result),
                News::Event(AskEvent::Error { error }) => return Err(error.into()),
                News::Failed(failure) => return Err(failure),
                News::Ended => {
                    let message = "the gateway hung up before it answered";
                    return Err(Failure::new(Exit::Failed, "failed", message));
                }
                News::Interrupted => {
                    let message = "interrupted; what was asked is cancelled at its server";
                    return Err(Failure::new(Exit::Interrupted, "interrupted", message));
                }
            }
        }
    }

    fn answer(&mut self, question: &Question, inbox: &mut Inbox) {
        let answer = match self.person.as_deref_mut() {
            Some(person) => match put(question, person, inbox) {
                Said::Answer(answer) => answer,
                // Whatever ended it comes next.
                Said::Nothing => return,
            },
            None => QuestionAnswer { result: None },
        };
        // One that is not waited for any more needs no answer, and any other failure is told by the call's own end.
        let told = self.gateway.answer(&question.id, &answer);
        if let (Err(failure), Some(person)) = (told, self.person.as_deref_mut()) {
            person.say(&format!("the answer was not taken: {}", failure.message));
        }
    }
}
