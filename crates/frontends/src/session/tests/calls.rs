//! Calls in flight: their ids, cancellation, batches, and the end of a session.

use super::*;

#[tokio::test]
async fn an_id_in_flight_cannot_be_used_again() {
    let desk = open("2025-06-18", "{}");
    desk.say(&tool("1", "hold"));
    check(
        &desk,
        &[&tool("1", "echo")],
        expect![[
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a call with this id is in flight"}}"#
        ]],
    );
    let (_, exchange) = desk.world.fake.held().remove(0);
    exchange.finish(Ok(Raw::from_static(r#""first""#)));
    assert_eq!(desk.out(), [r#"{"jsonrpc":"2.0","id":1,"result":"first"}"#]);
    assert_eq!(desk.hear(&tool("1", "echo")).len(), 1, "free again");
}

// S1-44
#[tokio::test]
async fn a_cancelled_call_is_taken_back_and_never_answered() {
    let desk = open("2025-06-18", "{}");
    desk.say(&tool(r#""x""#, "hold"));
    let (_, exchange) = desk.world.fake.held().remove(0);
    assert_eq!(desk.hear(&cancel("7")), [""; 0]);
    assert!(!exchange.is_cancelled());
    assert_eq!(desk.hear(&cancel(r#""x""#)), [""; 0]);
    assert!(exchange.is_cancelled());
    exchange.finish(Ok(Raw::from_static("{}")));
    assert_eq!(desk.out(), [""; 0]);
    assert_eq!(desk.hear(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#), [""; 0]);
}

// F29
#[tokio::test]
async fn a_call_that_panics_is_answered_and_harms_no_other() {
    let desk = open("2025-06-18", "{}");
    check(
        &desk,
        &[&tool("1", "panic"), &tool("2", "echo")],
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error: the call was dropped before it was answered"}}
        {"jsonrpc":"2.0","id":2,"result":{"x":2}}"#]],
    );
}

// S3-14, decision 17
#[tokio::test]
async fn shutdown_is_answered_when_the_calls_in_flight_are_done() {
    let desk = open("2025-06-18", "{}");
    desk.say(&tool("1", "hold"));
    desk.say(&tool("2", "hold"));
    assert_eq!(desk.hear(&request("3", "shutdown")), [""; 0]);
    check(
        &desk,
        &[
            &tool("4", "echo"),
            &request("5", "ping"),
            &request("6", "shutdown"),
            &initialize("2025-06-18", "{}"),
        ],
        expect![[r#"
        {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid request: the server is shutting down"}}
        {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: the server is shutting down"}}
        {"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"Invalid request: the server is shutting down"}}
        {"jsonrpc":"2.0","id":"hello","error":{"code":-32600,"message":"Invalid request: the session is initialized already"}}"#]],
    );
    let mut held = desk.world.fake.held();
    held.remove(0).1.finish(Ok(Raw::from_static("{}")));
    assert_eq!(desk.out().len(), 1);
    held.remove(0).1.finish(Ok(Raw::from_static("{}")));
    assert_eq!(
        desk.out(),
        [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]
    );
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_call_that_was_cancelled() {
    let desk = open("2025-06-18", "{}");
    desk.say(&tool("1", "hold"));
    assert_eq!(desk.hear(&request("2", "shutdown")), [""; 0]);
    assert_eq!(desk.hear(&cancel("1")), [r#"{"jsonrpc":"2.0","id":2,"result":{}}"#]);
}

// S3-15
#[tokio::test]
async fn exit_is_a_notification_by_either_name() {
    for method in ["notifications/exit", "exit"] {
        let desk = open("2025-06-18", "{}");
        assert_eq!(desk.say(&format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)), Received::Exit);
        assert_eq!(desk.out(), [""; 0]);
    }
}

// Decision 20
#[tokio::test]
async fn batches_are_answered_together_in_the_one_revision_that_has_them() {
    let desk = open("2025-03-26", "{}");
    let batch = |messages: &[String]| format!("[{}]", messages.join(","));
    desk.say(&batch(&[
        tool("1", "hold"),
        request("2", "ping"),
        cancel("9"),
        "7".to_owned(),
        tool("1", "echo"),
        tool("3", "echo"),
    ]));
    assert_eq!(desk.out(), [""; 0], "the first is still in flight");
    desk.world.fake.held().remove(0).1.finish(Ok(Raw::from_static(r#""late""#)));
    expect![[r#"[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message must be an object"}},{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a call with this id is in flight"}},{"jsonrpc":"2.0","id":3,"result":{"x":3}},{"jsonrpc":"2.0","id":1,"result":"late"}]"#]].assert_eq(&desk.out().join("\n"));
    assert_eq!(desk.hear(&batch(&[cancel("1"), cancel("2")])), [""; 0], "nothing to answer, no answer");

    desk.say(&batch(&[tool("1", "hold"), request("2", "ping")]));
    assert_eq!(desk.hear(&cancel("1")), [r#"[{"jsonrpc":"2.0","id":2,"result":{}}]"#]);
    desk.say(&batch(&[tool("4", "hold")]));
    assert_eq!(desk.hear(&cancel("4")), [""; 0], "an empty batch is no answer");
}

#[tokio::test]
async fn shutdown_and_exit_work_in_a_batch_too() {
    let desk = open("2025-03-26", "{}");
    assert_eq!(
        desk.hear(&format!("[{},{}]", request("1", "ping"), request("2", "shutdown"))),
        [r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#]
    );
    assert_eq!(desk.say(r#"[{"jsonrpc":"2.0","method":"notifications/exit"}]"#), Received::Exit);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_settled_when_its_last_call_is_answered() {
    let desk = open("2025-06-18", "{}");
    desk.session.settled().await;
    desk.say(&tool("1", "hold"));
    let patience = std::time::Duration::from_secs(60);
    assert!(tokio::time::timeout(patience, desk.session.settled()).await.is_err());
    let (_, exchange) = desk.world.fake.held().remove(0);
    let ((), ()) = tokio::join!(desk.session.settled(), async {
        tokio::task::yield_now().await;
        exchange.finish(Ok(Raw::from_static("{}")));
    });
    assert_eq!(desk.out().len(), 1, "its answer is queued by then");
}

#[tokio::test]
async fn closing_takes_calls_back_and_drops_questions() {
    let desk = open("2025-06-18", r#"{"sampling":{}}"#);
    desk.say(&tool("1", "hold"));
    let (_, call) = desk.world.fake.held().remove(0);
    let mut question = desk.question("sampling/createMessage");
    desk.out();
    desk.session.close();
    assert!(call.is_cancelled());
    assert!(question.try_recv().unwrap().is_err());
    drop(call);
    let answer = desk.out().concat();
    assert!(answer.contains(r#""id":1,"error""#) && answer.contains("shutting down"), "{answer}");
    assert!(answer.contains(r#""mayHaveRun":true"#), "{answer}");
    assert!(desk.question("roots/list").try_recv().unwrap().is_ok(), "it is no longer asked");
    assert_eq!(desk.out(), [""; 0]);
    desk.session.settled().await;
}
