//! Questions in the middle of a call: asked by an answer, answered by asking again (multi-round-trip requests).

use crate::envelope::MethodName;
use crate::members::{self, Flaw};
use crate::method::Method;
use crate::model::Call;
use crate::raw::{Kind, Raw, RawObject};

/// One round of questions.
#[derive(Debug)]
pub struct InputRequired {
    /// By the key that the answer must bear.
    pub questions: Vec<(String, Call)>,
    pub state: Option<Raw>,
}

impl InputRequired {
    /// Reads a server's round; `None` if it neither asks nor has a state to come back with.
    pub fn read(result: &Raw) -> Option<Self> {
        if flaw(result).is_some() {
            return None;
        }
        let state = result.get("requestState").filter(|state| state.kind() == Kind::String);
        let questions = match result.get("inputRequests") {
            None => Vec::new(),
            Some(requests) => requests
                .object()?
                .iter_decoded()
                .map(|(key, request)| Some((String::from_utf8(key.into_owned()).ok()?, question(&request)?)))
                .collect::<Option<Vec<_>>>()?,
        };
        (state.is_some() || !questions.is_empty()).then_some(Self { questions, state })
    }

    /// Writes a round of our own.
    pub fn encode(&self) -> Raw {
        let mut requests = RawObject::default();
        for (key, call) in &self.questions {
            let mut request = RawObject::default();
            request.set("method", Raw::string(call.method.as_str()));
            if let Some(params) = &call.params {
                request.set("params", params.clone());
            }
            requests.set(key, request.into_raw());
        }
        let mut result = RawObject::default();
        result.set("resultType", Raw::from_static(r#""input_required""#));
        if !requests.is_empty() {
            result.set("inputRequests", requests.into_raw());
        }
        if let Some(state) = &self.state {
            result.set("requestState", state.clone());
        }
        result.into_raw()
    }
}

/// Returns what is wrong with the keys of a round's questions, if anything is (H2).
pub fn flaw(result: &Raw) -> Option<Flaw> {
    let requests = result.get("inputRequests")?.object()?;
    let twice = requests.duplicate().map(|_| Flaw::Twice);
    twice.or_else(|| requests.iter().find_map(|(_, request)| members::QUESTION.flaw(&request)))
}

fn question(request: &Raw) -> Option<Call> {
    let method = request.get("method")?;
    let method = Method::from(MethodName::from(&*method.to_text()?));
    Some(Call::new(method, request.get("params").filter(|params| params.kind() == Kind::Object)))
}

/// Puts the answers of a round and the server's state into the parameters of the next call.
pub fn with_answers(params: Option<Raw>, answers: &[(String, Raw)], state: Option<Raw>) -> Raw {
    let mut object = params.and_then(|params| params.object()).unwrap_or_default();
    object.remove("inputResponses");
    object.remove("requestState");
    if !answers.is_empty() {
        let mut responses = RawObject::default();
        for (key, answer) in answers {
            responses.set(key, answer.clone());
        }
        object.set("inputResponses", responses.into_raw());
    }
    if let Some(state) = state {
        object.set("requestState", state);
    }
    object.into_raw()
}

/// What a client brings when it comes back.
#[derive(Debug, Default)]
pub struct Return {
    pub answers: RawObject,
    pub state: Option<String>,
}

/// Takes what a client brings back out of the parameters; what is left is the call as it was first made.
pub fn take_return(params: Option<Raw>) -> (Option<Raw>, Return) {
    let Some(mut object) = params.as_ref().and_then(|params| params.object()) else {
        return (params, Return::default());
    };
    let brought = Return {
        answers: object.get("inputResponses").and_then(|answers| answers.object()).unwrap_or_default(),
        state: object.get("requestState").and_then(|state| Some(state.to_text()?.into_owned())),
    };
    object.remove("inputResponses");
    object.remove("requestState");
    (Some(object.into_raw()), brought)
}
