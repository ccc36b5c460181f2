//! S2-3 to S2-5: `/api/status`.

use super::*;

// S2-3, S2-4, S2-5: the seed's own sample, member by member; trap (g)
#[test]
fn s2_3_to_5_status_is_the_seed_s_sample() {
    let sandbox = Sandbox::new();
    let tools: Vec<Value> = (0..8).map(|n| json!({"name": format!("tool_{n}")})).collect();
    let mut server = fake(json!({"name": "fs", "tools": tools}));
    server["name"] = json!("文件系统服务器");
    sandbox.write(CONFIG, &schema(json!({"filesystem": server})).to_string());
    let mut command = sandbox.command(named(&sandbox, "mcps-proxy"));
    command.env("PORT", "4444");
    let client = Client::spawn(command);
    let port = port_of(&client);
    // The list comes a moment after the handshake.
    assert!(until(PATIENCE, || connected(port, 1)["summary"]["totalTools"] == 8));
    let mut status = connected(port, 1);
    let uptime = status["server"]["uptime"].take();
    assert_eq!(shape(&uptime), "00:00:00");
    let expected = json!({
        "server": {"status": "running", "port": port, "url": format!("http://localhost:{port}"), "uptime": null},
        "schemas": {"default": {
            "status": "active",
            "mcpServers": [{"id": "filesystem", "name": "文件系统服务器", "status": "connected", "type": "stdio", "toolCount": 8}],
            "totalTools": 8,
            "connectedServers": 1,
        }},
        "summary": {"totalSchemas": 1, "activeSchemas": 1, "totalServers": 1, "connectedServers": 1, "failedServers": 0, "totalTools": 8},
    });
    assert_eq!(status, expected);
    end_quietly(client);
}

// S2-4, S2-5, decision 34: every state a server and a schema can be in
#[test]
fn s2_4_and_5_status_tells_the_states_apart() {
    let sandbox = Sandbox::new();
    let with = |mut server: Value, key: &str, value: Value| {
        server[key] = value;
        server
    };
    let config = json!({"server": {"port": 0}, "schemas": {
        "default": {"mcpServers": {
            "good": fake(json!({"tools": [{"name": "a"}, {"name": "b"}]})),
            "lazy": with(fake(json!({"pid": sandbox.path("lazy.pid")})), "lazy", json!(true)),
            "broken": {"command": sandbox.path("no-such-program")},
        }},
        "work": {"mcpServers": {"good": fake(json!({"tools": [{"name": "c"}]}))}},
        "empty": {"mcpServers": {}},
        "off": {"enabled": false, "mcpServers": {"never": fake(json!({"pid": sandbox.path("never.pid")}))}},
    }});
    let gateway = mcps_proxy(&sandbox, &config);
    let mut status = Value::Null;
    let settled = until(PATIENCE, || {
        status = http(gateway.port, "GET", "/api/status", "").1;
        let summary = &status["summary"];
        summary["connectedServers"] == 2 && summary["failedServers"] == 1 && summary["totalTools"] == 3
    });
    assert!(settled, "{status:#}");
    let server = |id: &str| {
        let servers = status["schemas"]["default"]["mcpServers"].as_array().cloned().unwrap_or_default();
        servers.into_iter().find(|server| server["id"] == id).unwrap_or_else(|| panic!("{status:#}"))
    };
    let good = json!({"id": "good", "name": "good", "status": "connected", "type": "stdio", "toolCount": 2});
    assert_eq!(server("good"), good);
    let lazy =
        json!({"id": "lazy", "name": "lazy", "status": "disconnected", "type": "stdio", "toolCount": 0});
    assert_eq!(server("lazy"), lazy);
    let broken = server("broken");
    assert_eq!((&broken["status"], &broken["toolCount"]), (&json!("error"), &json!(0)), "{broken}");
    assert!(broken["error"].as_str().is_some_and(|why| why.contains("no-such-program")), "{broken}");
    let off = json!({"status": "inactive", "mcpServers": [], "totalTools": 0, "connectedServers": 0});
    assert_eq!(status["schemas"]["off"], off);
    let empty = json!({"status": "active", "mcpServers": [], "totalTools": 0, "connectedServers": 0});
    assert_eq!(status["schemas"]["empty"], empty);
    let summary = json!({"totalSchemas": 4, "activeSchemas": 3, "totalServers": 4, "connectedServers": 2, "failedServers": 1, "totalTools": 3});
    assert_eq!(status["summary"], summary);
    assert!(!sandbox.path("lazy.pid").exists() && !sandbox.path("never.pid").exists());
    end_quietly(gateway.client);
}

// S2-4: remote servers are told apart by `type`
#[test]
fn s2_4_the_type_is_how_a_server_is_reached() {
    let sandbox = Sandbox::new();
    let remote = |kind: &str| json!({"type": kind, "url": "http://127.0.0.1:9/x", "lazy": true});
    let config = schema(json!({"h": remote("http"), "e": remote("sse"), "p": fake(json!({}))}));
    let gateway = mcps_proxy(&sandbox, &config);
    let (_, status) = http(gateway.port, "GET", "/api/status", "");
    let servers = status["schemas"]["default"]["mcpServers"].as_array().unwrap();
    let types: Vec<_> = servers
        .iter()
        .map(|server| (&server["id"], &server["type"]))
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let expected = [(Some("e"), Some("sse")), (Some("h"), Some("http")), (Some("p"), Some("stdio"))];
    assert_eq!(types, expected, "{status:#}");
    end_quietly(gateway.client);
}

// S2-5: polling costs the servers nothing
#[test]
fn s2_5_status_causes_no_upstream_traffic() {
    let sandbox = Sandbox::new();
    let mut idle = fake(json!({"pid": sandbox.path("idle.pid")}));
    idle["lazy"] = json!(true);
    let gateway = mcps_proxy(&sandbox, &schema(json!({"filesystem": filesystem(&sandbox), "idle": idle})));
    connected(gateway.port, 1);
    // The lists a server is asked for after its handshake may still be on their way.
    post(gateway.port, "default", "resources/read", json!({"uri": "file://./README.md"}));
    post(
        gateway.port,
        "default",
        "prompts/get",
        json!({"name": "code-review", "arguments": {"language": "x"}}),
    );
    let pid = |sandbox: &Sandbox| sandbox.path("idle.pid").exists();
    // Reading and getting look in every server's list, the lazy one's too; from here on nobody asks for anything.
    let before = (sandbox.log("filesystem.log").len(), pid(&sandbox));
    for _ in 0..200 {
        assert_eq!(http(gateway.port, "GET", "/api/status", "").0, 200);
        assert_eq!(http(gateway.port, "GET", "/health", "").0, 200);
    }
    assert_eq!((sandbox.log("filesystem.log").len(), pid(&sandbox)), before);
    end_quietly(gateway.client);
}
