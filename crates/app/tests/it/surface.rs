//! The whole legacy surface through two servers: what passes, under which label, and back.

mod notifications;
mod questions;

use std::fs;
use std::time::Duration;

use manifold_testkit::{Client, Sandbox, fake, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, studio_with, text_of};

const SOON: Duration = Duration::from_secs(60);

/// Two servers with everything a server can have; their messages are in `alpha.log` and `beta.log`.
fn two_servers(sandbox: &Sandbox) -> Value {
    let server = |name: &str, resource: &str| {
        let tools = [
            "echo", "sleep", "progress", "ask", "log", "update", "addtool", "droptool", "weird", "emit",
            "flood",
        ];
        let tools: Vec<Value> = tools.iter().map(|tool| json!({"name": tool})).collect();
        fake(json!({
            "name": name, "tools": tools, "log": sandbox.path(&format!("{name}.log")),
            "resources": [
                {"uri": resource, "name": "own", "mimeType": "text/plain", "annotations": {"priority": 0.5}},
                {"uri": "file:///shared", "name": "shared"},
            ],
            "resourceTemplates": [{"uriTemplate": format!("{name}://item/{{id}}"), "name": "items"}],
            "prompts": [{"name": "greet", "description": "Greets", "arguments": [{"name": "who", "required": true}]}],
            "instructions": format!("Use {name} with care."),
        }))
    };
    json!({"mcpServers": {"alpha": server("alpha", "file:///a.txt"), "beta": server("beta", "file:///b.txt")}})
}

fn names(response: &Value, list: &str, key: &str) -> Vec<String> {
    let Some(items) = response["result"][list].as_array() else { panic!("no {list} in {response}") };
    items.iter().filter_map(|item| Some(item[key].as_str()?.to_owned())).collect()
}

fn last(sandbox: &Sandbox, log: &str, method: &str) -> Value {
    sandbox.received(log, method).pop().unwrap_or_default()
}

// S0-8, decision 22
#[test]
fn resources_are_listed_and_read_from_their_owners() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let list = client.ask("resources/list", json!({}));
    let uris = names(&list, "resources", "uri");
    // The first in the config keeps the address that both claim.
    assert_eq!(uris, ["file:///a.txt", "file:///shared", "file:///b.txt", "beta+file:///shared"]);
    assert_eq!(list["result"]["resources"][0]["annotations"], json!({"priority": 0.5}));
    for (uri, owner, original) in [
        ("file:///a.txt", "alpha", "file:///a.txt"),
        ("file:///b.txt", "beta", "file:///b.txt"),
        ("file:///shared", "alpha", "file:///shared"),
        ("beta+file:///shared", "beta", "file:///shared"),
    ] {
        let contents = client.ask("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        assert_eq!(contents["uri"], uri);
        assert_eq!(contents["text"], format!("contents of {original} from {owner}"));
    }
}

#[test]
fn resources_can_be_read_before_any_list() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let read = client.ask("resources/read", json!({"uri": "file:///b.txt"}));
    assert_eq!(read["result"]["contents"][0]["text"], "contents of file:///b.txt from beta");
}

#[test]
fn templates_are_listed_and_lead_to_their_owner() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let list = client.ask("resources/templates/list", json!({}));
    assert_eq!(names(&list, "resourceTemplates", "uriTemplate"), ["alpha://item/{id}", "beta://item/{id}"]);
    let read = client.ask("resources/read", json!({"uri": "beta://item/7"}));
    assert_eq!(read["result"]["contents"][0]["text"], "contents of beta://item/7 from beta");
    assert!(sandbox.received("alpha.log", "resources/read").is_empty(), "only the owner is asked");
}

// Decision 14
#[test]
fn an_unknown_resource_is_not_found() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let error = client.ask("resources/read", json!({"uri": "file:///nowhere"}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!("file:///nowhere")));
    assert_eq!(client.ask("resources/read", json!({}))["error"]["code"], -32602);
}

// L16: it went to the first server in the config.
#[test]
fn a_resource_that_nobody_claims_reaches_no_server() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    for (method, uri) in [
        ("resources/read", "mail://1"),
        ("resources/subscribe", "mail://1"),
        ("resources/read", "alphabet://x"),
    ] {
        let error = client.ask(method, json!({"uri": uri}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!(uri)), "{error}");
    }
    client.ask("resources/read", json!({"uri": "file:///a.txt"}));
    assert_eq!(sandbox.received("alpha.log", "resources/read").len(), 1, "the one that is listed");
    for (log, method) in [
        ("alpha.log", "resources/subscribe"),
        ("beta.log", "resources/read"),
        ("beta.log", "resources/subscribe"),
    ] {
        assert_eq!(sandbox.received(log, method), [Value::Null; 0], "{log} {method}");
    }
}

// T7: `denyByDefault` still served resources and prompts. Both eras, and nothing reaches a server.
#[test]
fn deny_by_default_covers_resources_prompts_and_completion() {
    for modern in [false, true] {
        let sandbox = Sandbox::new();
        let mut config = two_servers(&sandbox);
        config["namespaces"] = json!([{"id": "n", "serverIds": ["alpha", "beta"], "denyByDefault": true}]);
        config["toolPermissions"] = json!([
            {"namespace": "n", "server": "beta", "promptName": "greet", "enabled": true},
            {"namespace": "n", "server": "beta", "resourceUri": "file:///b.txt", "enabled": true},
            {"namespace": "n", "server": "beta", "resourceUri": "beta://item/{id}", "enabled": true},
        ]);
        let mut client = sandbox.serve(&config, &["--namespace", "n"]);
        if modern {
            client.speak_modern(json!({}));
        } else {
            client.initialize("2025-11-25", json!({}));
        }
        let lists = [
            ("resources/list", "resources", "uri", "file:///b.txt"),
            ("prompts/list", "prompts", "name", "beta__greet"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", "beta://item/{id}"),
        ];
        for (method, list, key, only) in lists {
            assert_eq!(names(&client.ask(method, json!({})), list, key), [only]);
        }
        let complete = |name: &str| json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "who", "value": ""}});
        let hidden = [
            ("resources/read", json!({"uri": "file:///a.txt"})),
            ("resources/read", json!({"uri": "file:///shared"})),
            ("resources/read", json!({"uri": "file:///unlisted"})),
            ("resources/read", json!({"uri": "alpha://item/7"})),
            ("prompts/get", json!({"name": "alpha__greet"})),
            ("completion/complete", complete("alpha__greet")),
            ("tools/call", json!({"name": "alpha__echo", "arguments": {}})),
        ];
        for (method, params) in hidden {
            let error = client.ask(method, params.clone())["error"].clone();
            assert!(
                error["message"].as_str().is_some_and(|text| text.contains("not found")),
                "{params}: {error}"
            );
        }
        for (method, params) in [
            ("resources/read", json!({"uri": "file:///b.txt"})),
            ("resources/read", json!({"uri": "beta://item/7"})),
            ("prompts/get", json!({"name": "beta__greet", "arguments": {"who": "x"}})),
        ] {
            let answer = client.ask(method, params);
            assert!(answer["error"].is_null(), "{answer}");
        }
        for method in ["resources/read", "prompts/get", "completion/complete", "tools/call"] {
            assert_eq!(sandbox.received("alpha.log", method), [Value::Null; 0], "{method}");
        }
        assert_eq!(sandbox.received("beta.log", "resources/read").len(), 2);
    }
}

#[test]
fn subscriptions_reach_the_owner_and_updates_come_back() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.ask("resources/list", json!({}));
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "beta+file:///shared"}))["result"], json!({}));
    assert_eq!(last(&sandbox, "beta.log", "resources/subscribe")["params"]["uri"], "file:///shared");
    assert!(sandbox.received("alpha.log", "resources/subscribe").is_empty());
    client.call("beta.update", json!({"uri": "file:///shared"}));
    let told = client.wait_for_notification("notifications/resources/updated", SOON);
    assert_eq!(told["params"], json!({"uri": "beta+file:///shared"}), "under the address the client knows");
    assert_eq!(
        client.ask("resources/unsubscribe", json!({"uri": "beta+file:///shared"}))["result"],
        json!({})
    );
    assert_eq!(last(&sandbox, "beta.log", "resources/unsubscribe")["params"]["uri"], "file:///shared");
}

// S1-30: a restarted server is told again what its predecessor knew
#[test]
fn a_restarted_server_hears_of_level_and_subscriptions_again() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.ask("resources/subscribe", json!({"uri": "file:///a.txt"}));
    client.ask("logging/setLevel", json!({"level": "warning"}));
    client.call("mcp-studio.servers_restart", json!({"server_id": "alpha"}));
    assert!(until(SOON, || sandbox.received("alpha.log", "resources/subscribe").len() == 2));
    assert!(until(SOON, || sandbox.received("alpha.log", "logging/setLevel").len() == 2));
    assert_eq!(last(&sandbox, "alpha.log", "logging/setLevel")["params"], json!({"level": "warning"}));
}

// S0-9
#[test]
fn prompts_are_listed_with_their_server_and_fetched_by_either_name() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let got = client.ask("prompts/get", json!({"name": "beta.greet", "arguments": {"who": "you"}}));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], r#"prompt greet of beta with {"who":"you"}"#);
    let list = client.ask("prompts/list", json!({}));
    assert_eq!(names(&list, "prompts", "name"), ["alpha.greet", "beta.greet"]);
    assert_eq!(list["result"]["prompts"][0]["arguments"], json!([{"name": "who", "required": true}]));
    let error = client.ask("prompts/get", json!({"name": "nobody"}))["error"].clone();
    assert_eq!(error, json!({"code": -32602, "message": "Prompt 'nobody' not found"}));
    assert_eq!(client.ask("prompts/get", json!({"name": "greet"}))["error"]["code"], -32602, "two have it");
}

#[test]
fn completion_goes_to_the_owner_of_its_reference() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let argument = json!({"name": "who", "value": "x"});
    let prompt = json!({"ref": {"type": "ref/prompt", "name": "beta.greet"}, "argument": argument});
    let completed = client.ask("completion/complete", prompt);
    assert_eq!(completed["result"]["completion"]["values"], json!(["x-a", "x-b"]));
    let asked = last(&sandbox, "beta.log", "completion/complete");
    assert_eq!(asked["params"]["ref"], json!({"type": "ref/prompt", "name": "greet"}));
    let template = json!({"ref": {"type": "ref/resource", "uri": "alpha://item/{id}"}, "argument": argument});
    assert_eq!(client.ask("completion/complete", template)["result"]["completion"]["total"], 2);
    assert_eq!(
        last(&sandbox, "alpha.log", "completion/complete")["params"]["ref"]["uri"],
        "alpha://item/{id}"
    );
    for params in
        [json!({}), json!({"ref": {"type": "ref/odd"}}), json!({"ref": {"type": "ref/prompt", "name": "no"}})]
    {
        assert_eq!(client.ask("completion/complete", params.clone())["error"]["code"], -32602, "{params}");
    }
}

#[test]
fn the_log_level_reaches_every_server_also_those_started_later() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.call("alpha.echo", json!({}));
    assert!(until(SOON, || !sandbox.received("alpha.log", "prompts/list").is_empty()), "alpha is listed");
    assert_eq!(client.ask("logging/setLevel", json!({"level": "error"}))["result"], json!({}));
    assert!(until(SOON, || sandbox.received("alpha.log", "logging/setLevel").len() == 1));
    client.call("beta.echo", json!({}));
    assert!(until(SOON, || sandbox.received("beta.log", "logging/setLevel").len() == 1));
    assert_eq!(last(&sandbox, "beta.log", "logging/setLevel")["params"], json!({"level": "error"}));
    for params in [json!({"level": "loud"}), json!({}), json!({"level": 3})] {
        assert_eq!(client.ask("logging/setLevel", params)["error"]["code"], -32602);
    }
    // Messages pass as they are.
    client.call("beta.log", json!({"level": "error", "data": {"deep": [1, 2]}}));
    let told = client.wait_for_notification("notifications/message", SOON);
    assert_eq!(told["params"], json!({"level": "error", "logger": "beta", "data": {"deep": [1, 2]}}));
}

// F13: every page is read, and pages that never end are given up
#[test]
fn pages_are_drained_whatever_their_cursors() {
    for (knobs, ends) in [
        (json!({"pages": 4}), true),
        (json!({"pages": 3, "emptyCursor": true}), true),
        (json!({"pages": 3, "cyclicCursor": true}), false),
        (json!({"pages": 3, "cyclicCursor": true, "emptyCursor": true}), false),
        (json!({"pages": 2, "endlessCursor": true}), false),
    ] {
        let sandbox = Sandbox::new();
        let tools: Vec<String> = (0..11).map(|n| format!("tool{n:02}")).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let mut more = knobs.clone();
        more["log"] = json!(sandbox.path("alpha.log"));
        let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&tools, more)}}));
        let seen = |client: &mut Client| {
            let names = client.tool_names();
            names.into_iter().filter(|name| name.starts_with("alpha.")).collect::<Vec<_>>()
        };
        let expected: Vec<String> = tools.iter().map(|tool| format!("alpha.{tool}")).collect();
        // An endless list takes its time; it must end all the same.
        assert!(until(SOON, || seen(&mut client) == expected), "{knobs}");
        let pages = sandbox.received("alpha.log", "tools/list").len();
        assert!(pages <= 1000, "{knobs}: {pages} pages");
        let warned = || client.stderr().contains("the list does not end");
        assert!(if ends { !warned() } else { until(SOON, warned) }, "{knobs}: {}", client.stderr());
        eprintln!("F13: {knobs}: {pages} pages");
    }
}

// S1-23: known only once a server has spoken
#[test]
fn instructions_are_merged_where_known() {
    let sandbox = Sandbox::new();
    let mut config = two_servers(&sandbox);
    config["mcpServers"]["time"] = json!({"builtin": "time"});
    let mut client = sandbox.serve(&config, &["--profile", "mcp-studio"]);
    let response = client.initialize("2025-06-18", json!({}));
    assert_eq!(response["result"].get("instructions"), None, "nobody has been asked yet");
    // Servers hear who the client is.
    client.call("alpha.echo", json!({}));
    assert_eq!(last(&sandbox, "alpha.log", "initialize")["params"]["clientInfo"]["name"], "testkit");
    let initialized = || !sandbox.received("alpha.log", "notifications/initialized").is_empty();
    assert!(until(SOON, initialized), "and that the handshake is over");
}

// S1-42: payloads are parcels
#[test]
fn results_keep_their_bytes() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    for raw in [
        r#"{"z":1.0,"a":1e400,"content":[ {"type":"text","text":"\u0041\/\u00e9é"} ],"content":[],"nested":{"k":1,"k":2}}"#,
        r#"{"structuredContent":{"big":123456789012345678901234567890,"neg":-0,"exp":1E+2},"isError":false,"_meta":{"x":null}}"#,
        r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource_link","uri":"x:y"},{"type":"new-kind"}]}"#,
        "{}",
        "[1,2]",
        "null",
        r#""text""#,
        "{ \"spaced\" :\t1 }",
    ] {
        let id = client.request("tools/call", json!({"name": "alpha.weird", "arguments": {"raw": raw}}));
        let frame = client.recv_raw(SOON).expect("an answer");
        let text = String::from_utf8(frame).expect("UTF-8");
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{raw}}}"#));
    }
}

// S1-42: and so do arguments
#[test]
fn arguments_keep_their_bytes() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.tool_names();
    let arguments = r#"{"z":1.0,"a":1e400,"s":"\u0041\/\ud83d\ude00é","n":{"k":1,"k":2},"big":123456789012345678901234567890}"#;
    client.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{{"extra":true,"name":"alpha.echo","arguments":{arguments},"_meta":{{"x.y/z":[1.50]}}}}}}"#
    ));
    client.wait_for("b", SOON);
    let log = fs::read_to_string(sandbox.path("alpha.log")).expect("a log");
    let sent = format!(
        r#""params":{{"extra":true,"name":"echo","arguments":{arguments},"_meta":{{"x.y/z":[1.50]}}}}"#
    );
    assert!(log.contains(&sent), "only the name differs: {log}");
}

// A server that does not speak of a kind is not asked for it
#[test]
fn servers_are_asked_only_for_what_they_declare() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("alpha.log");
    let mut client =
        studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["echo"], json!({"log": log}))}}));
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        assert!(client.ask(method, json!({}))["result"].is_object(), "{method}");
    }
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        assert!(sandbox.received("alpha.log", method).is_empty(), "{method}");
    }
}
