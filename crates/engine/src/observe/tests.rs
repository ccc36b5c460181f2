use std::sync::Mutex;

use expect_test::{Expect, expect};
use manifold_protocol::{Fault, Raw};

use super::*;
use crate::fake::{Asked, World, call, raw, servers};

#[derive(Default)]
struct Book(Mutex<Vec<String>>);

impl Book {
    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join("\n")
    }
}

impl Observer for Book {
    fn began(&self, record: &CallRecord) {
        let CallRecord { number, principal, method, request_bytes, .. } = record;
        let line = format!("{number} began: {principal} {} {request_bytes} bytes", method.as_str());
        self.0.lock().unwrap().push(line);
    }

    fn ended(&self, record: &CallRecord, end: &CallEnd) {
        let target = record.target.as_ref().map(|target| (target.server.as_str(), target.tool.as_deref()));
        let CallEnd { took, response_bytes, outcome, .. } = end;
        let line =
            format!("{} ended: {target:?} {outcome:?} {response_bytes} bytes, {took:?}", record.number);
        self.0.lock().unwrap().push(line);
    }
}

fn world() -> (World, Arc<Book>) {
    let world = World::new(&servers(&["a"], ""));
    world.fake("a").publish(r#"{"tools":[{"name":"x"}]}"#);
    let book = Arc::new(Book::default());
    world.gateway.observers().add(Arc::clone(&book) as Arc<dyn Observer>);
    (world, book)
}

fn requester() -> Arc<Requester> {
    Arc::new(Requester::new(Principal::Token("ci".into()), None))
}

async fn check(reply: Result<Raw, Failure>, expected: Expect) {
    let (world, book) = world();
    world.fake("a").holds();
    let (exchange, asked) = Asked::open_by(Some(requester()));
    world.gateway.dispatch(call("tools/call", r#"{"name":"a__x"}"#), exchange);
    let (_, held) = world.fake("a").held().pop().unwrap();
    assert_eq!(held.number(), NonZeroU64::new(1), "the other hop knows it by the same number");
    tokio::time::advance(Duration::from_millis(5)).await;
    held.finish(reply);
    let _ = asked.reply.await;
    expected.assert_eq(&book.take());
}

#[tokio::test(start_paused = true)]
async fn a_call_leaves_one_record_however_it_ends() {
    check(
        Ok(raw(r#"{"content":[]}"#)),
        expect![[r#"
            1 began: token:ci tools/call 15 bytes
            1 ended: Some(("a", Some("x"))) Result 14 bytes, 5ms"#]],
    )
    .await;
    check(
        Ok(raw(r#"{"isError":true,"content":[]}"#)),
        expect![[r#"
            1 began: token:ci tools/call 15 bytes
            1 ended: Some(("a", Some("x"))) ToolError 29 bytes, 5ms"#]],
    )
    .await;
    check(
        Err(Failure::Peer(raw(r#"{"code":1,"message":"no"}"#))),
        expect![[r#"
            1 began: token:ci tools/call 15 bytes
            1 ended: Some(("a", Some("x"))) ServerError 25 bytes, 5ms"#]],
    )
    .await;
    let fault = Fault::Died { server: "a".to_owned(), tool: None, reason: "gone".to_owned() };
    check(
        Err(fault.into()),
        expect![[r#"
            1 began: token:ci tools/call 15 bytes
            1 ended: Some(("a", Some("x"))) Fault("died") 0 bytes, 5ms"#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_and_one_answered_here_are_recorded_too() {
    let (world, book) = world();
    world.fake("a").holds();
    let (exchange, asked) = Asked::open_by(None);
    world.gateway.dispatch(call("tools/call", r#"{"name":"a__x"}"#), exchange);
    asked.flight.cancel(None);
    drop(world.fake("a").held());
    expect![[r#"
        1 began: gateway tools/call 15 bytes
        1 ended: Some(("a", Some("x"))) Cancelled 0 bytes, 0ns"#]]
    .assert_eq(&book.take());
    let (exchange, _asked) = Asked::open_by(None);
    world.gateway.dispatch(call("ping", "{}"), exchange);
    expect![[r#"
        2 began: gateway ping 2 bytes
        2 ended: None Result 2 bytes, 0ns"#]]
    .assert_eq(&book.take());
}

#[tokio::test(start_paused = true)]
async fn whoever_no_longer_watches_hears_of_no_more_calls() {
    let (world, book) = world();
    let observer = Arc::clone(&book) as Arc<dyn Observer>;
    world.gateway.observers().remove(&observer);
    assert!(!world.gateway.observers().is_watched());
    let (exchange, asked) = Asked::open_by(None);
    assert_eq!(exchange.number(), None);
    world.gateway.dispatch(call("ping", "{}"), exchange);
    asked.reply.await.unwrap().unwrap();
    assert_eq!(book.take(), "");
}

/// Keeps which rule turned each call away.
#[derive(Default)]
struct Refusals(Mutex<Vec<Option<Box<str>>>>);

impl Observer for Refusals {
    fn ended(&self, _: &CallRecord, end: &CallEnd) {
        self.0.lock().unwrap().push(end.refused_by.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn the_rule_that_turns_a_call_away_is_told() {
    let world = World::new(
        r#"{"mcpServers":{"a":{"builtin":"time","deniedTools":["hidden"]},"b":{"builtin":"time"}},
            "limits":{"rate":[{"per":"tool","match":"a/x","limit":1,"window":10},
                              {"per":"server","match":"b","limit":1,"window":10}]}}"#,
    );
    world.fake("a").publish(r#"{"tools":[{"name":"x"},{"name":"hidden"}]}"#);
    world.fake("b").publish(r#"{"prompts":[{"name":"p"}]}"#);
    let refusals = Arc::new(Refusals::default());
    world.gateway.observers().add(Arc::clone(&refusals) as Arc<dyn Observer>);
    for (method, params) in [
        ("tools/call", r#"{"name":"a__x"}"#),
        ("tools/call", r#"{"name":"a__x"}"#),
        ("tools/call", r#"{"name":"a__hidden"}"#),
        ("tools/call", r#"{"name":"a__nobodys"}"#),
        ("prompts/get", r#"{"name":"b__p"}"#),
        ("prompts/get", r#"{"name":"b__p"}"#),
    ] {
        let (exchange, asked) = Asked::open_by(Some(requester()));
        world.gateway.dispatch(call(method, params), exchange);
        let _ = asked.reply.await;
    }
    let told = refusals.0.lock().unwrap();
    let told: Vec<&str> = told.iter().map(|rule| rule.as_deref().unwrap_or("-")).collect();
    expect![[r#"
        -
        `limits.rate`: 1 in 10s per tool
        `deniedTools` of server 'a' names 'hidden'
        -
        -
        `limits.rate`: 1 in 10s per server"#]]
    .assert_eq(&told.join("\n"));
}
