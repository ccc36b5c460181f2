//! Progress, cancellation and news of changed lists: each to whom it concerns, once.

use super::*;

#[test]
fn progress_bears_the_clients_own_token() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    for token in [json!("a-string"), json!(7), json!(0), json!("7")] {
        let params =
            json!({"name": "alpha.progress", "arguments": {"steps": 3}, "_meta": {"progressToken": token}});
        let id = client.request("tools/call", params);
        assert_eq!(text_of(&client.wait_for(id, SOON)), "3 steps");
        let told: Vec<Value> = client.notifications();
        assert_eq!(told.len(), 3, "in order and before the answer");
        for (step, told) in told.iter().enumerate() {
            assert_eq!(told["method"], "notifications/progress");
            assert_eq!(told["params"], json!({"progressToken": token, "progress": step + 1, "total": 3}));
        }
    }
    // Two clients' worth of equal tokens at once would clash upstream: the token sent there is our own.
    let tokens: Vec<Value> = sandbox
        .received("alpha.log", "tools/call")
        .iter()
        .map(|call| call["params"]["_meta"]["progressToken"].clone())
        .collect();
    assert!(tokens.iter().enumerate().all(|(at, token)| token.is_u64() && !tokens[..at].contains(token)));
}

#[test]
fn progress_of_concurrent_calls_is_not_mixed_up() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    let calls: Vec<u64> = (0..8)
        .map(|n| {
            let server = if n % 2 == 0 { "alpha" } else { "beta" };
            let arguments = json!({"steps": n + 1, "ms": 5});
            let params = json!({"name": format!("{server}.progress"), "arguments": arguments, "_meta": {"progressToken": n}});
            client.request("tools/call", params)
        })
        .collect();
    for (n, id) in calls.into_iter().enumerate() {
        assert_eq!(text_of(&client.wait_for(id, SOON)), format!("{} steps", n + 1));
    }
    let told = client.notifications();
    for n in 0..8u64 {
        let own = told.iter().filter(|one| one["params"]["progressToken"] == n);
        let steps: Vec<u64> = own.filter_map(|one| one["params"]["progress"].as_u64()).collect();
        assert_eq!(steps, (1..=n + 1).collect::<Vec<_>>(), "token {n}");
    }
}

// S1-44
#[test]
fn a_cancelled_call_is_cancelled_at_its_server_and_not_answered() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.tool_names();
    let call = json!({"name": "alpha.sleep", "arguments": {"ms": 60000}});
    client.send(json!({"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": call}));
    assert!(until(SOON, || !sandbox.received("alpha.log", "tools/call").is_empty()));
    client.notify("notifications/cancelled", json!({"requestId": "mine", "reason": "changed my mind"}));
    assert!(until(SOON, || !sandbox.received("alpha.log", "notifications/cancelled").is_empty()));
    let sent = last(&sandbox, "alpha.log", "tools/call");
    let cancelled = last(&sandbox, "alpha.log", "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], sent["id"], "under the server's own id");
    assert_eq!(cancelled["params"]["reason"], "changed my mind");
    assert!(sandbox.received("beta.log", "notifications/cancelled").is_empty(), "the owner alone");
    let id = client.request("ping", Value::Null);
    assert_eq!(client.recv(SOON)["id"], json!(id), "no answer to what was taken back");
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "on we go"}))), "on we go");
}

// S1-44: also while the server is still starting
#[test]
fn a_call_cancelled_before_it_was_sent_is_never_sent() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("alpha.log");
    let knobs = json!({"delayMs": {"initialize": 700}, "log": log});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": fake_with(&["echo"], knobs)}}));
    let id = client.request("tools/call", json!({"name": "alpha.echo", "arguments": {"text": "no"}}));
    client.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(text_of(&client.call("alpha.echo", json!({"text": "yes"}))), "yes");
    assert_eq!(sandbox.received("alpha.log", "tools/call").len(), 1);
    assert!(client.try_recv(Duration::ZERO).is_none(), "no answer to what was taken back");
}

// Decision 18: news of a server are read once and passed on once
#[test]
fn changed_lists_are_announced_and_coalesced() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.tool_names();
    client.ask("prompts/list", json!({}));
    client.call("alpha.addtool", json!({"name": "extra", "description": "More"}));
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert!(client.tool_names().contains(&"alpha.extra".to_owned()));
    assert_eq!(text_of(&client.call("alpha.extra", json!({"text": "x"}))), "x");
    client.call("alpha.droptool", json!({"name": "extra"}));
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    assert!(!client.tool_names().contains(&"alpha.extra".to_owned()));
    client.notifications();

    // Sixty changes in one go are few readings and few announcements.
    let before = sandbox.received("alpha.log", "tools/list").len();
    let added: Vec<u64> = (0..60)
        .map(|n| {
            client.request(
                "tools/call",
                json!({"name": "alpha.addtool", "arguments": {"name": format!("t{n}")}}),
            )
        })
        .collect();
    for id in added {
        client.wait_for(id, SOON);
    }
    let all = |client: &mut Client| {
        client.tool_names().iter().filter(|name| name.starts_with("alpha.t")).count() == 60
    };
    assert!(until(SOON, || all(&mut client)));
    let readings = sandbox.received("alpha.log", "tools/list").len() - before;
    let told = client.notifications();
    assert!(readings <= 10 && told.len() <= 10, "{readings} readings, {} announcements", told.len());
    assert!(
        told.iter().all(|one| one["method"] == "notifications/tools/list_changed"),
        "only of what changed"
    );

    // News without a change are passed on, since the server says so, and are as few.
    client
        .call("alpha.flood", json!({"n": 50, "method": "notifications/prompts/list_changed", "params": {}}));
    assert!(until(SOON, || sandbox.received("alpha.log", "prompts/list").len() >= 2), "it was read again");
    client.wait_for_notification("notifications/prompts/list_changed", SOON);
    let told = client.notifications().len();
    let readings = sandbox.received("alpha.log", "prompts/list").len() - 1;
    assert!(told < readings.max(2), "{told} more announcements, {readings} readings");
}

// A client that never asked for a list is not told that it changed
#[test]
fn who_never_looked_is_not_told() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &two_servers(&sandbox));
    client.call("alpha.echo", json!({}));
    assert!(until(SOON, || sandbox.received("alpha.log", "prompts/list").len() == 1), "its lists are read");
    client.call("alpha.addtool", json!({"name": "extra"}));
    assert!(until(SOON, || client.call("alpha.extra", json!({}))["error"].is_null()), "it is known");
    client.call("beta.echo", json!({}));
    assert!(client.notifications().is_empty());
}
