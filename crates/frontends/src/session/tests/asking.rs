//! Questions respect what their client said it can do.

use manifold_protocol::Mark;

use super::*;

const URL: &str = r#"{"mode":"url","url":"https://x","message":"m"}"#;

/// Asks a client in the middle of a call. Returns what it heard, and the answer if there is one at once.
fn ask(revision: &str, capabilities: &str, method: Method, params: &'static str) -> (Vec<String>, String) {
    let desk = open(revision, capabilities);
    desk.say(&tool("1", "hold"));
    let (_, call) = desk.world.fake.held().remove(0);
    let (question, mut answer) = Exchange::answered();
    call.asker().ask(Call::new(method, Some(Raw::from_static(params))), question);
    let answer = match answer.try_recv() {
        Ok(Err(Failure::Fault(fault))) => fault.message(),
        Ok(other) => panic!("{other:?}"),
        Err(_) => String::new(),
    };
    (desk.out(), answer)
}

#[tokio::test]
async fn a_url_is_visited_by_clients_that_can() {
    let (asked, answer) = ask("2025-11-25", r#"{"elicitation":{"url":{}}}"#, Method::Elicit, URL);
    assert_eq!(answer, "");
    assert!(asked[0].contains(r#""url":"https://x""#), "{asked:?}");
    let question = Raw::parse(asked[0].clone()).unwrap();
    let id = question.path(&["params", "elicitationId"]).unwrap();
    assert_eq!(id.to_text().unwrap().len(), 32, "it has an id of its own there");

    let own = r#"{"mode":"url","url":"https://x","elicitationId":"e"}"#;
    let (asked, _) = ask("2025-11-25", r#"{"elicitation":{"url":{}}}"#, Method::Elicit, own);
    assert!(asked[0].contains(r#""elicitationId":"e""#), "{asked:?}");

    for (revision, capabilities, why) in [
        ("2025-11-25", r#"{"elicitation":{}}"#, "does not support"),
        ("2025-06-18", r#"{"elicitation":{"url":{}}}"#, "by URL in its revision"),
    ] {
        let (asked, answer) = ask(revision, capabilities, Method::Elicit, URL);
        assert_eq!(asked, [""; 0]);
        assert!(answer.contains(why), "{answer}");
    }
}

#[tokio::test]
async fn tools_in_sampling_need_their_own_declaration() {
    let params = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;
    let (asked, answer) = ask("2025-11-25", r#"{"sampling":{}}"#, Method::CreateMessage, params);
    assert_eq!(asked, [""; 0]);
    assert!(answer.contains("does not support"), "{answer}");
    let (asked, _) = ask("2025-11-25", r#"{"sampling":{"tools":{}}}"#, Method::CreateMessage, params);
    assert_eq!(asked.len(), 1);
    let context = r#"{"messages":[],"maxTokens":1,"includeContext":"thisServer"}"#;
    let (asked, _) = ask("2025-06-18", r#"{"sampling":{}}"#, Method::CreateMessage, context);
    assert_eq!(asked.len(), 1, "a choice that older revisions have for everybody");
}

#[tokio::test]
async fn a_request_for_input_is_never_taken_for_a_result() {
    let desk = open("2025-11-25", "{}");
    desk.say(&tool("1", "hold"));
    let (_, call) = desk.world.fake.held().remove(0);
    let asks = Raw::from_static(r#"{"resultType":"input_required","requestState":"s"}"#);
    call.finish(Ok(Answer::marked(asks, Mark::InputRequired)));
    let heard = desk.out().remove(0);
    assert!(heard.contains("-32603") && !heard.contains("result"), "{heard}");
}
