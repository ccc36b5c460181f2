//! S1-17 to S1-22 and decisions 6 to 10: the names clients see, and the way back from each.

use std::time::Duration;

use manifold_testkit::{Client, Sandbox, bin, until};
use serde_json::{Value, json};

use crate::studio::{fake_with, studio, text_of};

/// Returns the entry of a fake server whose tools keep their bytes.
fn raw_fake(tools: &str) -> Value {
    json!({"command": bin("fake-server"), "args": [format!(r#"{{"tools":[{tools}]}}"#)]})
}

/// Starts the gateway under a profile and shakes hands.
fn serve(sandbox: &Sandbox, profile: &str, config: &Value) -> Client {
    let mut client = sandbox.serve(config, &["--profile", profile]);
    assert_eq!(client.initialize("2025-06-18", json!({}))["error"], Value::Null);
    client
}

/// Returns the listed tools without the manager's.
fn tools(client: &mut Client) -> Vec<String> {
    let names = client.tool_names().into_iter();
    names.filter(|name| !name.starts_with("mcp-studio.") && !name.starts_with("manifold__")).collect()
}

fn is_portable(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

// S1-17, S1-18, S1-20
#[test]
fn tools_are_flat_with_the_id_in_the_name_and_the_name_in_the_description() {
    let sandbox = Sandbox::new();
    let mut files = raw_fake(
        r#"{"name":"read","description":"Reads"},{"name":"bare"},{"name":"empty","description":""}"#,
    );
    files["name"] = json!("Filesystem");
    let config =
        json!({"servers": {"a1b2": files, "c3d4": raw_fake(r#"{"name":"log","description":"Logs"}"#)}});
    let mut client = studio(&sandbox, &config);
    let list = client.ask("tools/list", json!({}));
    let shown: Vec<(&str, &str)> = list["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| Some((tool["name"].as_str()?, tool["description"].as_str()?)))
        .filter(|(name, _)| !name.starts_with("mcp-studio."))
        .collect();
    let expected = [
        ("a1b2.read", "[Filesystem] Reads"),
        ("a1b2.bare", "[Filesystem]"),
        ("a1b2.empty", "[Filesystem]"),
        ("c3d4.log", "[c3d4] Logs"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(list["result"].get("nextCursor"), None, "decision 18: everything on one page");
}

// S1-19: schemas, annotations and whatever else keep their bytes
#[test]
fn everything_but_name_and_description_is_untouched() {
    let sandbox = Sandbox::new();
    let rest = r##""title":"R\u00e9ad","inputSchema":{"type":"object","z":1.0,"a":1e400,"properties":{"p":{"enum":["\/","x"],"enum":2}},"$ref":"#x","anyOf":[{}]},"outputSchema":{"type":"object","b":-0,"a":true},"annotations":{"readOnlyHint":true,"new":[1, 2]},"_meta":{"ui":{"resourceUri":"ui://x"}},"icons":[{"src":"data:,"}]"##;
    let entry = raw_fake(&format!(r#"{{"name":"read","description":"Reads",{rest}}}"#));
    let mut client = studio(&sandbox, &json!({"servers": {"alpha": entry}}));
    let id = client.request("tools/list", json!({}));
    let frame = client.recv_raw(Duration::from_secs(60)).expect("the list");
    let text = String::from_utf8(frame).expect("UTF-8");
    assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":["#)));
    assert!(
        text.contains(&format!(r#"{{"name":"alpha.read","description":"[alpha] Reads",{rest}}}"#)),
        "{text}"
    );
}

// S1-22, decision 9: no exposed id holds a dot
#[test]
fn an_id_with_a_dot_is_made_safe() {
    let sandbox = Sandbox::new();
    let config = json!({"servers": {
        "a.b": fake_with(&["echo"], json!({})),
        "my server": fake_with(&["echo"], json!({})),
        "plain": fake_with(&["echo"], json!({})),
    }});
    let mut client = studio(&sandbox, &config);
    // `_` and the first 8 hex digits of SHA-256("a.b") and SHA-256("my server").
    let names = tools(&mut client);
    assert_eq!(names, ["a_b_2e7336dc.echo", "my_server_b129874b.echo", "plain.echo"]);
    for name in &names {
        assert_eq!(text_of(&client.call(name, json!({"text": name}))), name);
    }
    let list = client.ask("tools/list", json!({}));
    assert_eq!(list["result"]["tools"][0]["description"], "[a.b]");
}

// Decision 6: one is advertised, three are understood
#[test]
fn routing_understands_every_separator() {
    for (profile, advertised) in [("mcp-studio", "."), ("manifold", "__"), ("mcps-proxy", "-")] {
        let sandbox = Sandbox::new();
        let config = json!({"mcpServers": {
            "web-search": fake_with(&["web__find", "x.y-z"], json!({"name": "W"})),
            "beta": fake_with(&["echo"], json!({"name": "B"})),
        }});
        let mut client = serve(&sandbox, profile, &config);
        // Before any list is known...
        assert_eq!(text_of(&client.call("web-search-web__find", json!({"text": "1"}))), "1");
        let names = tools(&mut client);
        assert!(names.contains(&format!("web-search{advertised}web__find")), "{profile}: {names:?}");
        // ...and after.
        for separator in ["__", ".", "-"] {
            for tool in ["web__find", "x.y-z"] {
                let name = format!("web-search{separator}{tool}");
                assert_eq!(text_of(&client.call(&name, json!({"text": "2"}))), "2", "{profile} {name}");
            }
        }
        // An unambiguous bare name will do.
        assert_eq!(text_of(&client.call("web__find", json!({"text": "3"}))), "3");
        assert_eq!(text_of(&client.call("x.y-z", json!({"text": "4"}))), "4");
    }
}

// Decision 6: never split at the first separator
#[test]
fn the_longest_id_wins_unless_only_a_shorter_one_has_the_tool() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "a": fake_with(&["b-echo", "pid", "b__only"], json!({"log": sandbox.path("a.log")})),
        "a-b": fake_with(&["echo", "pid"], json!({"log": sandbox.path("ab.log")})),
    }});
    let mut client = serve(&sandbox, "manifold", &config);
    tools(&mut client);
    client.call("a-b.echo", json!({}));
    assert_eq!(sandbox.received("ab.log", "tools/call").len(), 1, "the longer id");
    client.call("a__b__only", json!({}));
    client.call("a-b__only", json!({}));
    let calls = sandbox.received("a.log", "tools/call");
    let called: Vec<&Value> = calls.iter().map(|call| &call["params"]["name"]).collect();
    assert_eq!(called, ["b__only", "b__only"], "the only one who has it");
    // Exact advertised names come first.
    assert_eq!(client.call("a__b-echo", json!({}))["error"], Value::Null);
    assert_eq!(sandbox.received("a.log", "tools/call").len(), 3);
    // A bare name that two servers have is nobody's.
    assert_eq!(client.call("pid", json!({}))["error"]["code"], -32601);
}

// Decision 7: what does not fit is made safe and ends in the hash of its origin
#[test]
fn names_are_portable_stable_and_reversible() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(80);
    let originals = ["plain", "read file", "a.b", "a_b", "搜索", long.as_str()];
    let config =
        json!({"mcpServers": {"alpha": fake_with(&originals, json!({"log": sandbox.path("a.log")}))}});
    // 8 hex digits of SHA-256("alpha", NUL, original).
    let expected = [
        "alpha__plain".to_owned(),
        "alpha__read_file_54e14e74".to_owned(),
        "alpha__a_b_c0c0bc93".to_owned(),
        "alpha__a_b".to_owned(),
        "alpha_____2c506159".to_owned(),
        format!("alpha__{}_1cca3f0b", "x".repeat(64 - 7 - 9)),
    ];
    let mut client = serve(&sandbox, "manifold", &config);
    let names = tools(&mut client);
    assert_eq!(names, expected);
    assert!(names.iter().all(|name| is_portable(name)));
    drop(client);
    // A new session: the same names, and they work before any list was asked for.
    let mut client = serve(&sandbox, "manifold", &config);
    for (name, original) in expected.iter().zip(originals) {
        assert_eq!(text_of(&client.call(name, json!({"text": name}))), name);
        let calls = sandbox.received("a.log", "tools/call");
        assert_eq!(calls.last().expect("a call")["params"]["name"], original);
    }
}

// Decision 7: with `.` dots are kept, as S1 asks; a dot is allowed nowhere else
#[test]
fn dots_in_tool_names_stay_only_with_the_dot_separator() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"alpha": fake_with(&["a.b"], json!({}))}});
    let mut client = studio(&sandbox, &config);
    assert_eq!(tools(&mut client), ["alpha.a.b"]);
    assert_eq!(text_of(&client.call("alpha.a.b", json!({"text": "x"}))), "x");
}

// Decision 7
#[test]
fn the_length_limit_can_be_set() {
    let sandbox = Sandbox::new();
    let config = json!({"maxNameLength": 20, "mcpServers": {"alpha": fake_with(&["0123456789012", "01234567890123"], json!({}))}});
    let mut client = serve(&sandbox, "manifold", &config);
    let names = tools(&mut client);
    assert_eq!(names[0], "alpha__0123456789012", "20 fit");
    assert_eq!(names[1].len(), 20);
    assert!(names[1].starts_with("alpha__0123_"), "{names:?}");
    assert_eq!(text_of(&client.call(&names[1], json!({"text": "x"}))), "x");
}

// Decision 7
#[test]
fn an_empty_separator_shows_bare_names() {
    let sandbox = Sandbox::new();
    let config = json!({"separator": "", "managerTools": false, "mcpServers": {"alpha": fake_with(&["echo", "ping"], json!({}))}});
    let mut client = serve(&sandbox, "manifold", &config);
    assert_eq!(tools(&mut client), ["echo", "ping"]);
    assert_eq!(text_of(&client.call("echo", json!({"text": "x"}))), "x");
    assert_eq!(text_of(&client.call("alpha__echo", json!({"text": "x"}))), "x");
}

// Decision 8: `a`+`b-c` = `a-b`+`c`
#[test]
fn a_clash_is_settled_in_config_order_and_both_are_told() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {
        "a": fake_with(&["b-c"], json!({"log": sandbox.path("a.log")})),
        "a-b": fake_with(&["c"], json!({"log": sandbox.path("ab.log")})),
    }});
    let mut client = serve(&sandbox, "mcps-proxy", &config);
    // 8 hex digits of SHA-256("a-b", NUL, "c").
    assert_eq!(tools(&mut client), ["a-b-c", "a-b-c_695274f6"]);
    client.call("a-b-c", json!({}));
    assert_eq!(sandbox.received("a.log", "tools/call").len(), 1);
    client.call("a-b-c_695274f6", json!({}));
    assert_eq!(sandbox.received("ab.log", "tools/call").len(), 1);
    let said = || {
        let log = client.stderr();
        let warning =
            log.lines().find(|line| line.contains("two servers claim one tool name")).map(str::to_owned);
        warning.is_some_and(|line| {
            line.contains("WARN") && line.contains("first=a ") && line.contains("second=a-b ")
        })
    };
    assert!(until(manifold_testkit::client::PATIENCE, said), "{}", client.stderr());
}

// T8: a naive replacement would merge `a.b` and `a_b` and run the wrong one
#[test]
fn similar_names_lead_to_different_tools() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"alpha": fake_with(&["a.b", "a_b", "a b", "A_B"], json!({"log": sandbox.path("a.log")}))}});
    let mut client = serve(&sandbox, "manifold", &config);
    let names = tools(&mut client);
    for name in &names {
        client.call(name, json!({}));
    }
    let calls = sandbox.received("a.log", "tools/call");
    let called: Vec<&Value> = calls.iter().map(|call| &call["params"]["name"]).collect();
    assert_eq!(called, ["a.b", "a_b", "a b", "A_B"]);
}

// Decision 8: one server listing a tool twice
#[test]
fn a_tool_listed_twice_counts_once() {
    let sandbox = Sandbox::new();
    let entry = raw_fake(
        r#"{"name":"echo","description":"first"},{"name":"echo","description":"second"},{"name":"sleep"}"#,
    );
    let mut client = studio(&sandbox, &json!({"servers": {"alpha": entry}}));
    assert_eq!(tools(&mut client), ["alpha.echo", "alpha.sleep"]);
    let list = client.ask("tools/list", json!({}));
    assert_eq!(list["result"]["tools"][0]["description"], "[alpha] first");
}

// Decision 12
#[test]
fn names_that_lead_nowhere_say_so() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"alpha": fake_with(&["echo"], json!({}))}});
    let mut client = studio(&sandbox, &config);
    tools(&mut client);
    let error = |client: &mut Client, name: &str| client.call(name, json!({}))["error"].clone();
    let known_server = json!({"code": -32601, "message": "Tool 'nope' not found on server 'alpha'",
        "data": {"serverId": "alpha", "service": "alpha", "toolName": "nope"}});
    assert_eq!(error(&mut client, "alpha.nope"), known_server);
    let unknown_server = error(&mut client, "beta.echo");
    assert_eq!(unknown_server["code"], -32000);
    assert_eq!(unknown_server["data"], json!({"serverId": "beta", "toolName": "echo"}));
    let bare = json!({"code": -32601, "message": "Tool 'nonexistent_tool' not found"});
    assert_eq!(error(&mut client, "nonexistent_tool"), bare);
    assert_eq!(error(&mut client, "mcp-studio.nope")["code"], -32601);
    for params in [json!({}), json!({"name": 7}), json!({"name": null}), Value::Null] {
        assert_eq!(client.ask("tools/call", params.clone())["error"]["code"], -32602, "{params}");
    }
    // MCP knows no positional parameters.
    assert_eq!(client.ask("tools/call", json!(["alpha.echo"]))["error"]["code"], -32600);
}
