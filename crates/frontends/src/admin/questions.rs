//! Questions of servers that wait for an operator.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use manifold_admin::{CommandError, ErrorCode, QuestionAnswer};
use manifold_engine::{Exchange, Gateway, Lock as _};
use manifold_protocol::{Call, Method, Raw};
use serde_json::json as object;

use super::Office;
use super::answer::{Answer, json};
use super::request::{Asked, bad};
use crate::questions::answers;

/// Those that are open, whoever was asked them.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<HashMap<String, Question>>,
}

pub(super) struct Question {
    pub(super) call: Call,
    pub(super) exchange: Exchange,
    pub(super) gateway: Arc<Gateway>,
}

impl Questions {
    pub(super) fn put(&self, id: &str, question: Question) {
        self.lock().insert(id.to_owned(), question);
    }

    pub(super) fn take(&self, id: &str) -> Option<Question> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Question>> {
        self.open.locked()
    }
}

/// Returns an id that nobody guesses.
pub(super) fn new_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Brings an operator's answer to the server that asked.
pub(super) fn answer(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let QuestionAnswer { result } = asked.json()?;
    let result = result.map(|result| Raw::parse(String::from(Box::<str>::from(result))));
    let result = result.transpose().map_err(|_| bad("`result` cannot be read"))?;
    let mut open = office.questions.lock();
    let Some(question) = open.get(&asked.name) else { return Err(unknown(&asked.name)) };
    if result.as_ref().is_some_and(|result| !answers(&question.call, result)) {
        return Err(bad(
            "`result` does not answer the question; `{\"action\": \"accept\", \"content\": {…}}` would",
        ));
    }
    let question = open.remove(&asked.name);
    drop(open);
    if let Some(Question { call, exchange, gateway }) = question {
        match result {
            Some(result) => exchange.finish(Ok(result)),
            None => decline(&gateway, &call, exchange),
        }
    }
    Ok(json(&object!({})))
}

/// Says no in the asker's place.
pub(super) fn decline(gateway: &Gateway, call: &Call, exchange: Exchange) {
    match call.method {
        Method::Elicit => exchange.finish(Ok(Raw::from_static(r#"{"action":"decline"}"#))),
        _ => gateway.decline(call, exchange),
    }
}

fn unknown(id: &str) -> CommandError {
    let message = format!("there is no question {id}; it may have been answered or withdrawn");
    CommandError::new(ErrorCode::UnknownItem, message)
}
