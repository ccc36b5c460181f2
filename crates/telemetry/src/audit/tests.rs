use std::sync::{Arc, Mutex};

use manifold_engine::Outcome;
use serde_json::Value;

use super::*;
use crate::calls::tests::{end, record};

fn lines(payload: bool, calls: Vec<(CallRecord, CallEnd)>) -> Vec<Value> {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let taken = Arc::clone(&lines);
    let auditor = CallAuditor::new(payload, move |entry| taken.lock().unwrap().push(entry.line()));
    calls.iter().for_each(|(record, end)| auditor.ended(record, end));
    let lines = lines.lock().unwrap();
    lines.iter().map(|line| serde_json::from_str(line.strip_suffix('\n').unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn a_call_leaves_one_line_that_says_who_what_and_how() {
    let called = record(Method::ToolsCall, Some(("a", Some("x"))));
    let ended = CallEnd { body: Some(Raw::from_static(r#"{"content":[]}"#)), ..end(Outcome::Result, None) };
    let lines = lines(false, vec![(called, ended)]);
    let line = lines[0].as_object().unwrap();
    assert_eq!(lines.len(), 1);
    for (key, expected) in [
        ("seq", json!(1)),
        ("event", json!("call")),
        ("principal", json!("local")),
        ("client", json!({ "transport": "http", "name": "editor", "addr": "127.0.0.1" })),
        ("server", json!("a")),
        ("tool", json!("x")),
        ("exposed", json!("a__x")),
        ("decision", json!("allow")),
        ("outcome", json!("ok")),
        ("duration_us", json!(3000)),
        ("args_keys", json!(["path"])),
        ("args_bytes", json!(15)),
        ("result_bytes", json!(20)),
    ] {
        assert_eq!(line[key], expected, "{key}");
    }
    assert_eq!(line["args_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(line["id"].as_str().unwrap().as_bytes()[14], b'7', "a UUID of version 7");
    assert_eq!(line["ts"].as_str().unwrap().len(), "2026-01-01T00:00:00.000000Z".len());
    assert!(!line.contains_key("arguments") && !line.contains_key("result"));
}

#[tokio::test]
async fn payloads_are_there_when_they_are_wanted() {
    let called = record(Method::ToolsCall, Some(("a", Some("x"))));
    let ended = CallEnd { body: Some(Raw::from_static(r#"{"content":[]}"#)), ..end(Outcome::Result, None) };
    let line = &lines(true, vec![(called, ended)])[0];
    assert_eq!(
        (&line["arguments"], &line["result"]),
        (&json!(r#"{"path":"/tmp"}"#), &json!(r#"{"content":[]}"#))
    );
}

#[tokio::test]
async fn every_end_has_its_word() {
    let ends = [
        (Outcome::Result, None, "ok"),
        (Outcome::ToolError, None, "tool_error"),
        (Outcome::ServerError, Some(-32000), "rpc_error"),
        (Outcome::Fault("timed-out"), Some(-32002), "timeout"),
        (Outcome::Fault("died"), Some(-32603), "died"),
        (Outcome::Fault("rate-limited"), Some(-32603), "denied"),
        (Outcome::Cancelled, None, "cancelled"),
    ];
    let calls =
        ends.iter().map(|(outcome, code, _)| (record(Method::ToolsCall, None), end(outcome.clone(), *code)));
    let lines = lines(false, calls.collect());
    for (line, (_, _, word)) in lines.iter().zip(&ends) {
        assert_eq!(line["outcome"], json!(word));
    }
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn a_call_that_was_turned_away_says_by_which_rule() {
    for outcome in [Outcome::ToolError, Outcome::Fault("unknown-tool")] {
        let refused_by = Some("`limits.rate`: 1 in 10s per tool".into());
        let ended = CallEnd { refused_by, ..end(outcome, None) };
        let line = &lines(false, vec![(record(Method::ToolsCall, None), ended)])[0];
        assert_eq!((&line["decision"], &line["outcome"]), (&json!("deny"), &json!("denied")));
        assert_eq!(line["rule"], json!("`limits.rate`: 1 in 10s per tool"));
    }
}
