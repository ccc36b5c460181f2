//! The grid: every front end with every kind of server, each in its eras, held to one list of expectations.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use manifold_engine::Lock as _;
use std::collections::VecDeque;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Era, HttpFake, Sandbox, Style, fake, until};
use serde_json::{Value, json};

use crate::grid_clients::{Front, Peer, answer};

const SOON: Duration = Duration::from_secs(60);
const TOOLS: [&str; 8] = ["echo", "fail", "progress", "log", "ask", "sleep", "addtool", "update"];

/// A kind of server behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    StdioLegacy,
    StdioModern,
    StdioDual,
    HttpLegacy,
    HttpModern,
    HttpDual,
    OldSse,
    Time,
}

const BACKS: [Back; 8] = [
    Back::StdioLegacy,
    Back::StdioModern,
    Back::StdioDual,
    Back::HttpLegacy,
    Back::HttpModern,
    Back::HttpDual,
    Back::OldSse,
    Back::Time,
];

impl Back {
    /// Returns whether a call of this front end reaches it in the newest revision. Callers that have no session, and say
    /// nothing of themselves, are spoken for in that.
    fn is_modern_to(self, front: Front) -> bool {
        match self {
            Self::StdioModern | Self::HttpModern => true,
            Self::StdioDual | Self::HttpDual => front.is_modern() || front == Front::Api,
            Self::StdioLegacy | Self::HttpLegacy | Self::OldSse | Self::Time => false,
        }
    }
}

/// What is expected of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    Lists,
    Call,
    ErrorResult,
    UnknownTool,
    Progress,
    Log,
    Elicitation,
    Read,
    NotFound,
    Prompt,
    Completion,
    Cancellation,
    ListChanged,
    Updated,
}

type Expectation = (Feature, fn(&mut Cell));

const EXPECTATIONS: [Expectation; 14] = [
    (Feature::Lists, lists),
    (Feature::Call, a_call),
    (Feature::ErrorResult, an_error_result),
    (Feature::UnknownTool, an_unknown_tool),
    (Feature::Progress, progress),
    (Feature::Log, a_log_line),
    (Feature::Elicitation, an_elicitation),
    (Feature::Read, a_resource),
    (Feature::NotFound, no_such_resource),
    (Feature::Prompt, a_prompt),
    (Feature::Completion, a_completion),
    (Feature::Cancellation, a_cancellation),
    // Changes come last: they change the lists.
    (Feature::Updated, an_update),
    (Feature::ListChanged, a_changed_list),
];

/// Says why a cell cannot have a feature. What is not here must hold.
fn cannot(front: Front, back: Back, feature: Feature) -> Option<&'static str> {
    use Feature::{
        Call, Cancellation, Elicitation, ErrorResult, ListChanged, Lists, Log, Progress, UnknownTool, Updated,
    };
    match (front, back, feature) {
        (_, Back::Time, Lists | Call | ErrorResult | UnknownTool) => None,
        (_, Back::Time, _) => Some("the built-in server has tools that answer at once, and nothing else"),
        (Front::Api, _, Progress | Log | Elicitation | Cancellation | ListChanged | Updated) => {
            Some("one request, one answer: there is no way for anything else")
        }
        _ => None,
    }
}

struct Cell {
    front: Front,
    back: Back,
    peer: Box<dyn Peer>,
    sandbox: Sandbox,
    remote: Option<HttpFake>,
}

impl Cell {
    fn start(front: Front, back: Back) -> Self {
        let sandbox = Sandbox::new();
        let remote = |era: Era| {
            let fake = HttpFake::start_as(era, Style::Events, &TOOLS);
            fake.with_library();
            fake
        };
        let local = |era: &str| {
            fake(json!({
                "name": "fake", "era": era, "log": sandbox.path("log"), "runs": sandbox.path("runs"),
                "tools": TOOLS.map(|name| json!({"name": name})),
                "resources": [{"uri": "a://1", "name": "one"}],
                "resourceTemplates": [{"uriTemplate": "b://{id}", "name": "b"}],
                "prompts": [{"name": "p", "arguments": [{"name": "x"}]}],
            }))
        };
        let (server, remote) = match back {
            Back::StdioLegacy => (Some(local("legacy")), None),
            Back::StdioModern => (Some(local("modern")), None),
            Back::StdioDual => (Some(local("dual")), None),
            Back::HttpLegacy | Back::OldSse => (None, Some(remote(Era::Legacy))),
            Back::HttpModern => (None, Some(remote(Era::Modern))),
            Back::HttpDual => (None, Some(remote(Era::Dual))),
            Back::Time => (None, None),
        };
        let server = match (server, &remote) {
            (Some(server), _) => Some(server),
            (None, Some(fake)) if back == Back::OldSse => Some(json!({"type": "sse", "url": fake.sse_url()})),
            (None, Some(fake)) => Some(json!({"url": fake.url()})),
            (None, None) => None,
        };
        let config = server.map(|server| json!({"mcpServers": {"s": server}}));
        let peer = front.connect(&sandbox, config.as_ref());
        Self { front, back, peer, sandbox, remote }
    }

    /// Returns the names of what is listed.
    fn listed(&mut self, method: &str, list: &str, key: &str) -> Vec<String> {
        let response = self.peer.ask(method, json!({}));
        let Some(items) = response["result"][list].as_array() else { panic!("no {list}: {response}") };
        items.iter().filter_map(|item| Some(item[key].as_str()?.to_owned())).collect()
    }

    /// Returns how often a tool was run from its start.
    fn runs(&self, tool: &str) -> usize {
        match &self.remote {
            Some(fake) => {
                let is_first = |params: &&Value| params["name"] == tool && params["requestState"].is_null();
                fake.ran().iter().filter(is_first).count()
            }
            None => {
                let runs = std::fs::read_to_string(self.sandbox.path("runs")).unwrap_or_default();
                runs.lines().filter(|line| *line == format!("{tool} run")).count()
            }
        }
    }

    /// Tells whether the server knows that a call was called off.
    fn is_cancelled(&self) -> bool {
        match (&self.remote, self.back) {
            (Some(fake), back) if back.is_modern_to(self.front) => {
                fake.hung_up().iter().any(|params| params["name"] == "sleep")
            }
            (Some(fake), _) => !fake.received("notifications/cancelled").is_empty(),
            (None, _) => !self.sandbox.received("log", "notifications/cancelled").is_empty(),
        }
    }
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn lists(cell: &mut Cell) {
    let tools = cell.listed("tools/list", "tools", "name");
    if cell.back == Back::Time {
        assert!(tools.contains(&"time__get_current_time".to_owned()), "{tools:?}");
        return;
    }
    let wanted = TOOLS.map(|tool| format!("s__{tool}"));
    assert!(wanted.iter().all(|tool| tools.contains(tool)), "{tools:?}");
    assert_eq!(cell.listed("resources/list", "resources", "uri"), ["a://1"]);
    assert_eq!(cell.listed("resources/templates/list", "resourceTemplates", "uriTemplate"), ["b://{id}"]);
    assert_eq!(cell.listed("prompts/list", "prompts", "name"), ["s__p"]);
}

fn a_call(cell: &mut Cell) {
    if cell.back == Back::Time {
        let response = cell.peer.call("time__get_current_time", json!({"timezone": "UTC"}));
        assert_eq!(response["result"]["structuredContent"]["timezone"], "UTC", "{response}");
        return;
    }
    let response = cell.peer.call("s__echo", json!({"text": "hello é"}));
    assert_eq!(text(&response), "hello é", "{response}");
    assert_eq!(response["result"]["isError"], Value::Null);
    // Marks belong to one era and go no further.
    assert_eq!(response["result"]["resultType"].is_null(), !cell.front.is_modern(), "{response}");
    assert_eq!(cell.runs("echo"), 1);
}

fn an_error_result(cell: &mut Cell) {
    let response = match cell.back {
        Back::Time => cell.peer.call("time__get_current_time", json!({"timezone": "Mars/Olympus"})),
        _ => cell.peer.call("s__fail", json!({"text": "no luck"})),
    };
    assert_eq!(response["result"]["isError"], true, "{response}");
    let wanted = if cell.back == Back::Time { "Mars/Olympus" } else { "no luck" };
    assert!(text(&response).contains(wanted), "{response}");
}

fn an_unknown_tool(cell: &mut Cell) {
    let server = if cell.back == Back::Time { "time" } else { "s" };
    let response = cell.peer.call(&format!("{server}__no_such_tool"), json!({}));
    let code = if cell.front.is_modern() { -32602 } else { -32601 };
    assert_eq!(response["error"]["code"], code, "{response}");
}

fn progress(cell: &mut Cell) {
    let params =
        json!({"name": "s__progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "tick"}});
    let response = cell.peer.ask("tools/call", params);
    assert_eq!(text(&response), "3 steps", "{response}");
    for step in 1..=3 {
        let told = cell.peer.hear("notifications/progress", SOON).unwrap_or_default();
        assert_eq!(told["params"], json!({"progressToken": "tick", "progress": step, "total": 3}), "{told}");
    }
}

fn a_log_line(cell: &mut Cell) {
    cell.peer.set_log_level("info");
    let response = cell.peer.call("s__log", json!({"data": "a line"}));
    assert_eq!(text(&response), "logged", "{response}");
    let told = cell.peer.hear("notifications/message", SOON).unwrap_or_default();
    assert_eq!(told["params"]["data"], "a line", "{told}");
}

fn an_elicitation(cell: &mut Cell) {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"message": "Who?", "requestedSchema": schema});
    let response = cell.peer.call("s__ask", json!({"method": "elicitation/create", "params": params}));
    let said: Value = serde_json::from_str(text(&response)).unwrap_or_default();
    assert_eq!(said, answer(), "{response}");
    assert_eq!(cell.runs("ask"), 1, "the tool's work was done once");
}

fn a_resource(cell: &mut Cell) {
    for uri in ["a://1", "b://2"] {
        let response = cell.peer.ask("resources/read", json!({"uri": uri}));
        let contents = &response["result"]["contents"][0];
        assert_eq!(contents["uri"], uri, "{response}");
        assert!(contents["text"].as_str().is_some_and(|text| text.contains(uri)), "{response}");
    }
}

fn no_such_resource(cell: &mut Cell) {
    // The number was retired, so a modern client never sees it; a server's own number passes otherwise.
    let is_retired = cell.front.is_modern() || cell.back.is_modern_to(cell.front);
    let code = if is_retired { -32602 } else { -32002 };
    let response = cell.peer.ask("resources/read", json!({"uri": "a://nowhere"}));
    assert_eq!(response["error"]["code"], code, "{response}");
    // L16: nobody has anything of this scheme, so nobody is asked and the number is ours.
    let code = if cell.front.is_modern() { -32602 } else { -32002 };
    let response = cell.peer.ask("resources/read", json!({"uri": "c://nowhere"}));
    assert_eq!(response["error"]["code"], code, "{response}");
}

fn a_prompt(cell: &mut Cell) {
    let response = cell.peer.ask("prompts/get", json!({"name": "s__p", "arguments": {"x": "1"}}));
    let said = response["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert!(said.starts_with("prompt p of ") && said.ends_with(r#"{"x":"1"}"#), "{response}");
}

fn a_completion(cell: &mut Cell) {
    let reference = json!({"type": "ref/prompt", "name": "s__p"});
    let argument = json!({"name": "x", "value": "v"});
    let response = cell.peer.ask("completion/complete", json!({"ref": reference, "argument": argument}));
    assert_eq!(response["result"]["completion"]["values"], json!(["v-a", "v-b"]), "{response}");
}

fn a_cancellation(cell: &mut Cell) {
    let params = json!({"name": "s__sleep", "arguments": {"ms": 60_000}});
    let id = cell.peer.begin("tools/call", params);
    assert!(until(SOON, || cell.runs("sleep") == 1), "the call did not arrive");
    cell.peer.cancel(id);
    assert!(until(SOON, || cell.is_cancelled()), "the server was not told");
}

/// Does something until it is heard of: a subscription may take a moment to reach the server.
fn hear_of(cell: &mut Cell, method: &str, mut change: impl FnMut(&mut Cell)) -> Value {
    let end = Instant::now() + SOON;
    while Instant::now() < end {
        change(cell);
        if let Some(told) = cell.peer.hear(method, Duration::from_millis(300)) {
            return told;
        }
    }
    panic!("{method} was not heard of")
}

fn an_update(cell: &mut Cell) {
    cell.peer.subscribe("a://1");
    let told = hear_of(cell, "notifications/resources/updated", |cell| {
        cell.peer.call("s__update", json!({"uri": "a://1"}));
    });
    assert_eq!(told["params"]["uri"], "a://1", "{told}");
}

fn a_changed_list(cell: &mut Cell) {
    let mut added = 0;
    hear_of(cell, "notifications/tools/list_changed", |cell| {
        added += 1;
        cell.peer.call("s__addtool", json!({"name": format!("new{added}")}));
    });
    // The list may still be read when the news of an earlier change comes.
    let is_there = || cell.listed("tools/list", "tools", "name").contains(&"s__new1".to_owned());
    assert!(until(SOON, is_there), "the new tool is not listed");
}

/// Runs one cell and returns what does not hold there.
fn check(front: Front, back: Back) -> Vec<String> {
    let mut failures = Vec::new();
    let mut fail = |feature: &dyn std::fmt::Debug, panic: Box<dyn std::any::Any + Send>| {
        let why = panic.downcast_ref::<String>().map(String::as_str);
        let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        let why: String = why.chars().take(1000).collect();
        failures.push(format!("{front:?} x {back:?}: {feature:?}: {why}"));
    };
    let mut cell = match catch_unwind(|| Cell::start(front, back)) {
        Ok(cell) => cell,
        Err(panic) => {
            fail(&"start", panic);
            return failures;
        }
    };
    for (feature, expectation) in EXPECTATIONS {
        if cannot(front, back, feature).is_none()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| expectation(&mut cell)))
        {
            fail(&feature, panic);
            // Where not even lists come, nothing else will, and each would wait its whole time.
            if feature == Feature::Lists {
                break;
            }
        }
    }
    failures
}

/// Returns the cells to check: each front end and each kind of server once, across eras, or the whole grid where there is
/// time.
fn cells() -> VecDeque<(Front, Back)> {
    let whole = Front::ALL.into_iter().flat_map(|front| BACKS.map(|back| (front, back)));
    if std::env::var_os("MANIFOLD_LONG").is_some() {
        return whole.collect();
    }
    let is_crossing = |at: usize| (at / BACKS.len() + 1) % BACKS.len() == at % BACKS.len();
    whole.enumerate().filter(|(at, _)| is_crossing(*at)).map(|(_, cell)| cell).collect()
}

#[test]
fn every_front_end_serves_every_kind_of_server() {
    let began = Instant::now();
    let cells: VecDeque<(Front, Back)> = cells();
    let count = cells.len();
    let cells = Mutex::new(cells);
    let next = || cells.locked().pop_front();
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((front, back)) = next() {
                    let found = check(front, back);
                    failures.locked().extend(found);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    println!("{count} cells in {:?}", began.elapsed());
    let mut report = String::new();
    for failure in &failures {
        let _ = writeln!(report, "{failure}");
    }
    assert!(failures.is_empty(), "{} of the grid's expectations do not hold:\n{report}", failures.len());
}
