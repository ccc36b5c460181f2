use std::sync::Arc;
use std::time::Duration;

use manifold_protocol::{Caller, Method};

use crate::connection::{Connection, Dialect};
use crate::era;
use crate::fake::{Asked, FakeHost, connection, id_of, lock, raw, receive, written};

const MINUTE: Duration = Duration::from_secs(60);
const SAMPLES: &str = r#"{"method":"sampling/createMessage","params":{"n":1}}"#;

/// A server that speaks both eras on one pipe, or will if a session can be had.
fn server() -> (Arc<Connection>, Arc<FakeHost>) {
    let host = Arc::new(FakeHost::default());
    let connection = connection("", &host);
    connection.speak(Dialect::dual(&era::unsaid(), None));
    (connection, host)
}

fn caller(retries: bool, info: Option<&str>) -> Arc<Caller> {
    Arc::new(Caller {
        capabilities: raw(r#"{"sampling":{}}"#),
        info: info.map(raw),
        log_level: None,
        retries,
        is_retry: false,
        words: Default::default(),
    })
}

fn of_session() -> Arc<Caller> {
    caller(false, Some(r#"{"name":"c","version":"1"}"#))
}

fn call(connection: &Connection, method: Method, caller: Arc<Caller>) -> Asked {
    let (exchange, asked) = Asked::open(MINUTE);
    let call = manifold_protocol::Call::new(method, Some(raw(r#"{"name":"t"}"#))).by(caller);
    assert!(connection.send(call, exchange).is_ok());
    asked
}

fn is_marked(line: &str) -> bool {
    line.contains("io.modelcontextprotocol/protocolVersion")
}

// A server of both eras is spoken to in the era of whoever asks
#[tokio::test(start_paused = true)]
async fn each_call_goes_out_in_the_era_of_its_caller() {
    let (connection, _) = server();
    connection.settle_session(true, None);
    let mut asked: Vec<Asked> =
        [of_session(), caller(true, None), caller(true, Some("{}")), caller(false, None)]
            .map(|caller| call(&connection, Method::ToolsCall, caller))
            .into();
    let lines = written(&connection);
    let marked: Vec<bool> = lines.iter().map(|line| is_marked(line)).collect();
    assert_eq!(marked, [false, true, true, true], "who says nothing of itself has no session");
    for line in &lines {
        let result = r#"{"content":[],"resultType":"complete"}"#;
        receive(&connection, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(line)));
    }
    // What a session's result says is the caller's own affair, to the last byte.
    assert_eq!(asked[0].answer().unwrap(), r#"{"content":[],"resultType":"complete"}"#);
    assert_eq!(asked[1].answer().unwrap(), r#"{"content":[]}"#);
}

// A question by request finds the caller with a session, and only in its call
#[tokio::test(start_paused = true)]
async fn a_question_reaches_the_caller_with_a_session() {
    let (connection, _) = server();
    connection.settle_session(true, None);
    let asked = call(&connection, Method::ToolsCall, of_session());
    let id = id_of(&written(&connection)[0]);
    receive(&connection, &format!(r#"{{"jsonrpc":"2.0","id":7,{}"#, &SAMPLES[1..]));
    let mut questions = asked.questions();
    assert_eq!(questions.len(), 1);
    let (question, exchange) = questions.remove(0);
    assert_eq!(question.method, Method::CreateMessage);
    exchange.finish(Ok(raw(r#"{"said":true}"#)));
    assert_eq!(written(&connection), [r#"{"jsonrpc":"2.0","id":7,"result":{"said":true}}"#]);
    // In a call of the newest revision nobody is asked so.
    let other = call(&connection, Method::ToolsCall, caller(true, None));
    let modern = id_of(&written(&connection)[0]).as_u64().unwrap();
    let line = format!(r#"{{"jsonrpc":"2.0","id":8,{}"#, &SAMPLES[1..]);
    connection.receive_within(manifold_protocol::framing::Line::Whole(line.into()), Some(modern));
    assert!(other.questions().is_empty() && written(&connection).is_empty());
    receive(&connection, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    assert_eq!(asked.answered().await, "{}");
}

#[tokio::test(start_paused = true)]
async fn calls_wait_until_it_is_known_whether_there_is_a_session() {
    for (is_open, bridged) in [(true, false), (false, true)] {
        let (connection, _) = server();
        let _modern = call(&connection, Method::ToolsCall, caller(true, None));
        let _subscribed = call(&connection, Method::ResourcesSubscribe, of_session());
        assert_eq!(written(&connection).len(), 1, "nobody waits who needs no session");
        let _waits = call(&connection, Method::ToolsCall, of_session());
        assert!(written(&connection).is_empty());
        tokio::time::timeout(MINUTE, connection.session_wanted()).await.unwrap();
        connection.settle_session(is_open, None);
        let lines = written(&connection);
        assert_eq!(lines.len(), 1);
        assert_eq!(is_marked(&lines[0]), bridged, "{lines:?}");
        let _next = call(&connection, Method::PromptsGet, of_session());
        assert_eq!(is_marked(&written(&connection)[0]), bridged);
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_session_is_given_back_at_the_end() {
    let (connection, _) = server();
    let _waits = call(&connection, Method::ToolsCall, of_session());
    assert_eq!(connection.close("over").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_hears_the_log_level_and_what_clients_tell() {
    let (connection, host) = server();
    connection.notify("notifications/roots/list_changed", None);
    assert!(written(&connection).is_empty(), "the newest revision knows of nothing to tell");
    let level = r#"{"level":"info"}"#;
    lock(&host.standing).log_level = Some(raw(level));
    connection.settle_session(true, Some(&raw(r#"{"logging":{}}"#)));
    connection.notify("notifications/roots/list_changed", None);
    let lines = written(&connection);
    assert!(lines[0].contains(r#""method":"logging/setLevel","params":{"level":"info"}"#), "{lines:?}");
    assert!(lines[1].contains("roots/list_changed"), "{lines:?}");
}

// One client's calls that wait to know whether there is a session are bounded, as all that wait are (M9).
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_the_session_are_bounded() {
    let (connection, _) = server();
    let mut asked: Vec<Asked> =
        (0..4097).map(|_| call(&connection, Method::ToolsCall, of_session())).collect();
    let refused = asked.pop().unwrap().answer().unwrap();
    assert!(refused.contains("is busy: 4096 calls of this client are waiting"), "{refused}");
    assert!(asked.iter_mut().all(|one| one.answer().is_none()));
    assert_eq!(written(&connection), [""; 0]);
}
