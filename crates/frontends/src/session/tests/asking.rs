//! Questions respect what their client said it can do.

use manifold_protocol::{Answer, Mark, Method};

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

#[tokio::test]
async fn questions_are_asked_under_our_numbers_and_answered_once() {
    let desk = open("2025-06-18", r#"{"sampling":{},"elicitation":{}}"#);
    let mut sampled = desk.question("sampling/createMessage");
    let mut elicited = desk.question("elicitation/create");
    assert_eq!(
        desk.out(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"elicitation/create"}"#,
        ]
    );
    for noise in [r#"{"jsonrpc":"2.0","id":"1","result":0}"#, r#"{"jsonrpc":"2.0","id":3,"result":0}"#] {
        assert_eq!(desk.hear(noise), [""; 0]);
    }
    assert!(sampled.try_recv().is_err());
    desk.say(r#"{"jsonrpc":"2.0","id":2,"error":{ "code":-1,"message":"no" }}"#);
    desk.say(r#"{"jsonrpc":"2.0","id":1,"result":{ "model":"m" }}"#);
    desk.say(r#"{"jsonrpc":"2.0","id":1,"result":"again"}"#);
    assert_eq!(sampled.try_recv().unwrap().unwrap().plain().as_str(), r#"{ "model":"m" }"#);
    assert!(
        matches!(elicited.try_recv().unwrap(), Err(Failure::Peer(error)) if error.as_str() == r#"{ "code":-1,"message":"no" }"#)
    );
}

#[tokio::test]
async fn a_question_in_a_call_goes_to_its_client_and_can_be_taken_back() {
    let desk = open("2025-06-18", r#"{"elicitation":{}}"#);
    desk.say(&tool("1", "hold"));
    let (_, call) = desk.world.fake.held().remove(0);
    let (sender, mut reply) = oneshot::channel();
    let (exchange, flight) = Exchange::open(Probe(Mutex::new(Some(sender))));
    call.asker().ask(Call::new(Method::Elicit, Some(Raw::from_static(r#"{ "message":"?" }"#))), exchange);
    assert_eq!(
        desk.out(),
        [r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{ "message":"?" }}"#]
    );
    flight.cancel(Some(Raw::from_static(r#""too late""#)));
    assert_eq!(
        desk.out(),
        [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"too late"}}"#
        ]
    );
    desk.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(reply.try_recv().is_err());
}

// Decision 29
#[tokio::test]
async fn what_a_client_cannot_do_is_declined_for_it() {
    let desk = open("2025-06-18", r#"{"sampling":{}}"#);
    let answer = |mut reply: oneshot::Receiver<Reply>| match reply.try_recv().unwrap() {
        Ok(answer) => answer.plain().as_str().to_owned(),
        Err(Failure::Fault(fault)) => fault.message(),
        Err(Failure::Peer(error)) => panic!("{error}"),
    };
    assert_eq!(
        answer(desk.question("elicitation/create")),
        "The client does not support `elicitation/create`"
    );
    assert_eq!(answer(desk.question("roots/list")), r#"{"roots":[{"uri":"file:///r"}]}"#, "the config's own");
    assert_eq!(desk.out(), [""; 0]);

    let early = self::desk();
    assert_eq!(
        answer(early.question("sampling/createMessage")),
        "The client does not support `sampling/createMessage`"
    );
    assert_eq!(early.out(), [""; 0], "never speak first");
}

#[tokio::test]
async fn a_late_answer_to_the_process_before_is_none_to_this_one() {
    let desk = open("2025-06-18", r#"{"sampling":{}}"#);
    desk.session.go_on_after(2);
    let mut sampled = desk.question("sampling/createMessage");
    assert_eq!(desk.out(), [r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage"}"#]);
    desk.say(r#"{"jsonrpc":"2.0","id":1,"result":"late"}"#);
    assert!(sampled.try_recv().is_err());
    desk.say(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    assert!(sampled.try_recv().unwrap().is_ok());
}
