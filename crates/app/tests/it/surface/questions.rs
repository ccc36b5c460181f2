//! What a server asks of its client, within a call and outside.

use super::*;

fn able() -> Value {
    json!({"sampling": {}, "elicitation": {}, "roots": {"listChanged": true}})
}

// Questions find the client, answers find the server, in both their own bytes
#[test]
fn questions_during_a_call_are_answered_by_the_client() {
    let sandbox = Sandbox::new();
    let mut client = studio_with(&sandbox, &two_servers(&sandbox), able());
    client.answer(|method, params| match method {
        "sampling/createMessage" => {
            Ok(json!({"role": "assistant", "content": params["messages"][0]["content"], "model": "m"}))
        }
        "elicitation/create" => Err(json!({"code": -1, "message": "User rejected", "data": {"why": "busy"}})),
        "roots/list" => Ok(json!({"roots": [{"uri": "file:///work", "name": "work"}]})),
        other => Err(json!({"code": -32601, "message": other})),
    });
    let message = json!({"role": "user", "content": {"type": "text", "text": "2+2?"}});
    let ask = |method: &str, params: Value| json!({"method": method, "params": params});
    let answer = client
        .call("alpha.ask", ask("sampling/createMessage", json!({"messages": [message], "maxTokens": 5})));
    let said: Value = serde_json::from_str(text_of(&answer)).expect("JSON");
    assert_eq!(said["content"], json!({"type": "text", "text": "2+2?"}));
    let refused =
        client.call("beta.ask", ask("elicitation/create", json!({"message": "ok?", "requestedSchema": {}})));
    assert_eq!(refused["result"]["isError"], true);
    let said: Value = serde_json::from_str(text_of(&refused)).expect("JSON");
    assert_eq!(
        said,
        json!({"code": -1, "message": "User rejected", "data": {"why": "busy"}}),
        "as the client said it"
    );
    let roots = client.call("alpha.ask", json!({"method": "roots/list"}));
    assert!(text_of(&roots).contains("file:///work"));
    // What is not of MCP's making passes too; ping is ours to answer.
    let odd = client.call("alpha.ask", ask("vendor/odd", json!({"x": 1})));
    assert!(text_of(&odd).contains("vendor/odd"));
    assert_eq!(text_of(&client.call("alpha.ask", json!({"method": "ping"}))), "{}");
}

#[test]
fn questions_of_two_servers_at_once_keep_their_answers_apart() {
    let sandbox = Sandbox::new();
    let mut client = studio_with(&sandbox, &two_servers(&sandbox), able());
    client.answer(|_, params| Ok(json!({"said": params["n"]})));
    let calls: Vec<(u64, u64)> = (0..20)
        .map(|n| {
            let server = if n % 2 == 0 { "alpha" } else { "beta" };
            let arguments = json!({"method": "sampling/createMessage", "params": {"n": n}});
            (
                n,
                client
                    .request("tools/call", json!({"name": format!("{server}.ask"), "arguments": arguments})),
            )
        })
        .collect();
    for (n, id) in calls {
        assert_eq!(text_of(&client.wait_for(id, SOON)), format!(r#"{{"said":{n}}}"#));
    }
}

/// A server that asks as it starts, when no call of the client's is with it.
fn asking_at_start(sandbox: &Sandbox, question: &str) -> Value {
    let knobs = json!({"garbage": [question], "log": sandbox.path("alpha.log")});
    json!({"mcpServers": {"alpha": fake_with(&["echo", "emit"], knobs)}})
}

// Decision 29: a question outside any call goes to the one client there is
#[test]
fn questions_outside_a_call_reach_the_client() {
    let sandbox = Sandbox::new();
    let line = r#"{"jsonrpc":"2.0","id":"q1","method":"roots/list"}"#;
    let mut client = studio_with(&sandbox, &asking_at_start(&sandbox, line), able());
    client.tool_names();
    let question = client.wait_for_notification("roots/list", SOON);
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    let answered = || {
        sandbox
            .log("alpha.log")
            .iter()
            .any(|line| line["msg"]["id"] == "q1" && line["msg"]["result"] == json!({"roots": []}))
    };
    assert!(until(SOON, answered), "under the server's own id");
}

#[test]
fn questions_are_declined_for_a_client_that_cannot_answer() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    for method in ["sampling/createMessage", "elicitation/create"] {
        let answer = client.call("alpha.ask", json!({"method": method, "params": {}}));
        assert_eq!(answer["result"]["isError"], true);
        let error: Value = serde_json::from_str(text_of(&answer)).expect("JSON");
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
    // Servers were told: the client's capabilities are passed on as they are.
    assert_eq!(last(&sandbox, "alpha.log", "initialize")["params"]["capabilities"], json!({}));
}

// Decision 29: roots from the config where the client has none
#[test]
fn roots_of_the_config_stand_in_for_the_clients() {
    let sandbox = Sandbox::new();
    let mut config = two_servers(&sandbox);
    config["roots"] = json!([{"uri": "file:///srv/data", "name": "data"}]);
    let mut client = studio(&sandbox, &config);
    let roots = client.call("alpha.ask", json!({"method": "roots/list"}));
    assert_eq!(text_of(&roots), r#"{"roots":[{"uri":"file:///srv/data","name":"data"}]}"#);
    let told = last(&sandbox, "alpha.log", "initialize")["params"]["capabilities"].clone();
    assert_eq!(told, json!({"roots": {}}), "and servers know that they may ask");
}

#[test]
fn a_withdrawn_question_is_withdrawn_at_the_client() {
    let sandbox = Sandbox::new();
    let line = r#"{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{}}"#;
    let mut client = studio_with(&sandbox, &asking_at_start(&sandbox, line), able());
    client.tool_names();
    let question = client.wait_for_notification("sampling/createMessage", SOON);
    client.call("alpha.emit", json!({"line": r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77,"reason":"moot"}}"#}));
    let told = client.wait_for_notification("notifications/cancelled", SOON);
    assert_eq!(told["params"], json!({"requestId": question["id"], "reason": "moot"}));
    // An answer that crosses it is dropped.
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {}}));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "x"}))), "x");
    assert!(!sandbox.log("alpha.log").iter().any(|line| line["msg"]["id"] == 77));
}

#[test]
fn changed_roots_are_passed_on_to_running_servers() {
    let sandbox = Sandbox::new();
    let mut client = studio_with(&sandbox, &two_servers(&sandbox), able());
    client.call("alpha.echo", json!({}));
    client.notify("notifications/roots/list_changed", json!({}));
    assert!(until(SOON, || sandbox.received("alpha.log", "notifications/roots/list_changed").len() == 1));
    assert!(!sandbox.path("beta.log").exists(), "nobody is woken for it");
}
