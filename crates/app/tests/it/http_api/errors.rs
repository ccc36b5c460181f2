//! S2-13 to S2-15: what cannot be done, and how that is said.

use super::*;

// S2-13: the seed's sample of an error
#[test]
fn s2_13_errors_are_objects_with_data() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox)})));
    for arguments in [json!({}), json!({"other": 1})] {
        let answer = post(
            gateway.port,
            "default",
            "tools/call",
            json!({"name": "filesystem-read_file", "arguments": arguments}),
        );
        let error = &answer["error"];
        assert_eq!(error["code"], -32602, "{answer}");
        assert!(error["message"].as_str().unwrap().starts_with("Invalid params"), "{answer}");
        assert_eq!(error["data"]["field"], "path", "{answer}");
        assert!(error["data"]["issue"].is_string(), "{answer}");
    }
    assert!(
        sandbox.received("filesystem.log", "tools/call").is_empty(),
        "nothing is sent that is known to be wrong"
    );
    end_quietly(gateway.client);
}

// S2-14, decision 21, trap (i)
#[test]
fn s2_14_every_code_has_its_case() {
    let sandbox = Sandbox::new();
    let servers = json!({
        "filesystem": filesystem(&sandbox),
        "locked": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${NO_SUCH_KEY}"}},
    });
    let gateway = mcps_proxy(&sandbox, &schema(servers));
    let cases = [
        (400, -32700, "nonsense", Value::Null),
        (400, -32700, "", Value::Null),
        (400, -32700, r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, Value::Null),
        (400, -32600, "[]", Value::Null),
        (400, -32600, "1", Value::Null),
        (400, -32600, r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (400, -32600, r#"{"jsonrpc":"2.0","id":4}"#, json!(4)),
        (400, -32600, r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
        (400, -32600, r#"{"jsonrpc":"2.0","id":5,"method":7}"#, json!(5)),
        (200, -32601, r#"{"jsonrpc":"2.0","id":0,"method":"no/such"}"#, json!(0)),
        (
            200,
            -32601,
            r#"{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"filesystem-nothing"}}"#,
            json!(""),
        ),
        (200, -32602, r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}"#, json!(8)),
        (
            200,
            -32602,
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"filesystem-read_file"}}"#,
            json!(9),
        ),
        (200, -32602, r#"{"jsonrpc":"2.0","id":10,"method":"resources/read","params":{}}"#, json!(10)),
        (200, -32602, r#"{"jsonrpc":"2.0","id":11,"method":"prompts/get"}"#, json!(11)),
        (
            200,
            -32603,
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"locked-x"}}"#,
            json!(12),
        ),
    ];
    for (status, code, body, id) in cases {
        let (got, answer) = http(gateway.port, "POST", "/api/default/mcp", body);
        assert_eq!(
            (got, &answer["error"]["code"], &answer["id"]),
            (status, &json!(code), &id),
            "{body}: {answer}"
        );
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["message"].is_string() && answer.get("result").is_none(), "{body}: {answer}");
        assert!(answer.as_object().unwrap().contains_key("id"), "{body}: {answer}");
    }
    end_quietly(gateway.client);
}

// S2-15
#[test]
fn s2_15_unknown_and_disabled_schemas_are_404_with_the_id() {
    let sandbox = Sandbox::new();
    let config = json!({"server": {"port": 0}, "schemas": {
        "default": {"mcpServers": {}},
        "off": {"enabled": false, "mcpServers": {"s": fake(json!({"pid": sandbox.path("off.pid")}))}},
    }});
    let gateway = mcps_proxy(&sandbox, &config);
    let paths = [
        ("unknown", "unknown"),
        ("off", "off"),
        ("Default", "Default"),
        ("a%2Fb%22", "a/b\""),
        ("..%2f", "../"),
    ];
    for (path, name) in paths {
        for (id, method) in [(json!(1), "tools/list"), (json!("x"), "initialize"), (json!(0), "ping")] {
            let body = json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string();
            let (status, answer) = http(gateway.port, "POST", &format!("/api/{path}/mcp"), &body);
            let error = json!({"code": 404, "message": format!("Schema '{name}' not found or disabled")});
            assert_eq!((status, answer), (404, json!({"jsonrpc": "2.0", "id": id, "error": error})));
        }
        let (status, answer) = http(gateway.port, "POST", &format!("/api/{path}/mcp"), "nonsense");
        assert_eq!((status, &answer["id"], &answer["error"]["code"]), (404, &Value::Null, &json!(404)));
    }
    assert!(!sandbox.path("off.pid").exists());
    end_quietly(gateway.client);
}

// Section 2.1: a route that is not there says which are
#[test]
fn other_routes_list_those_there_are() {
    let sandbox = Sandbox::new();
    let gateway = mcps_proxy(&sandbox, &schema(json!({})));
    for (method, path, expected) in [
        ("GET", "/nowhere", 404),
        ("POST", "/api/default", 404),
        ("GET", "/api/default/mcp/more", 404),
        ("GET", "/api/default/mcp", 405),
        ("POST", "/health", 405),
        ("PUT", "/api/status", 405),
    ] {
        let (status, body) = http(gateway.port, method, path, "");
        assert_eq!(status, expected, "{method} {path}: {body}");
        let endpoints = body["availableEndpoints"].as_array().unwrap_or_else(|| panic!("{body}"));
        for endpoint in ["GET /health", "GET /api/status", "POST /api/{schema}/mcp"] {
            assert!(endpoints.contains(&json!(endpoint)), "{body}");
        }
    }
    end_quietly(gateway.client);
}
