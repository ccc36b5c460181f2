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
mod tests {
    use super::*;

    fn call(method: Method, params: &'static str) -> Call {
        Call::new(method, Some(Raw::from_static(params)))
    }

    #[track_caller]
    fn check(capabilities: &'static str, question: &Call, expected: Option<&str>) {
        let lacking = lacking(&Raw::from_static(capabilities), question, Era::Modern);
        assert_eq!(lacking.as_ref().map(Raw::as_str), expected, "{capabilities} {question:?}");
    }

    #[test]
    fn only_what_is_declared_is_asked() {
        let form = call(Method::Elicit, r#"{"message":"m"}"#);
        check(r#"{"elicitation":{}}"#, &form, None);
        check(r#"{"elicitation":{"url":{},"form":{}}}"#, &form, None);
        check(r#"{"elicitation":{"url":{}}}"#, &form, Some(r#"{"elicitation":{"form":{}}}"#));
        check("{}", &form, Some(r#"{"elicitation":{}}"#));
        let url = call(Method::Elicit, r#"{"mode":"url","url":"https://x"}"#);
        check(r#"{"elicitation":{}}"#, &url, Some(r#"{"elicitation":{"url":{}}}"#));
        check(r#"{"elicitation":{"url":{}}}"#, &url, None);
        check(r#"{"sampling":{}}"#, &call(Method::CreateMessage, r#"{"includeContext":"none"}"#), None);
        let tools = call(Method::CreateMessage, r#"{"tools":[]}"#);
        check(r#"{"sampling":{}}"#, &tools, Some(r#"{"sampling":{"tools":{}}}"#));
        check(r#"{"sampling":{"tools":{}}}"#, &tools, None);
        let context = call(Method::CreateMessage, r#"{"includeContext":"thisServer"}"#);
        check(r#"{"sampling":{}}"#, &context, Some(r#"{"sampling":{"context":{}}}"#));
        assert_eq!(lacking(&Raw::from_static(r#"{"sampling":{}}"#), &context, Era::Legacy), None);
        check("{}", &call(Method::ListRoots, "{}"), Some(r#"{"roots":{}}"#));
    }

    #[test]
    fn an_answer_is_an_object_with_what_its_question_needs() {
        let elicit = call(Method::Elicit, "{}");
        for (answer, good) in [
            (r#"{"action":"accept","content":{}}"#, true),
            (r#"{"action":"cancel"}"#, true),
            (r#"{"action":"perhaps"}"#, false),
            ("{}", false),
            ("null", false),
            (r#""accept""#, false),
        ] {
            assert_eq!(answers(&elicit, &Raw::from_static(answer)), good, "{answer}");
        }
        assert!(answers(&call(Method::ListRoots, "{}"), &Raw::from_static(r#"{"roots":[]}"#)));
    }

    #[test]
    fn urls_of_an_error_become_questions() {
        let error = Raw::from_static(
            r#"{"code":-32042,"message":"Sign in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x/a","message":"m"}]}}"#,
        );
        let visits = urls_to_visit(&error).unwrap();
        assert_eq!(
            visits[0].params.as_ref().unwrap().as_str(),
            r#"{"mode":"url","url":"https://x/a","message":"m"}"#
        );
        let spelled = spell_out_urls(&error, &visits);
        assert_eq!(
            spelled.as_str(),
            r#"{"code":-32603,"message":"Sign in: visit https://x/a and call again"}"#
        );
        assert!(urls_to_visit(&Raw::from_static(r#"{"code":-32042,"message":"m"}"#)).is_none());
    }
}
