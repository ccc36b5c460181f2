//! What every dialect must do, side by side: the connection asks all of them the same.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use expect_test::{Expect, expect};
use manifold_protocol::framing::Line;
use manifold_protocol::{Call, Method};
use tokio::task::JoinSet;

use super::*;
use crate::era;
use crate::fake::{Asked, FakeHost, connection, raw, written};

const SECOND: Duration = Duration::from_secs(1);
const TOOL: &str = r#"{"version":[1,0,0],"name":"t","description":"d","example":"e","parameters":[]}"#;

fn speaking(dialect: Dialect) -> Arc<Connection> {
    let connection = connection("", &Arc::new(FakeHost::default()));
    connection.speak(dialect);
    connection
}

/// Returns a server of each kind on a pipe.
fn all() -> [(&'static str, Arc<Connection>); 4] {
    let dual = speaking(Dialect::dual(&era::unsaid(), None));
    dual.settle_session(true, None);
    let lite = speaking(Dialect::litemcp(Way::Messages(Default::default())));
    lite.learn_tool(&raw(TOOL)).unwrap();
    [
        ("legacy", speaking(Dialect::Legacy)),
        ("modern", speaking(Dialect::modern(&era::unsaid(), None))),
        ("dual", dual),
        ("litemcp", lite),
    ]
}

/// Returns the words of a message that tell the dialects apart.
fn words(line: &str) -> String {
    let message = raw(line);
    let word = message.get("method").or_else(|| message.get("type")).unwrap();
    let is_marked = line.contains("io.modelcontextprotocol/protocolVersion");
    let mark = if is_marked { ", who asks" } else { "" };
    format!("{}{mark}", word.to_text().unwrap())
}

/// Checks what each server is sent where `done` is done.
async fn check(mut done: impl AsyncFnMut(&Arc<Connection>), expected: Expect) {
    let mut log = Vec::new();
    for (name, connection) in all() {
        let mut keeper = JoinSet::new();
        keeper.spawn(Arc::clone(&connection).keep_deadlines());
        done(&connection).await;
        let lines: Vec<String> = written(&connection).iter().map(|line| words(line)).collect();
        log.push(format!("{name}: {}", lines.join("; ")));
    }
    expected.assert_eq(&log.join("\n"));
}

fn call(connection: &Connection) -> Asked {
    let (exchange, asked) = Asked::open(SECOND);
    let call = Call::new(Method::ToolsCall, Some(raw(r#"{"name":"t","arguments":{}}"#)));
    assert!(connection.send(call, exchange).is_ok());
    asked
}

#[tokio::test(start_paused = true)]
async fn a_call_is_written_and_cancelled_in_the_dialect_s_words() {
    check(
        async |connection| call(connection).flight.cancel(None),
        expect![[r#"
            legacy: tools/call; notifications/cancelled
            modern: tools/call, who asks; notifications/cancelled
            dual: tools/call, who asks; notifications/cancelled
            litemcp: call"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_sign_of_life_is_asked_for_in_the_dialect_s_words() {
    check(
        async |connection| {
            assert!(call(connection).answered().await.starts_with("fault -32002"));
            tokio::time::sleep(Duration::from_millis(1)).await;
        },
        expect![[r#"
            legacy: tools/call; notifications/cancelled; ping
            modern: tools/call, who asks; notifications/cancelled; server/discover, who asks
            dual: tools/call, who asks; notifications/cancelled; server/discover, who asks
            litemcp: call; get"#]],
    )
    .await;
}

// F15: what was silent and speaks again is well again, however it speaks.
#[tokio::test(start_paused = true)]
async fn whatever_is_heard_is_a_sign_of_life() {
    for (name, connection) in all() {
        let mut keeper = JoinSet::new();
        keeper.spawn(Arc::clone(&connection).keep_deadlines());
        call(&connection).answered().await;
        tokio::time::sleep(3 * SECOND).await;
        assert!(connection.is_unresponsive(), "{name}");
        connection.receive(Line::Whole(Bytes::from_static(b"anything")));
        assert!(!connection.is_unresponsive(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_sessions_take_notifications() {
    check(
        async |connection| connection.notify("notifications/roots/list_changed", None),
        expect![[r#"
            legacy: notifications/roots/list_changed
            modern: 
            dual: notifications/roots/list_changed
            litemcp: "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dialect_is_chosen_once() {
    let connection = speaking(Dialect::modern(&era::unsaid(), None));
    connection.speak(Dialect::Legacy);
    assert_eq!(connection.dialect().era(), Era::Modern);
}
