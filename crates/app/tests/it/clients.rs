//! Several clients at one server: nobody sees or answers what is another's (H3, M13), and `shared: false` gives each a
//! process of its own.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{HttpCaller, HttpFake, Sandbox, Style, alive, fake, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{BOTH, Gateway, HttpClient, calling, end_quietly};
use crate::studio::{studio_with, text_of};

const NEW: &str = "2025-11-25";

/// One server `s`, its entry with these further keys.
fn one(sandbox: &Sandbox, more: &Value) -> Value {
    let tools = ["echo", "sleep", "ask", "log", "pid", "emit", "addtool"];
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    let capabilities = json!({"tools": {"listChanged": true}, "logging": {}});
    let mut entry = fake(json!({"name": "s", "tools": tools, "capabilities": capabilities,
        "log": sandbox.path("s.log"), "pid": sandbox.path("s.pid")}));
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    json!({"mcpServers": {"s": entry}, "managerTools": true})
}

fn elicit(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn asker(gateway: &Gateway) -> HttpClient {
    gateway.session("/mcp", NEW, json!({"elicitation": {}}))
}

fn pid_of(session: &HttpClient) -> u32 {
    let said = session.call(9, "s__pid", json!({}), None).answer();
    let text = said.text();
    // On a busy machine the answer is a stream, which begins with an event that has no data.
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let json = events.find(|data| !data.is_empty()).unwrap_or(&text);
    text_of(&serde_json::from_str(json).expect("an answer is JSON")).parse().expect("a pid is a number")
}

/// Returns how often the server was started.
fn starts(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.path("s.pid")).unwrap_or_default().lines().count()
}

/// Returns how many processes of the server there are now.
fn running(sandbox: &Sandbox) -> usize {
    let pids = std::fs::read_to_string(sandbox.path("s.pid")).unwrap_or_default();
    pids.lines().filter(|pid| pid.trim().parse().is_ok_and(alive)).count()
}

// H3: A's call waits for an answer, B calls, and the server asks again
#[test]
fn nobody_sees_a_question_that_may_be_another_s() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &json!({})), &[]);
    let (first, second) = (asker(&gateway), asker(&gateway));
    let mut waiting = first.call(2, "s__ask", elicit("for the first"), None);
    let mut events = waiting.response().events();
    let question = events.message();
    assert_eq!(question["params"]["message"], "for the first");

    let again = json!({"jsonrpc": "2.0", "id": "again", "method": "elicitation/create",
        "params": elicit("whose?")["params"]});
    let mut emitting = second.call(3, "s__emit", json!({"line": again.to_string()}), None);
    let heard = emitting.answer().text();
    assert!(heard.contains("emitted") && !heard.contains("whose?"), "{heard}");
    let declined =
        || sandbox.log("s.log").into_iter().map(|line| line["msg"].clone()).find(|it| it["id"] == "again");
    assert!(until(PATIENCE, || declined().is_some()));
    let declined = declined().unwrap()["error"]["message"].to_string();
    assert!(declined.contains("`shared: false`") && declined.contains("'s'"), "{declined}");

    // What was asked for certain is answered as ever.
    first.reply(&question["id"], json!({"action": "decline"}));
    assert_eq!(text_of(&events.message()), r#"{"action":"decline"}"#);
    end_quietly(gateway.client);
}

// H3: one client after the other is asked as ever
#[test]
fn clients_that_take_turns_are_asked() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &json!({})), &[]);
    for message in ["one", "two", "three"] {
        let session = asker(&gateway);
        let mut call = session.call(2, "s__ask", elicit(message), None);
        let mut events = call.response().events();
        let question = events.message();
        assert_eq!(question["params"]["message"], message);
        session.reply(&question["id"], json!({"action": "cancel"}));
        assert_eq!(text_of(&events.message()), r#"{"action":"cancel"}"#);
    }
    end_quietly(gateway.client);
}

// M13
#[test]
fn a_log_line_in_a_call_reaches_nobody_who_only_listens() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &json!({})), &[]);
    let (caller, listener) = (asker(&gateway), asker(&gateway));
    for session in [&caller, &listener] {
        session.post(BOTH, &calling(2, "tools/list", json!({})));
        session.post(BOTH, &calling(3, "logging/setLevel", json!({"level": "debug"})));
    }
    let mut listening = listener.listen(None);
    let mut events = listening.response().events();
    let heard = caller.call(4, "s__log", json!({"data": "secret"}), None).answer().text();
    assert!(heard.contains("secret"), "whoever called hears it: {heard}");
    caller.call(5, "s__addtool", json!({"name": "later"}), None).answer();
    assert_eq!(events.message()["method"], "notifications/tools/list_changed", "the first it hears");
    end_quietly(gateway.client);
}

// H3: `shared: false`
#[test]
fn each_client_has_a_process_of_its_own() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &json!({"shared": false})), &[]);
    let (first, second) = (asker(&gateway), asker(&gateway));
    for session in [&first, &second] {
        let listed = session.post(BOTH, &calling(2, "tools/list", json!({}))).text();
        assert!(listed.contains("s__pid"), "{listed}");
    }
    assert_eq!(starts(&sandbox), 1, "one was started for the list, which all share");
    let pids = [pid_of(&first), pid_of(&second)];
    assert_eq!([pid_of(&first), pid_of(&second)], pids);
    assert_ne!(pids[0], pids[1]);
    assert_eq!(starts(&sandbox), 3);

    // Both are asked at once, each its own.
    let mut calls =
        [first.call(5, "s__ask", elicit("first"), None), second.call(5, "s__ask", elicit("second"), None)];
    let mut events: Vec<_> = calls.iter_mut().map(|call| call.response().events()).collect();
    for ((session, events), message) in
        [&first, &second].into_iter().zip(&mut events).zip(["first", "second"])
    {
        let question = events.message();
        assert_eq!(question["params"]["message"], message);
        session.reply(&question["id"], json!({"action": "accept", "content": {"who": message}}));
    }
    for (events, message) in events.iter_mut().zip(["first", "second"]) {
        assert!(text_of(&events.message()).contains(message));
    }

    let status = first
        .post(BOTH, &calling(6, "tools/call", json!({"name": "manifold__servers_list", "arguments": {}})));
    for pid in pids {
        assert!(status.text().contains(&pid.to_string()), "{}", status.text());
    }
    assert_eq!(first.delete(), 204);
    assert!(until(PATIENCE, || !alive(pids[0])), "it ends with its client");
    assert_eq!(pid_of(&second), pids[1]);
    end_quietly(gateway.client);
    assert!(until(PATIENCE, || sandbox.processes().is_empty()));
}

// H3: `shared: false` for clients without sessions
#[test]
fn a_client_without_a_session_leaves_no_process_behind() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &json!({"shared": false})), &[]);
    let caller = HttpCaller::new(gateway.port, "/mcp", json!({"elicitation": {}}));
    let session = asker(&gateway);
    let theirs = pid_of(&session);
    let mine: u32 =
        text_of(&caller.ask("tools/call", json!({"name": "s__pid", "arguments": {}}))).parse().unwrap();
    assert_ne!(mine, theirs);
    assert!(until(PATIENCE, || !alive(mine)));

    // A call that waits for the answer to its question keeps its process, though nobody is connected.
    let ask = json!({"name": "s__ask", "arguments": elicit("later?")});
    let round = caller.ask("tools/call", ask.clone());
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    let mut back = ask;
    back["requestState"] = round["result"]["requestState"].clone();
    back["inputResponses"] = json!({"q1": {"action": "decline"}});
    let answer = caller.ask("tools/call", back);
    assert_eq!(text_of(&answer), r#"{"action":"decline"}"#);
    assert!(until(PATIENCE, || running(&sandbox) == 1));
    assert!(alive(theirs));
    end_quietly(gateway.client);
}

// H3: a process that rests is started anew for its client alone
#[test]
fn an_idle_client_keeps_its_place() {
    let sandbox = Sandbox::new();
    let more = json!({"shared": false, "idleTimeout": 1000});
    let gateway = Gateway::start(&sandbox, &one(&sandbox, &more), &[]);
    let session = asker(&gateway);
    let pid = pid_of(&session);
    assert!(until(PATIENCE, || !alive(pid)));
    assert_ne!(pid_of(&session), pid);
    end_quietly(gateway.client);
}

// H3: `shared: false` for a server at an address: a session of its own each
#[test]
fn each_client_has_a_session_of_its_own_at_a_remote_server() {
    let sandbox = Sandbox::new();
    let server = HttpFake::start(Style::Events, &["echo", "ask"]);
    let config = json!({"mcpServers": {"far": {"type": "http", "url": server.url(), "shared": false}}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let (first, second) = (asker(&gateway), asker(&gateway));
    for session in [&first, &second] {
        let said = session.call(2, "far__echo", json!({"text": "hi"}), None).answer().text();
        assert!(said.contains("hi"), "{said}");
    }
    let used = || {
        let calls = server.received("tools/call");
        let ids = calls.iter().map(|one| one.header("mcp-session-id").unwrap().to_owned());
        ids.collect::<std::collections::HashSet<_>>()
    };
    assert_eq!(used().len(), 2);
    let ended = || server.record().iter().filter(|one| one.method == "DELETE").count();
    let before = ended();
    assert_eq!(first.delete(), 204);
    assert!(until(PATIENCE, || ended() > before), "its session ends with it");
    end_quietly(gateway.client);
}

// H3: the one client of a pipe needs no second process
#[test]
fn on_stdio_there_is_one_process_as_ever() {
    let sandbox = Sandbox::new();
    let mut client =
        studio_with(&sandbox, &one(&sandbox, &json!({"shared": false})), json!({"elicitation": {}}));
    client.answer(|_, _| Ok(json!({"action": "decline"})));
    assert!(client.tool_names().iter().any(|name| name == "s.pid"));
    let pid = text_of(&client.call("s.pid", json!({}))).to_owned();
    assert_eq!(text_of(&client.call("s.ask", elicit("?"))), r#"{"action":"decline"}"#);
    assert_eq!(text_of(&client.call("s.pid", json!({}))), pid);
    assert_eq!(starts(&sandbox), 1);
    client.leave();
}
