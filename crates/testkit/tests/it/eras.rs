//! The fakes in each era, seen by the scripted clients.

use manifold_testkit::modern::{self, REVISION};
use manifold_testkit::{Client, Era, HttpCaller, HttpFake, Sandbox, Style, until};
use serde_json::{Value, json};

use crate::{SOON, start, text, tools};

const ALL: [&str; 9] = ["echo", "sleep", "progress", "ask", "log", "addtool", "update", "fail", "endlisten"];

fn able() -> Value {
    json!({"elicitation": {}, "roots": {}})
}

fn modern(sandbox: &Sandbox, era: &str) -> Client {
    let knobs = json!({
        "era": era, "name": "alpha", "tools": tools(&ALL), "runs": sandbox.path("runs"),
        "resources": [{"uri": "a://1", "name": "one"}], "prompts": [{"name": "p"}], "log": sandbox.path("log"),
    });
    let mut client = start(sandbox, knobs);
    client.speak_modern(able());
    client
}

fn runs(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.path("runs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_modern_server_discovers_lists_and_calls() {
    for era in ["modern", "dual"] {
        let sandbox = Sandbox::new();
        let mut client = modern(&sandbox, era);
        let found = client.ask("server/discover", json!({}));
        let versions =
            if era == "dual" { json!(["2025-06-18", "2025-11-25", REVISION]) } else { json!([REVISION]) };
        assert_eq!(found["result"]["supportedVersions"], versions);
        assert_eq!(found["result"]["capabilities"]["resources"]["subscribe"], true);
        assert_eq!(client.tool_names(), ALL);
        assert_eq!(text(&client.call("echo", json!({"text": "hello"}))), "hello");
        assert_eq!(client.ask("ping", json!({}))["error"]["code"], -32601);
        assert_eq!(client.ask("resources/read", json!({"uri": "c://"}))["error"]["code"], -32602);
        assert_eq!(runs(&sandbox), ["echo run"]);
    }
}

#[test]
fn a_modern_server_refuses_what_is_not_marked() {
    let sandbox = Sandbox::new();
    let mut client = start(&sandbox, json!({"era": "modern"}));
    let refused = client.initialize("2025-11-25", json!({}));
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"]["supported"], json!([REVISION]));
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32602);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2027-01-01"});
    assert_eq!(client.ask("tools/list", json!({"_meta": meta}))["error"]["code"], -32022);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": REVISION});
    assert_eq!(client.ask("tools/list", json!({"_meta": meta}))["error"]["code"], -32602);
}

#[test]
fn a_dual_server_takes_both_in_any_order() {
    let sandbox = Sandbox::new();
    let mut client = start(&sandbox, json!({"era": "dual"}));
    assert_eq!(client.initialize("2025-11-25", json!({}))["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(client.tool_names(), ["echo"]);
    client.speak_modern(json!({}));
    assert_eq!(client.tool_names(), ["echo"]);
}

#[test]
fn questions_are_asked_in_rounds() {
    let sandbox = Sandbox::new();
    let mut client = modern(&sandbox, "modern");
    client.answer(|method, params| Ok(json!({"action": "accept", "content": {"to": [method, params]}})));
    let also = json!([{"method": "roots/list"}]);
    let question =
        json!({"method": "elicitation/create", "params": {"message": "?"}, "rounds": 2, "also": also});
    let answer = text(&client.call("ask", question)).to_owned();
    assert_eq!(answer, r#"{"action":"accept","content":{"to":["elicitation/create",{"message":"?"}]}}"#);
    assert_eq!(runs(&sandbox), ["ask run", "ask retry", "ask retry"]);
    let asked = sandbox.received("log", "tools/call");
    assert_eq!(asked[1]["params"]["inputResponses"].as_object().map(|answers| answers.len()), Some(2));
    let refused = client.call("ask", json!({"method": "sampling/createMessage", "params": {}}));
    assert_eq!(refused["error"]["code"], -32021);
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
}

#[test]
fn only_who_listens_hears_of_changes() {
    let sandbox = Sandbox::new();
    let mut client = modern(&sandbox, "modern");
    client.call("addtool", json!({"name": "one"}));
    assert_eq!(client.notifications(), [] as [Value; 0]);
    let id = client.listen(json!({"toolsListChanged": true, "resourceSubscriptions": ["a://1"]}));
    client.call("addtool", json!({"name": "two"}));
    client.call("update", json!({"uri": "a://1"}));
    client.call("update", json!({"uri": "a://2"}));
    let told = client.notifications();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|told| *modern::tag_of(told) == json!(id)));
    client.call("endlisten", json!({}));
    assert_eq!(client.wait_for(id, SOON)["result"]["resultType"], "complete");
    let id = client.listen(json!({"toolsListChanged": true}));
    client.notify("notifications/cancelled", json!({"requestId": id}));
    client.call("addtool", json!({"name": "three"}));
    assert_eq!(client.notifications(), [] as [Value; 0]);
}

#[test]
fn log_lines_come_to_who_asks_for_them() {
    let sandbox = Sandbox::new();
    let mut client = modern(&sandbox, "modern");
    client.call("log", json!({"data": "unheard"}));
    client.set_log_level("warning");
    client.call("log", json!({"data": "too low"}));
    client.call("log", json!({"data": "heard", "level": "error"}));
    let told: Vec<Value> = client.notifications().iter().map(|told| told["params"]["data"].clone()).collect();
    assert_eq!(told, ["heard"]);
}

#[test]
fn two_kinds_of_legacy_servers_cannot_bear_the_probe() {
    let sandbox = Sandbox::new();
    let mut client = start(&sandbox, json!({"era": "dies-on-discover"}));
    client.request("server/discover", json!({}));
    assert_eq!(client.wait_exit(SOON).code(), Some(3));
    let mut client = start(&sandbox, json!({"era": "silent-on-discover"}));
    let probe = client.request("server/discover", json!({}));
    assert_eq!(client.initialize("2025-11-25", json!({}))["result"]["protocolVersion"], "2025-11-25");
    assert!(client.notifications().iter().all(|message| message["id"] != probe));
}

fn at(era: Era, style: Style) -> (HttpFake, HttpCaller) {
    let fake = HttpFake::start_as(era, style, &ALL);
    fake.with_library();
    let caller = HttpCaller::new(fake.port(), "/mcp", able());
    (fake, caller)
}

#[test]
fn a_modern_server_over_http() {
    for (era, style) in [(Era::Modern, Style::Json), (Era::Dual, Style::Events)] {
        let (fake, caller) = at(era, style);
        let said = caller.ask("server/discover", json!({}));
        let versions = said["result"]["supportedVersions"].as_array().unwrap();
        assert!(versions.contains(&json!(REVISION)), "{said}");
        assert_eq!(versions.contains(&json!("2025-11-25")), era == Era::Dual, "{said}");
        assert_eq!(caller.ask("tools/list", json!({}))["result"]["tools"][0]["name"], "echo");
        let called = caller.ask("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}));
        assert_eq!(text(&called), "hi");
        let read = caller.ask("resources/read", json!({"uri": "b://é"}));
        assert_eq!(read["result"]["contents"][0]["text"], "contents of b://é from http-fake");
        assert_eq!(caller.open("ping", json!({})).status, 404);
        assert_eq!(fake.ran().len(), 1);
        assert_eq!(fake.received("tools/call")[0].header("mcp-name"), Some("echo"));
    }
}

#[test]
fn headers_must_say_what_the_body_says() {
    let (fake, caller) = at(Era::Modern, Style::Json);
    let schema =
        json!({"type": "object", "properties": {"where": {"type": "string", "x-mcp-header": "Where"}}});
    fake.set_tools(&[json!({"name": "echo", "inputSchema": schema})]);
    assert!(caller.ask("tools/call", json!({"name": "echo"}))["error"].is_null());
    let refused = caller.ask("tools/call", json!({"name": "echo", "arguments": {"where": "here"}}));
    assert_eq!(refused["error"]["code"], -32020);
}

#[test]
fn closing_the_stream_cancels() {
    let (fake, caller) = at(Era::Modern, Style::Events);
    drop(caller.open("tools/call", json!({"name": "sleep", "arguments": {"ms": 60_000}})));
    assert!(until(SOON, || fake.hung_up().len() == 1));
    let mut news = caller.open("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let first = news.message().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert!(until(SOON, || fake.listeners() == 1));
    caller.ask("tools/call", json!({"name": "addtool", "arguments": {"name": "new"}}));
    assert_eq!(news.message().unwrap()["method"], "notifications/tools/list_changed");
    drop(news);
    assert!(until(SOON, || fake.listeners() == 0));
}
