//! LiteMCP on both sides of the gateway.

use super::*;
use crate::front_door::spawn;
use crate::http_lifecycle::{Gateway, http_command};

/// Uses the sample client as a module: the tool, a call by its bare name and one that fails, as they came.
const ASK: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import client
with client.connect(json.loads(sys.argv[2])) as server:
    calls = [server.call(*arguments, tool="Calculator") for arguments in (("2", "3"), ("two", "3"))]
    print(json.dumps([server.tool(), *calls]))
"#;

fn ask(sandbox: &Sandbox, server: &Value) -> [Value; 3] {
    let mut command = sandbox.command("python3");
    command.args(["-B", "-c", ASK]).arg(examples().join("litemcp")).arg(server.to_string());
    let ran = run(command);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

// S4-8, S4-9, S4-11, decisions 27 and 28
#[test]
fn a_litemcp_client_calls_a_litemcp_server_through_the_gateway_unchanged() {
    let sandbox = Sandbox::new();
    let config = sandbox.write_config(&json!({"mcpServers": {"calc": calculator()}, "managerTools": false}));
    let direct = ask(&sandbox, &json!(["python3", "-B", examples().join("litemcp/calculator.py")]));
    let manifold = manifold_testkit::bin("manifold");
    let through = json!([manifold, "litemcp", "--tool", "calc__Calculator", "--config", config]);
    let [mut tool, called, failed] = ask(&sandbox, &through);
    assert_eq!(tool["name"], "calc__Calculator");
    tool["name"] = direct[0]["name"].clone();
    assert_eq!([tool, called, failed], direct);
    assert_eq!(direct[1]["response"]["content"][0], json!({"type": "number", "data": "5"}));
    assert_eq!(direct[2]["response"]["error"], true);
}

// The same over HTTP and over a WebSocket, where the client speaks with the gateway at an address.
#[test]
fn a_litemcp_client_at_an_address_gets_the_same_answers() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"calc": calculator()}, "managerTools": false});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let direct = ask(&sandbox, &json!(["python3", "-B", examples().join("litemcp/calculator.py")]));
    let [_, called, failed] = direct;
    let at =
        |scheme: &str, path: &str| json!(format!("{scheme}://127.0.0.1:{}/litemcp/{path}", gateway.port));
    for url in [at("http", "default/calc__Calculator"), at("ws", "default")] {
        let [tool, through, through_failed] = ask(&sandbox, &url);
        assert!(tool["name"].is_string(), "{tool}");
        assert_eq!((&through, &through_failed), (&called, &failed), "{url}");
    }
}

// Decision 24 meets decision 28: one gateway is a LiteMCP server to another, behind TLS and a token.
#[test]
fn a_gateway_reaches_another_over_tls() {
    let sandbox = Sandbox::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = sandbox.write("cert.pem", &made.cert.pem());
    let key = sandbox.write("key.pem", &made.signing_key.serialize_pem());
    let mut config = json!({"mcpServers": {"calc": calculator()}, "managerTools": false});
    config["server"] = json!({"token": TOKEN, "tls": {"cert": cert, "key": key}});
    let gateway = spawn(http_command(&sandbox, &config, &[]));
    let entry = |scheme: &str, path: &str| {
        let url = format!("{scheme}://localhost:{}/litemcp/default{path}", gateway.port);
        json!({"type": "litemcp", "url": url, "bearer_token_env_var": "CALC_TOKEN"})
    };
    let servers = json!({"one": entry("https", "/calc__Calculator"), "all": entry("wss", "")});
    let near = json!({"mcpServers": servers, "managerTools": false});
    let certificate = cert.to_str().unwrap();
    let here = Sandbox::new();
    let mut client = open_with(&here, &near, &[("CALC_TOKEN", TOKEN), ("SSL_CERT_FILE", certificate)]);
    assert!(until(SOON, || client.tool_names().len() == 2), "{}", client.stderr());
    assert_eq!(text_of(&add(&mut client, "one__calc__Calculator", json!("2"), json!("3"))), "5");
    let names = client.tool_names();
    let all = names.iter().find(|name| name.starts_with("all__")).unwrap();
    let arguments = json!({"tool": "calc__Calculator", "arguments": {"a": "2", "b": "3"}});
    let called = client.call(all, arguments);
    assert_eq!(text_of(&called), "5");
    assert_eq!(called["result"]["content"][0]["_meta"]["litemcp/type"], "number");
    assert!(!client.stderr().contains(TOKEN));
}
