//! Questions of the server: whom they go to, and that each ends once.

use expect_test::expect;

use super::*;

#[tokio::test(start_paused = true)]
async fn questions_go_to_the_latest_call_and_are_answered_under_their_own_ids() {
    let wire = wire("");
    let (first, second) = (wire.ask("{}"), wire.ask("{}"));
    written(&wire.connection);
    wire.question(r#""a\u0062""#);
    wire.question("1.0");
    assert_eq!(first.questions().len(), 0);
    let mut questions = second.questions();
    assert_eq!(questions[0].0.params, Some(raw(r#"{"q":1}"#)));
    let (_, last) = questions.remove(1);
    last.fail(Fault::ClientCannot { what: "that".to_owned() });
    questions.remove(0).1.finish(Ok(raw(r#"{ "model":"m" }"#)));
    expect![[r#"
        {"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"The client does not support that"}}
        {"jsonrpc":"2.0","id":"a\u0062","result":{ "model":"m" }}"#]]
    .assert_eq(&written(&wire.connection).join("\n"));
    wire.receive(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    assert_eq!(written(&wire.connection), [r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]);
}

#[tokio::test(start_paused = true)]
async fn a_question_outside_any_call_goes_to_the_host() {
    let wire = wire("");
    wire.question("1");
    let (call, exchange) = wire.host.questions().remove(0);
    assert_eq!(call.method, Method::CreateMessage);
    drop(exchange);
    assert!(written(&wire.connection)[0].starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603"#));
}

#[tokio::test(start_paused = true)]
async fn a_server_may_take_a_question_back() {
    let wire = wire("");
    let asked = wire.ask("{}");
    written(&wire.connection);
    wire.question("7");
    let (_, exchange) = asked.questions().remove(0);
    wire.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no"}}"#,
    );
    assert!(exchange.is_cancelled());
    exchange.finish(Ok(raw("{}")));
    assert_eq!(written(&wire.connection), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_may_be_another_call_s_does_not_end_with_the_one_it_was_put_in() {
    let wire = wire("");
    let (_first, second) = (call_of(&wire, 1), call_of(&wire, 1));
    let ids = wire.ids();
    wire.question("7");
    let (_, question) = second.questions().remove(0);
    wire.receive(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":2}}"#, ids[1]));
    assert!(!question.is_cancelled());
    written(&wire.connection);
    question.finish(Ok(raw("{}")));
    assert_eq!(written(&wire.connection), [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]);
}

// T6
#[tokio::test(start_paused = true)]
async fn a_question_in_a_call_that_is_over_is_nobody_s() {
    let wire = wire("");
    let first = call_of(&wire, 1);
    let id: u64 = wire.ids()[0].parse().unwrap();
    let second = call_of(&wire, 2);
    first.flight.cancel(None);
    written(&wire.connection);
    let line = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"of one"}}"#;
    wire.connection.receive_within(Line::Whole(line.into()), Some(id));
    assert_eq!(second.questions().len(), 0);
    assert!(written(&wire.connection)[0].contains("in a call that is over"));
}

// H2: a question that cannot be read bears an id of the server's, not of a call of ours.
#[tokio::test(start_paused = true)]
async fn a_question_with_doubles_ends_no_call() {
    let wire = wire("");
    let mut asked = wire.ask("{}");
    let ids = wire.ids();
    let id = &ids[0];
    wire.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"mode":"form","MODE":"url"}}}}"#
    ));
    assert_eq!(asked.answer(), None);
    assert!(asked.questions().is_empty() && wire.host.questions().is_empty());
    let refused = written(&wire.connection);
    assert!(refused.len() == 1 && refused[0].contains(r#""code":-32600"#), "{refused:?}");
    assert_eq!(id_of(&refused[0]).to_string(), *id);
    wire.receive(
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","Level":"debug"}}"#,
    );
    assert!(asked.notices().is_empty() && wire.host.notices().is_empty());
    wire.answer(id, "{}");
    assert_eq!(asked.answer().as_deref(), Some("{}"));
}
