//! Questions of servers: whether a client can be asked them, and what counts as an answer.

use manifold_protocol::raw::Kind;
use manifold_protocol::{Call, Era, Method, Raw, RawObject};

/// Returns what a client would have to declare to be asked this; `None` if it has.
pub(crate) fn lacking(capabilities: &Raw, call: &Call, era: Era) -> Option<Raw> {
    let param = |key: &str| call.params.as_ref().and_then(|params| params.get(key));
    let has = |path: &[&str]| capabilities.path(path).is_some();
    let required = match call.method {
        Method::ListRoots if !has(&["roots"]) => r#"{"roots":{}}"#,
        Method::Elicit if is_by_url(call) => match has(&["elicitation", "url"]) {
            true => return None,
            false => r#"{"elicitation":{"url":{}}}"#,
        },
        // An empty declaration means forms; one that names other modes only does not.
        Method::Elicit if !has(&["elicitation"]) => r#"{"elicitation":{}}"#,
        Method::Elicit if has(&["elicitation", "url"]) && !has(&["elicitation", "form"]) => {
            r#"{"elicitation":{"form":{}}}"#
        }
        Method::CreateMessage if !has(&["sampling"]) => r#"{"sampling":{}}"#,
        Method::CreateMessage if param("tools").is_some() && !has(&["sampling", "tools"]) => {
            r#"{"sampling":{"tools":{}}}"#
        }
        // Older revisions have the choice without a capability for it.
        Method::CreateMessage if era == Era::Modern && !has(&["sampling", "context"]) => {
            let context = param("includeContext");
            match context.as_ref().and_then(|context| context.to_text()).as_deref() {
                None | Some("none") => return None,
                Some(_) => r#"{"sampling":{"context":{}}}"#,
            }
        }
        _ => return None,
    };
    Some(Raw::from_static(required))
}

pub(crate) fn is_by_url(call: &Call) -> bool {
    call.method == Method::Elicit && call.text_param("mode").as_deref() == Some("url")
}

/// Returns a question as a client that comes back is asked it: progress of its own it has none, and the outcome of a
/// visit to a URL is learnt by coming back.
pub(crate) fn for_retry(call: &Call) -> Call {
    let mut call = call.clone();
    let by_url = is_by_url(&call);
    let Some(mut params) = call.params.as_ref().and_then(|params| params.object()) else { return call };
    if by_url {
        params.remove("elicitationId");
    }
    if let Some(mut meta) = params.get("_meta").and_then(|meta| meta.object()) {
        meta.remove("progressToken");
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.into_raw());
        }
    }
    call.params = Some(params.into_raw());
    call
}

/// Returns a question as a client with a session is asked it: a visit to a URL has an id there.
pub(crate) fn for_session(mut call: Call) -> Call {
    let has_id = call.params.as_ref().is_some_and(|params| params.get("elicitationId").is_some());
    if is_by_url(&call) && !has_id {
        let mut bytes = [0; 16];
        // It need not be secret, only its own; without randomness it is at least there.
        let _ = getrandom::fill(&mut bytes);
        call.set_param("elicitationId", Raw::string(&format!("{:032x}", u128::from_be_bytes(bytes))));
    }
    call
}

/// Returns whether something can be the answer to a question.
pub(crate) fn answers(question: &Call, answer: &Raw) -> bool {
    let action = || {
        let action = answer.get("action");
        let action = action.as_ref().and_then(|action| action.to_text());
        matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
    };
    answer.kind() == Kind::Object && (question.method != Method::Elicit || action())
}

/// Reads the error of a server (2025-11-25) that wants URLs to be visited before the call is made again.
pub(crate) fn urls_to_visit(error: &Raw) -> Option<Vec<Call>> {
    if error.get("code")?.as_str() != "-32042" {
        return None;
    }
    let visits = error.path(&["data", "elicitations"])?.elements()?;
    let question = |params: Raw| {
        let mut params = params.object()?;
        params.set("mode", Raw::from_static(r#""url""#));
        Some(for_retry(&Call::new(Method::Elicit, Some(params.into_raw()))))
    };
    let questions: Vec<Call> = visits.into_iter().filter_map(question).collect();
    (!questions.is_empty()).then_some(questions)
}

/// Writes that error for a client that cannot be sent to URLs: a person can still read them.
pub(crate) fn spell_out_urls(error: &Raw, visits: &[Call]) -> Raw {
    let urls: Vec<String> = visits.iter().filter_map(|visit| visit.text_param("url")).collect();
    let message = error.get("message");
    let message = message.as_ref().and_then(|message| message.to_lossy_text()).unwrap_or_default();
    let mut object = RawObject::default();
    object.set("code", Raw::from_static("-32603"));
    let message = format!("{message}: visit {} and call again", urls.join(" and "));
    object.set("message", Raw::string(&message));
    object.into_raw()
}

#[cfg(test)]
mod tests;
