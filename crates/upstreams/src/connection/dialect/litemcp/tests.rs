use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use expect_test::expect;
use manifold_engine::CallHandle;
use manifold_protocol::{Caller, Failure};
use tokio::task::JoinHandle;

use super::*;
use crate::fake::{Asked, FakeHost, raw, written};

const LONG: Duration = Duration::from_secs(30);
/// The seed's own tool.
const CALCULATOR: &str = r#"{"version":[1,0,0],"name":"Calculator","description":"A simple calculator","example":"Calculate the sum of 2 and 3","parameters":[{"name":"a","type":"number","description":"The first number","example":"2"},{"name":"b","type":"number","description":"The second number","example":"3"}]}"#;

fn unmet() -> Arc<Connection> {
    let connection = crate::fake::connection("", &Arc::new(FakeHost::default()));
    connection.speak(Dialect::litemcp(Way::Messages(Numbers::default())));
    connection
}

fn ask_for_tool(connection: &Arc<Connection>) -> JoinHandle<Result<Raw, Failure>> {
    let connection = Arc::clone(connection);
    #[expect(clippy::disallowed_methods, reason = "a test ends with its runtime")]
    tokio::spawn(async move { connection.request(Method::ToolsList, None, LONG).await })
}

fn receive(connection: &Connection, text: &str) {
    connection.receive(Line::Whole(Bytes::copy_from_slice(text.as_bytes())));
}

fn info(id: u32, tool: &str) -> String {
    format!(r#"{{"version":[1,0,0],"id":{id},"type":"info","data":{tool}}}"#)
}

fn result(id: u32, item: &str, error: bool) -> String {
    format!(
        r#"{{"version":[1,0,0],"id":{id},"type":"result","data":{{"version":[1,0,0],"params":{{}},"response":{{"content":[{item}],"error":{error}}}}}}}"#
    )
}

/// Returns a connection that knows the seed's tool; the next message has the number 2.
async fn met() -> Arc<Connection> {
    let connection = unmet();
    let asked = ask_for_tool(&connection);
    tokio::task::yield_now().await;
    assert_eq!(written(&connection), [r#"{"version":[1,0,0],"id":1,"type":"get","data":{}}"#]);
    receive(&connection, &info(1, CALCULATOR));
    asked.await.unwrap().unwrap();
    connection
}

fn call(connection: &Connection, arguments: &str) -> Asked {
    let (exchange, asked) = Asked::open(LONG);
    let params = raw(&format!(r#"{{"name":"Calculator","arguments":{arguments}}}"#));
    assert!(connection.send(Call::new(Method::ToolsCall, Some(params)), exchange).is_ok());
    asked
}

// S4-8, S4-9, decision 28: the seed's own sequence, from the client's end.
#[tokio::test]
async fn a_tool_is_listed_and_called_in_the_words_of_the_seed() {
    let connection = met().await;
    let listed = connection.request(Method::ToolsList, None, LONG).await.unwrap();
    assert_eq!(written(&connection), [""; 0], "it is asked once");
    let tools = listed.get("tools").unwrap().elements().unwrap();
    assert_eq!(tools[0].get("name").unwrap().as_str(), r#""Calculator""#);
    expect![[r#"{"type":"object","properties":{"a":{"type":"string","description":"The first number (type: number; example: 2)"},"b":{"type":"string","description":"The second number (type: number; example: 3)"}},"required":["a","b"]}"#]]
    .assert_eq(tools[0].get("inputSchema").unwrap().as_str());

    // Named in another order, and a number where a string is due.
    let mut asked = call(&connection, r#"{"b":"3","a":2}"#);
    assert_eq!(
        written(&connection),
        [
            r#"{"version":[1,0,0],"id":2,"type":"call","data":{"version":[1,0,0],"tool":"Calculator","arguments":["2","3"]}}"#
        ]
    );
    receive(&connection, &result(2, r#"{"type":"number","data":"5"}"#, false));
    expect![[
        r#"{"content":[{"type":"text","text":"5","_meta":{"litemcp/type":"number"}}],"isError":false}"#
    ]]
    .assert_eq(&asked.answer().unwrap());
    assert!(connection.has_answered());
}

// S4-11
#[tokio::test]
async fn an_error_of_the_tool_is_an_error_of_the_tool() {
    let connection = met().await;
    let mut asked = call(&connection, r#"{"a":"x","b":[1, {}]}"#);
    assert!(written(&connection)[0].contains(r#""arguments":["x","[1, {}]"]"#));
    receive(&connection, &result(2, r#"{"type":"text","data":"x is no number"}"#, true));
    assert!(asked.answer().unwrap().ends_with(r#""isError":true}"#));
}

// S4-10: answers find their calls by number, in whatever order they come.
#[tokio::test]
async fn answers_may_come_in_any_order_and_only_once() {
    let connection = met().await;
    let (mut first, mut second) =
        (call(&connection, r#"{"a":"1","b":"1"}"#), call(&connection, r#"{"a":"2","b":"2"}"#));
    receive(&connection, &result(3, r#"{"type":"number","data":"4"}"#, false));
    receive(&connection, &result(3, r#"{"type":"number","data":"again"}"#, false));
    receive(&connection, &result(99, r#"{"type":"number","data":"nobody's"}"#, false));
    assert_eq!(first.answer(), None);
    assert!(second.answer().unwrap().contains(r#""text":"4""#));
    receive(&connection, &result(2, r#"{"type":"number","data":"2"}"#, false));
    assert!(first.answer().unwrap().contains(r#""text":"2""#));
}

#[tokio::test]
async fn garbage_hurts_nobody_and_an_answer_that_cannot_be_read_only_its_call() {
    let connection = met().await;
    let (mut first, mut second) =
        (call(&connection, r#"{"a":"1","b":"1"}"#), call(&connection, r#"{"a":"2","b":"2"}"#));
    for garbage in
        ["hello", "[]", "{}", r#"{"id":2}"#, r#"{"id":"2","type":"result"}"#, r#"{"id":2,"type":"get"}"#]
    {
        receive(&connection, garbage);
    }
    assert_eq!((first.answer(), second.answer()), (None, None));
    receive(&connection, r#"{"version":[1,0,0],"id":2,"type":"result","data":{"no":"response"}}"#);
    assert!(first.answer().unwrap().contains("its result is not one of LiteMCP 1"));
    receive(&connection, &result(3, r#"{"type":"number","data":"4"}"#, false));
    assert!(second.answer().unwrap().contains(r#""text":"4""#));
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_alone() {
    let connection = met().await;
    let (mut first, mut second) =
        (call(&connection, r#"{"a":"1","b":"1"}"#), call(&connection, r#"{"a":"2","b":"2"}"#));
    connection.receive_frame(Frame::Refused { id: Some(Id::number(2)), why: FrameError::TooLong });
    connection.receive_frame(Frame::Refused { id: None, why: FrameError::TooLong });
    assert!(first.answer().unwrap().contains("limit"));
    assert_eq!(second.answer(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_over_frees_its_place_and_its_late_answer_is_dropped() {
    let connection = crate::fake::connection(r#","maxConcurrency":1"#, &Arc::new(FakeHost::default()));
    connection.speak(Dialect::litemcp(Way::Messages(Numbers::default())));
    connection.learn_tool(&raw(CALCULATOR)).unwrap();
    let cancelled = call(&connection, r#"{"a":"1","b":"1"}"#);
    let mut queued = call(&connection, r#"{"a":"2","b":"2"}"#);
    assert_eq!(written(&connection).len(), 1);
    CallHandle::cancel(&cancelled.flight, None);
    let written = written(&connection);
    assert_eq!(written.len(), 1, "LiteMCP has no word for a cancellation: {written:?}");
    assert!(written[0].contains(r#""id":2"#));
    receive(&connection, &result(1, r#"{"type":"number","data":"late"}"#, false));
    assert_eq!(queued.answer(), None);
    let mut keeper = tokio::task::JoinSet::new();
    keeper.spawn(Arc::clone(&connection).keep_deadlines());
    assert!(queued.answered().await.contains("30"), "it times out like any other");
    assert!(!connection.is_busy());
    // It was asked for a sign of life (F15), which is given up like any call.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(connection.is_unresponsive());
    let Dialect::LiteMcp(lite) = connection.dialect() else { panic!() };
    let Way::Messages(numbers) = &lite.way else { panic!() };
    assert!(numbers.is_empty(), "nothing is kept of calls that are over");
}

#[tokio::test]
async fn wrong_arguments_and_unknown_methods_never_reach_the_server() {
    let connection = met().await;
    let mut asked = call(&connection, r#"{"a":"1"}"#);
    expect!["fault -32602 Invalid params: argument 'b' is missing"].assert_eq(&asked.answer().unwrap());
    for (method, answer) in [
        (Method::Ping, "{}"),
        (Method::SetLevel, "{}"),
        (Method::PromptsList, "fault -32601"),
        (Method::ResourcesRead, "fault -32601"),
    ] {
        let (exchange, mut asked) = Asked::open(LONG);
        assert!(connection.send(Call::new(method, None), exchange).is_ok());
        assert!(asked.answer().unwrap().starts_with(answer));
    }
    connection.notify("notifications/roots/list_changed", None);
    assert_eq!(written(&connection), [""; 0]);
}

// S4-8
#[tokio::test]
async fn a_server_without_a_tool_is_not_met() {
    for data in [
        "{}",
        "null",
        "[]",
        r#"{"version":[2,0,0],"name":"Calculator"}"#,
        r#"{"name":"x","parameters":[{}]}"#,
    ] {
        let connection = unmet();
        let asked = ask_for_tool(&connection);
        tokio::task::yield_now().await;
        receive(&connection, &info(1, data));
        let Err(Failure::Fault(fault)) = asked.await.unwrap() else { panic!("{data} is a tool") };
        assert!(fault.message().contains("it tells of no tool of LiteMCP 1"), "{}", fault.message());
    }
}

#[tokio::test]
async fn a_tool_without_parameters_is_called_with_none() {
    let connection = unmet();
    connection.learn_tool(&raw(r#"{"version":{"major":1,"minor":4,"patch":0},"name":"Now"}"#)).unwrap();
    let (exchange, _asked) = Asked::open(LONG);
    let call = Call::new(Method::ToolsCall, Some(raw(r#"{"name":"Now"}"#)));
    assert!(connection.send(call, exchange).is_ok());
    assert!(written(&connection)[0].contains(r#""tool":"Now","arguments":[]}"#));
}

// A client of 2026-07-28 that comes back with a state comes to the wrong server.
#[tokio::test]
async fn a_state_is_never_a_litemcp_server_s() {
    let connection = met().await;
    let (exchange, mut asked) = Asked::open(LONG);
    let caller = Caller {
        capabilities: raw("{}"),
        info: None,
        log_level: None,
        retries: true,
        is_retry: true,
        words: Default::default(),
    };
    let params = raw(r#"{"name":"Calculator","arguments":{"a":"1","b":"1"},"requestState":"s"}"#);
    let call = Call::new(Method::ToolsCall, Some(params)).by(Arc::new(caller));
    assert!(connection.send(call, exchange).is_ok());
    assert!(asked.answer().unwrap().contains("requestState"));
}
