//! HTTP archive 1.2: one entry for each request, on the clients' hop, or on the servers' where clients' is not recorded.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::exchange::{Exchange, Outcome, Side, exchanges};
use crate::reader::Recorded;

pub(super) fn write(recorded: &Recorded) -> String {
    let mut found = exchanges(recorded, &Side::Client);
    if found.is_empty() {
        let mut servers: Vec<&String> = recorded.frames().filter_map(|frame| frame.server.as_ref()).collect();
        servers.sort();
        servers.dedup();
        found = servers.into_iter().flat_map(|id| exchanges(recorded, &Side::Server(id.clone()))).collect();
        found.sort_by_key(|exchange| exchange.n);
    }
    let began = recorded.frames().next().map_or(0, |frame| frame.t);
    let entries: Vec<Value> =
        found.iter().map(|exchange| entry(exchange, &recorded.header.started, began)).collect();
    let creator = json!({"name": "manifold", "version": recorded.header.manifold});
    let archive = json!({"log": {"version": "1.2", "creator": creator, "entries": entries}});
    format!("{archive}\n")
}

fn entry(exchange: &Exchange, started: &str, began: u64) -> Value {
    let wall: Timestamp = started.parse().unwrap_or_default();
    let since = i64::try_from(exchange.t.saturating_sub(began)).unwrap_or(i64::MAX);
    let at = wall.checked_add(SignedDuration::from_nanos(since)).unwrap_or(wall);
    let milliseconds = exchange.took as f64 / 1e6;
    let name = exchange.tool.as_ref().map(|tool| format!("/{tool}")).unwrap_or_default();
    let sent = exchange.params.as_ref().map_or("", |params| params.get());
    let (status, words, got) = match &exchange.outcome {
        Some(Outcome::Result(result)) => (200, "OK", result.get()),
        Some(Outcome::Error(error)) => (500, "Error", error.get()),
        None => (0, "", ""),
    };
    json!({
        "startedDateTime": at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        "time": milliseconds,
        "request": {
            "method": "POST",
            "url": format!("mcp://{}/{}{name}", exchange.server.as_deref().unwrap_or("gateway"), exchange.method),
            "httpVersion": "MCP",
            "cookies": [],
            "headers": [],
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": sent},
            "headersSize": -1,
            "bodySize": sent.len(),
        },
        "response": {
            "status": status,
            "statusText": words,
            "httpVersion": "MCP",
            "cookies": [],
            "headers": [],
            "content": {"size": got.len(), "mimeType": "application/json", "text": got},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": got.len(),
        },
        "cache": {},
        "timings": {"send": 0, "wait": milliseconds, "receive": 0},
        "_call": exchange.call,
        "_frame": exchange.n,
    })
}
