//! Asking the client in the middle of a call, in the words of its era.
//!
//! A legacy caller is sent requests while the call waits. A modern one gets `input_required` and comes back with the
//! answers; where a script wants its state back, the number of rounds behind it is sealed into that state.
#![expect(deprecated, reason = "what the newest revision drops is what the older ones are tested for")]

use rmcp::model::{
    ClientCapabilities, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion, RequestStateCodec,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};

use super::catalog::typed;

/// The questions of one interactive tool or prompt, round by round.
pub(super) struct Script {
    rounds: Vec<InputRequests>,
    sealed: bool,
    /// Asks by request in whatever era it is called, as a tool from before 2026 does that nobody has rewritten.
    unaware: bool,
}

/// What became of a script: every answer of its last round, or one more round.
pub(super) enum Outcome {
    Answered(InputResponses),
    Ask(InputRequiredResult),
}

/// The part of a request that carries answers, the same for tools and prompts.
pub(super) struct Retry {
    pub(super) answers: InputResponses,
    pub(super) state: Option<String>,
}

impl Script {
    pub(super) fn new(questions: Value) -> Self {
        Self { rounds: vec![typed(questions)], sealed: false, unaware: false }
    }

    pub(super) fn unaware(self, unaware: bool) -> Self {
        Self { unaware, ..self }
    }

    /// Makes the script hand out state and insist on getting it back unchanged.
    pub(super) fn sealed(self) -> Self {
        Self { sealed: true, ..self }
    }

    pub(super) fn then(mut self, questions: Value) -> Self {
        self.rounds.push(typed(questions));
        self
    }

    pub(super) fn questions(self) -> InputRequests {
        self.rounds.into_iter().flatten().collect()
    }

    pub(super) async fn play(
        self,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        if let Some(missing) = self
            .rounds
            .iter()
            .flat_map(InputRequests::values)
            .find_map(|question| lacks(&capabilities, question))
        {
            return Err(incapable(context, missing));
        }
        match is_modern(context) && !self.unaware {
            true => self.next_round(retry),
            false => self.by_request(&context.peer).await,
        }
    }

    fn next_round(mut self, retry: Retry) -> Result<Outcome, ErrorData> {
        let behind: usize = match (&retry.state, self.sealed) {
            (Some(state), true) => codec().open_json(state).map_err(|_| tampered())?,
            (None, true) => 0,
            // Without state the answers alone tell where we are, so there is only one round.
            (_, false) => 1,
        };
        let answered = |round: &InputRequests| {
            round.keys().all(|key| retry.answers.get(key).is_some_and(Value::is_object))
        };
        // Answers that are missing or no objects are asked for again.
        let complete = behind.checked_sub(1).map(|last| self.rounds.get(last).is_some_and(answered));
        let next = match complete {
            Some(true) if behind == self.rounds.len() => return Ok(Outcome::Answered(retry.answers)),
            Some(true) | None => behind,
            Some(false) => behind - 1,
        };
        let state = self.sealed.then(|| codec().seal_json(&(next + 1)).expect("a number can be written"));
        if next >= self.rounds.len() {
            return Err(tampered());
        }
        Ok(Outcome::Ask(InputRequiredResult::new(Some(self.rounds.swap_remove(next)), state)))
    }

    async fn by_request(self, peer: &Peer<RoleServer>) -> Result<Outcome, ErrorData> {
        let mut answers = InputResponses::new();
        for (key, question) in self.questions() {
            let answer = ask(peer, question).await;
            let answer = answer
                .map_err(|error| ErrorData::internal_error(format!("no answer to {key}: {error}"), None))?;
            answers.insert(key, answer);
        }
        Ok(Outcome::Answered(answers))
    }
}

pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the error for a client that has not declared what a tool needs; its own code exists only since 2026-07-28.
pub(super) fn incapable(context: &RequestContext<RoleServer>, needed: ClientCapabilities) -> ErrorData {
    if is_modern(context) {
        ErrorData::missing_required_client_capability(needed)
    } else {
        ErrorData::invalid_request("the client has not declared a capability this tool needs", None)
    }
}

pub(super) fn elicit(message: &str, schema: Value) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

/// Returns a question for one field of the form.
pub(super) fn elicit_one(message: &str, field: &str, kind: &str) -> Value {
    elicit(message, json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]}))
}

pub(super) fn sample(prompt: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

pub(super) fn list_roots() -> Value {
    json!({"method": "roots/list"})
}

async fn ask(peer: &Peer<RoleServer>, question: InputRequest) -> Result<Value, ServiceError> {
    let answer = match question {
        InputRequest::CreateMessage(request) => {
            serde_json::to_value(peer.create_message(request.params).await?)
        }
        InputRequest::Elicitation(request) => {
            serde_json::to_value(peer.create_elicitation(request.params).await?)
        }
        InputRequest::ListRoots(_) => serde_json::to_value(peer.list_roots().await?),
        _ => return Err(ServiceError::UnexpectedResponse),
    };
    answer.map_err(|_| ServiceError::UnexpectedResponse)
}

/// Returns the capability that the client would need to answer and has not declared.
fn lacks(capabilities: &ClientCapabilities, question: &InputRequest) -> Option<ClientCapabilities> {
    let (declared, needed) = match question {
        InputRequest::CreateMessage(_) => (capabilities.sampling.is_some(), json!({"sampling": {}})),
        InputRequest::Elicitation(_) => (capabilities.elicitation.is_some(), json!({"elicitation": {}})),
        _ => (capabilities.roots.is_some(), json!({"roots": {}})),
    };
    (!declared).then(|| typed(needed))
}

fn codec() -> RequestStateCodec {
    // No secret: whoever reads this may forge the state of a test server.
    RequestStateCodec::new_unchecked(*b"conformance-server: not a secret")
}

fn tampered() -> ErrorData {
    ErrorData::invalid_params("requestState is not the one this server gave out", None)
}
