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
    assert_eq!(spelled.as_str(), r#"{"code":-32603,"message":"Sign in: visit https://x/a and call again"}"#);
    assert!(urls_to_visit(&Raw::from_static(r#"{"code":-32042,"message":"m"}"#)).is_none());
}
