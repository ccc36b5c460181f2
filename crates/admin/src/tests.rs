//! The JSON form: every type comes back as it was written, whatever a newer gateway adds.

pub(crate) mod example;
mod papers;
mod schemas;

use std::fmt::Debug;

use expect_test::expect;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use example::{call, failed_server, problem, server_id, snapshot};

/// Writes a value and reads it back, also with members in it that nobody knows.
fn check_round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let written = serde_json::to_value(&value).expect("it can be written");
    assert_eq!(serde_json::from_value::<T>(written.clone()).expect("it can be read"), value);
    if let Value::Object(mut members) = written {
        members.insert("addedLater".to_owned(), json!({"deep": [1, null]}));
        let newer = Value::Object(members);
        assert_eq!(serde_json::from_value::<T>(newer).expect("more can be read"), value);
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it can be read")
}

#[test]
fn a_snapshot_and_its_parts_come_back() {
    let whole = snapshot();
    whole.servers.iter().cloned().for_each(check_round_trip);
    whole.servers.iter().flat_map(|server| server.instances.clone()).for_each(check_round_trip);
    whole.servers.iter().for_each(|server| check_round_trip(server.target.clone()));
    whole.namespaces.iter().cloned().for_each(check_round_trip);
    whole.clients.iter().cloned().for_each(check_round_trip);
    check_round_trip(whole.gateway.clone());
    check_round_trip(whole.config.clone());
    check_round_trip(whole.at);
    check_round_trip(Saved { era: Some(Era::Dual), tools: Some(2), age_ms: Some(1) });
    check_round_trip(Calls { in_flight: Some(1), total: Some(2), ..Calls::default() });
    check_round_trip(whole);
}

#[test]
fn every_event_comes_back() {
    let client = Box::new(snapshot().clients[0].clone());
    let report = ReloadReport {
        added: vec![server_id("new")],
        unchanged: 2,
        problems: vec![problem()],
        ..ReloadReport::default()
    };
    let ended =
        CallEnded { call: call(), outcome: CallOutcome::ToolError, took_us: 1234, response_bytes: Some(9) };
    let all = [
        Happening::Server { server: Box::new(failed_server()) },
        Happening::Catalog { namespace: None, lists: Lists { tools: 3, ..Lists::default() } },
        Happening::Client { change: ClientChange::Came, client },
        Happening::Config { change: ConfigChange::Reloaded { report } },
        Happening::Config { change: ConfigChange::Refused { why: "line 3".to_owned() } },
        Happening::Call { call: CallStage::Began(call()) },
        Happening::Call { call: CallStage::Ended(ended) },
        Happening::Reset,
    ];
    for (seq, happening) in (1..).zip(all) {
        assert_eq!(json!(happening)["kind"], happening.kind());
        check_round_trip(Event { seq, happening });
    }
}

#[test]
fn every_command_outcome_and_error_comes_back() {
    let server = server_id("git");
    let all = [
        Command::Start { server: server.clone() },
        Command::Stop { server: server.clone() },
        Command::Restart { server: server.clone() },
        Command::Refresh { server: server.clone() },
        Command::Enable { server: server.clone() },
        Command::Disable { server: server.clone() },
        Command::Reload,
        Command::SetPermission {
            namespace: "work".to_owned(),
            server: server.clone(),
            item: ItemKind::Tool,
            name: "push".to_owned(),
            allow: Some(false),
        },
        Command::Disconnect { client: 3 },
    ];
    all.into_iter().for_each(check_round_trip);
    check_round_trip(Outcome::Done);
    check_round_trip(Outcome::Server { server: Box::new(failed_server()) });
    check_round_trip(Outcome::Reloaded { report: ReloadReport::default() });
    let error = CommandError {
        hint: Some("see its log".to_owned()),
        server: Some(server),
        ..CommandError::new(ErrorCode::FailedToStart, "it ended at once")
    };
    assert_eq!(error.to_string(), "it ended at once; see its log");
    check_round_trip(ErrorBody { error });
}

#[test]
fn what_is_told_of_a_call_keeps_its_bytes() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("it is JSON");
    let odd = "{\"b\": 1.0,\n \"a\":1e2}";
    let all = [
        AskEvent::Progress { params: raw(odd) },
        AskEvent::Question {
            id: "q1".to_owned(),
            server: Some("git".to_owned()),
            method: "elicitation/create".to_owned(),
            params: Some(raw(odd)),
        },
        AskEvent::Withdrawn { id: "q1".to_owned() },
        AskEvent::Result { result: raw(odd) },
        AskEvent::Error { error: CommandError::new(ErrorCode::TimedOut, "too late") },
    ];
    for event in all {
        let (name, data) = event.to_sse();
        assert_eq!(data.contains(odd), !["withdrawn", "error"].contains(&name), "{data}");
        let read = AskEvent::from_sse(name, &data).expect("it can be read");
        assert_eq!(read.to_sse(), (name, data));
    }
    assert!(AskEvent::from_sse("weather", "{}").is_none());
    let call = r#"{"name":"t","arguments":{"b":1.0},"timeoutMs":5,"client":{"cwd":"/","values":{"A":"s"}}}"#;
    let call: CallRequest = serde_json::from_str(call).expect("it can be read");
    assert_eq!(call.arguments.as_ref().map(|raw| raw.get()), Some(r#"{"b":1.0}"#));
    assert_eq!(call.how.timeout_ms, Some(5));
    assert!(!format!("{call:?}").contains("\"s\""), "variables are secrets");
}

#[test]
fn words_of_a_newer_gateway_are_read_as_other() {
    let server: Server = read(json!({
        "id": "git", "state": "hibernating", "kind": "carrier-pigeon", "start": "weekly", "sharing": "half",
        "target": {"type": "loft", "street": "High"}, "error": {"reason": "moulting", "text": "feathers"},
    }));
    assert_eq!((server.state, server.kind, server.start), (State::Other, Kind::Other, Start::Other));
    assert_eq!((server.sharing, server.target), (Sharing::Other, Target::Other));
    assert_eq!(server.error.map(|error| error.reason), Some(Reason::Other));
    let event: Event = read(json!({"seq": 9, "kind": "weather", "rain": {"mm": 3}}));
    assert_eq!(event, Event { seq: 9, happening: Happening::Other });
    let event: Event = read(json!({"seq": 9, "kind": "config", "change": {"type": "eaten", "by": "dog"}}));
    assert_eq!(event.happening, Happening::Config { change: ConfigChange::Other });
    assert_eq!(read::<Command>(json!({"command": "explode", "fuse": 3})), Command::Other);
    assert_eq!(read::<Outcome>(json!({"outcome": "boom"})), Outcome::Other);
    assert_eq!(read::<CommandError>(json!({"code": "ash", "message": "x"})).code, ErrorCode::Other);
    assert_eq!(read::<Principal>(json!({"type": "ghost", "of": "whom"})), Principal::Other);
    assert_eq!(read::<Era>(json!("late")), Era::Other);
    assert_eq!(read::<Format>(json!("runes")), Format::Other);
    assert_eq!(read::<ClientTransport>(json!("pigeon")), ClientTransport::Other);
}

#[test]
fn what_an_older_gateway_leaves_out_is_not_missed() {
    assert_eq!(read::<Snapshot>(json!({})), Snapshot::default());
    assert_eq!(read::<Instance>(json!({"state": "ready"})).state, State::Ready);
    assert_eq!(read::<Event>(json!({"seq": 1, "kind": "reset"})).happening, Happening::Reset);
}

#[test]
fn words_print_as_they_are_written_in_json() {
    let written = |value: Value| value.as_str().map(str::to_owned).unwrap_or_default();
    for state in [
        State::Idle,
        State::Starting,
        State::Ready,
        State::Failed,
        State::Stopped,
        State::Disabled,
        State::NeedsLogin,
        State::Other,
    ] {
        assert_eq!(written(json!(state)), state.as_str());
    }
    for kind in [Kind::Builtin, Kind::Stdio, Kind::Http, Kind::Sse, Kind::Litemcp, Kind::Other] {
        assert_eq!(written(json!(kind)), kind.as_str());
    }
    for start in [Start::Eager, Start::Lazy, Start::Manual, Start::Other] {
        assert_eq!(written(json!(start)), start.as_str());
    }
    for code in [
        ErrorCode::UnknownServer,
        ErrorCode::AmbiguousServer,
        ErrorCode::UnknownNamespace,
        ErrorCode::UnknownItem,
        ErrorCode::AmbiguousItem,
        ErrorCode::UnknownClient,
        ErrorCode::UnknownRoute,
        ErrorCode::BadRequest,
        ErrorCode::Denied,
        ErrorCode::Stale,
        ErrorCode::TimedOut,
        ErrorCode::ServerError,
        ErrorCode::FailedToStart,
        ErrorCode::SignIn,
        ErrorCode::SessionEnded,
        ErrorCode::ConfigRefused,
        ErrorCode::Unsupported,
        ErrorCode::ShuttingDown,
        ErrorCode::Busy,
        ErrorCode::Failed,
        ErrorCode::Other,
    ] {
        assert_eq!(written(json!(code)), code.as_str());
    }
    for era in [Era::Legacy, Era::Modern, Era::Dual, Era::Other] {
        assert_eq!(written(json!(era)), era.as_str());
    }
    for format in [Format::Embedded, Format::Schemas, Format::Servers, Format::McpServers, Format::Other] {
        assert_eq!(written(json!(format)), format.as_str());
    }
}

#[test]
fn a_cursor_is_epoch_and_number() {
    let cursor = Cursor { epoch: 0xfe, seq: 12 };
    assert_eq!(cursor.to_string(), "fe-12");
    assert_eq!("fe-12".parse(), Ok(cursor));
    for odd in ["", "12", "fe-", "-12", "zz-1", "fe-1x"] {
        assert_eq!(odd.parse::<Cursor>(), Err(NoCursor), "{odd}");
    }
}

#[test]
fn revisions_belong_to_an_era_by_their_date() {
    let era = |revision: &str| Protocol::of(revision).era;
    assert_eq!(era("2024-11-05"), Some(Era::Legacy));
    assert_eq!(era("2025-11-25"), Some(Era::Legacy));
    assert_eq!(era("2026-07-28"), Some(Era::Modern));
    assert_eq!(era("2027-01-01"), Some(Era::Modern));
    assert_eq!(era("LiteMCP 1"), None);
}

#[test]
fn a_problem_reads_like_a_compilers() {
    assert_eq!(problem().to_string(), "/etc/m.json:12: servers.git: no such program; install it");
    assert_eq!(Problem { what: "empty".to_owned(), ..Problem::default() }.to_string(), "empty");
}

#[test]
fn a_whole_snapshot_in_json() {
    let written = serde_json::to_string_pretty(&snapshot()).expect("it can be written");
    expect![[r#"
        {
          "at": "fe-12",
          "gateway": {
            "version": "0.1.0",
            "build": "abc123",
            "pid": 77,
            "uptimeMs": 9000000,
            "profile": "manifold",
            "listeners": [
              {
                "transport": "http",
                "address": "127.0.0.1:8080",
                "needsToken": true
              }
            ],
            "degraded": [
              {
                "part": "state",
                "why": "redis is away"
              }
            ]
          },
          "config": {
            "path": "/etc/m.json",
            "format": "mcpServers",
            "client": "Claude Desktop",
            "defaultNamespace": "work",
            "revision": "9c2f",
            "problems": [
              {
                "severity": "error",
                "file": "/etc/m.json",
                "line": 12,
                "place": "servers.git",
                "what": "no such program",
                "hint": "install it"
              }
            ],
            "refused": "line 3: a comma is missing"
          },
          "servers": [
            {
              "id": "git",
              "name": "Git",
              "exposedId": "git",
              "kind": "stdio",
              "target": {
                "type": "program",
                "command": "uvx",
                "arguments": 1
              },
              "enabled": true,
              "start": "eager",
              "sharing": "per-client",
              "env": [
                "GIT_TOKEN"
              ],
              "state": "failed",
              "sinceMs": 2000,
              "error": {
                "reason": "failed-to-start",
                "text": "Server 'git' failed to start: it ended at once",
                "hint": "see its log",
                "agoMs": 2000
              },
              "problems": [
                {
                  "severity": "error",
                  "file": "/etc/m.json",
                  "line": 12,
                  "place": "servers.git",
                  "what": "no such program",
                  "hint": "install it"
                }
              ],
              "saved": {
                "era": "legacy",
                "tools": 12,
                "ageMs": 3600000
              },
              "instances": [
                {
                  "key": "9c2f",
                  "client": 1,
                  "state": "failed",
                  "sinceMs": 2000,
                  "restarts": 0,
                  "failures": 3,
                  "retryInMs": 1500,
                  "error": {
                    "reason": "failed-to-start",
                    "text": "Server 'git' failed to start: it ended at once",
                    "hint": "see its log",
                    "agoMs": 2000
                  },
                  "lastError": {
                    "reason": "failed-to-start",
                    "text": "Server 'git' failed to start: it ended at once",
                    "hint": "see its log",
                    "agoMs": 2000
                  }
                }
              ]
            },
            {
              "schema": "main",
              "id": "github",
              "name": "GitHub",
              "exposedId": "github",
              "kind": "http",
              "target": {
                "type": "address",
                "origin": "https://api.example"
              },
              "enabled": true,
              "start": "lazy",
              "sharing": "shared",
              "headers": [
                "Authorization"
              ],
              "state": "ready",
              "unresponsive": true,
              "sinceMs": 7200000,
              "lists": {
                "tools": 41,
                "prompts": 2,
                "resources": 1,
                "templates": 1
              },
              "calls": {
                "inFlight": 2,
                "total": 1204,
                "failed": 2,
                "p50Us": 900,
                "p95Us": 4000
              },
              "signIn": {
                "state": "ready",
                "account": "default",
                "issuer": "login.example",
                "scopes": [
                  "read"
                ],
                "until": "2026-11-18T12:00:00Z",
                "lastRefresh": "2026-11-18T11:00:00Z",
                "store": "plain"
              },
              "instances": [
                {
                  "state": "ready",
                  "unresponsive": true,
                  "sinceMs": 7200000,
                  "pid": 4242,
                  "protocol": {
                    "revision": "2026-07-28",
                    "era": "modern"
                  },
                  "restarts": 1,
                  "failures": 0,
                  "lastError": {
                    "reason": "failed-to-start",
                    "text": "Server 'git' failed to start: it ended at once",
                    "hint": "see its log",
                    "agoMs": 9000000
                  },
                  "calls": {
                    "inFlight": 2,
                    "total": 1204,
                    "failed": 2,
                    "p50Us": 900,
                    "p95Us": 4000
                  }
                }
              ]
            }
          ],
          "namespaces": [
            {
              "id": "work",
              "name": "Work",
              "description": "What work needs",
              "enabled": true,
              "served": true,
              "servers": [
                {
                  "id": "git"
                }
              ],
              "lists": {
                "tools": 41,
                "prompts": 0,
                "resources": 0,
                "templates": 0
              },
              "clients": 1,
              "permissions": {
                "denyByDefault": true,
                "serverDefaults": {
                  "git": false
                },
                "tools": {
                  "allow": 3,
                  "deny": 1
                },
                "prompts": {
                  "allow": 0,
                  "deny": 0
                },
                "resources": {
                  "allow": 0,
                  "deny": 0
                }
              }
            }
          ],
          "clients": [
            {
              "id": 1,
              "principal": {
                "type": "token",
                "name": "laptop"
              },
              "name": "claude-code",
              "version": "2.1",
              "protocol": {
                "revision": "2025-11-25",
                "era": "legacy"
              },
              "transport": "http",
              "namespace": "work",
              "pid": 4711,
              "cwd": "/home/me/project",
              "shim": "0.1.0",
              "connectedMs": 60000,
              "callsInFlight": 1
            }
          ]
        }"#]]
    .assert_eq(&written);
}
