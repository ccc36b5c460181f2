//! Replicas that share nothing but a key.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Conn, Gateway, HttpClient, calling};
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::{BOTH, NEW, Replicas, config, elicit, modern};

/// Calls over all, and threads that make them.
fn rounds() -> (usize, usize) {
    (if std::env::var_os("MANIFOLD_LONG").is_some() { 1_000_000 } else { 50_000 }, 4)
}

/// Makes one modern call; `None` if the gateway went away.
fn try_call(connection: &mut Conn, id: u64) -> Option<Value> {
    let said = format!("call {id}");
    let body = json!({"name": "echo", "arguments": {"text": said}});
    let text = calling(id, "tools/call", crate::fixture::signed(body));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: {BOTH}\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    connection.try_write(format!("{head}{text}").as_bytes()).ok()?;
    let mut length = None;
    let mut first = None;
    loop {
        let line = connection.try_line()?;
        first.get_or_insert_with(|| line.clone());
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    assert!(first.is_some_and(|first| first.contains(" 200 ")));
    let answer = match length {
        Some(length) => connection.exactly(length)?,
        // It took its time and came as a stream.
        None => {
            let mut all = Vec::new();
            loop {
                let size = usize::from_str_radix(connection.try_line()?.trim(), 16).ok()?;
                let chunk = connection.exactly(size + 2)?;
                if size == 0 {
                    break;
                }
                all.extend_from_slice(&chunk[..size]);
            }
            all
        }
    };
    let answer = String::from_utf8(answer).ok()?;
    let message = answer.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&answer);
    let message: Value = serde_json::from_str(message).expect("an answer is JSON");
    assert_eq!(message["result"]["content"][0]["text"], said, "{message}");
    Some(message)
}

// three replicas without Redis; one is killed, and only what it had in flight fails, once each
#[test]
fn modern_clients_are_served_by_any_replica() {
    let (calls, threads) = rounds();
    let replicas = Replicas::start(3, &[]);
    for at in 0..3 {
        // Its server is up before calls are counted.
        assert_eq!(modern(replicas.port(at), "tools/list", &json!({})).status, 200);
    }
    let (made, failed, killed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let (ports, victim) = ([0, 1, 2].map(|at| replicas.port(at)), replicas.all[2].client.pid());
    let (made, failed, killed) = (&made, &failed, &killed);
    thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || {
                let mut connections: Vec<Option<Conn>> =
                    ports.iter().map(|port| Some(Conn::open(*port))).collect();
                for call in 0..calls / threads {
                    let at = call % 3;
                    let Some(connection) = &mut connections[at] else {
                        // A balancer sends it elsewhere.
                        let id = (number * calls + call) as u64;
                        let other = connections[(at + 1) % 3].as_mut().expect("the others live");
                        assert!(try_call(other, id).is_some(), "a replica that lives answers");
                        made.fetch_add(1, Ordering::Relaxed);
                        continue;
                    };
                    if try_call(connection, (number * calls + call) as u64).is_none() {
                        assert!(at == 2 && killed.load(Ordering::SeqCst), "only what was killed fails");
                        failed.fetch_add(1, Ordering::Relaxed);
                        connections[at] = None;
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    if number == 0 && call == calls / threads / 2 {
                        killed.store(true, Ordering::SeqCst);
                        kill(Pid::from_raw(victim as i32), Signal::SIGKILL).expect("it runs");
                    }
                }
            });
        }
    });
    let (made, failed) = (made.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
    println!(
        "three replicas: {made} modern calls over 3 replicas, one killed: {failed} in flight there failed, 0 others"
    );
    assert!(failed <= threads, "each client had one call in flight there");
}

// a session goes on at a replica that never saw it
#[test]
fn a_session_goes_on_at_any_replica() {
    let replicas = Replicas::start(2, &[]);
    let session = replicas.all[0].session("/mcp", NEW, json!({"elicitation": {}}));
    assert!(session.id.starts_with("mf1.") && session.id.len() <= 300, "{}", session.id);
    let other = session.at(replicas.port(1));
    let listed = other.post(BOTH, &calling(2, "tools/list", json!({})));
    assert_eq!((listed.status, listed.header("mcp-session-id")), (200, Some(session.id.as_str())));
    assert_eq!(listed.json()["result"]["tools"].as_array().map(Vec::len), Some(7));
    let echoed = other.call(3, "echo", json!({"text": "here"}), None).answer().json();
    assert_eq!(echoed["result"]["content"][0]["text"], "here");
    // The other replica knows what the client can be asked.
    let mut call = other.call(4, "ask", elicit()["arguments"].clone(), None);
    let mut events = call.response().events();
    let question = events.message();
    assert_eq!(question["params"]["message"], "really?");
    other.reply(&question["id"], json!({"action": "decline"}));
    assert!(events.message()["result"].is_object());
    // What has no session there has none here.
    assert_eq!(session.at(replicas.port(1)).delete(), 204);
    assert_eq!(other.post(BOTH, &calling(5, "ping", json!({}))).status, 404, "it was ended there");
    // A client that is new to all gets a session of the replica it came to.
    let another = HttpClient::open(replicas.port(1), "/mcp/default", NEW, json!({}));
    assert_eq!(another.at(replicas.port(0)).post(BOTH, &calling(2, "ping", json!({}))).status, 200);
}

// A question is the affair of the replica that asked it: another says so
#[test]
fn an_answer_at_another_replica_is_told_to_start_again() {
    let replicas = Replicas::start(2, &[]);
    let session = replicas.all[0].session("/mcp", NEW, json!({"elicitation": {}}));
    let mut call = session.call(2, "ask", elicit()["arguments"].clone(), None);
    let mut events = call.response().events();
    let question = events.message();
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    let refused = session.at(replicas.port(1)).post(BOTH, &answer.to_string());
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("start the call again"), "{}", refused.text());
    // Where it was asked it still can be answered.
    session.reply(&question["id"], json!({"action": "decline"}));
    assert!(events.message()["result"].is_object());

    let round = modern(replicas.port(0), "tools/call", &elicit()).json();
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    let mut back = elicit();
    let key = round["result"]["inputRequests"].as_object().and_then(|asked| asked.keys().next().cloned());
    back["inputResponses"] = json!({key.expect("a question"): {"action": "accept", "content": {}}});
    back["requestState"] = round["result"]["requestState"].clone();
    let elsewhere = modern(replicas.port(1), "tools/call", &back).json();
    let message = elsewhere["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("another replica") && message.contains("start the call again"), "{elsewhere}");
    assert!(modern(replicas.port(0), "tools/call", &back).json()["result"].is_object());
}

// another principal's, a tampered one, one sealed with a retired key
#[test]
fn an_id_is_good_for_its_principal_and_its_key() {
    let two_tokens = |home: &Sandbox| {
        let mut config = config(home);
        let tokens = ["ann", "bob"].map(|name| {
            let file =
                home.write_private(&format!("{name}.token"), &format!("the token of {name}, long enough"));
            (name.to_owned(), json!({"file": file}))
        });
        config["server"] = json!({"tokens": tokens.into_iter().collect::<serde_json::Map<_, _>>()});
        config
    };
    let replicas = Replicas::start_with(2, &[], two_tokens);
    let ask = |port: u16, who: &str, id: Option<&str>, path: &str, body: &str| {
        let token = format!("Bearer the token of {who}, long enough");
        let mut headers = vec![("Accept", BOTH), ("Authorization", token.as_str())];
        headers.extend(id.map(|id| ("Mcp-Session-Id", id)));
        let mut connection = Conn::open(port);
        connection.send("POST", path, &headers, body);
        connection.answer()
    };
    let hello = calling(
        1,
        "initialize",
        json!({"protocolVersion": NEW, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    );
    let (a, b) = (replicas.port(0), replicas.port(1));
    let opened = ask(a, "ann", None, "/mcp", &hello);
    let id = opened.header("mcp-session-id").expect("a session").to_owned();
    let ping = calling(2, "ping", json!({}));
    assert_eq!(ask(b, "bob", Some(&id), "/mcp", &ping).status, 404, "another principal");
    assert_eq!(ask(b, "ann", Some(&id), "/mcp/default", &ping).status, 404, "another place");
    for at in [4, 20, id.len() / 2, id.len() - 1] {
        let mut tampered = id.clone().into_bytes();
        tampered[at] = if tampered[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(tampered).expect("ASCII");
        assert_eq!(ask(b, "ann", Some(&tampered), "/mcp", &ping).status, 404, "tampered at {at}");
    }
    // A new key seals, the one before still opens.
    replicas.write_keys(&[2, 1]);
    let read = |times: usize| {
        until(PATIENCE, || {
            (0..2).all(|at| replicas.said(at, "keys of the replicas were read again") >= times)
        })
    };
    assert!(read(1), "{}", replicas.all[1].client.stderr());
    assert_eq!(ask(b, "ann", Some(&id), "/mcp", &ping).status, 200, "the previous key");
    let later = ask(b, "ann", None, "/mcp", &hello);
    let later = later.header("mcp-session-id").expect("a session").to_owned();
    assert_eq!(ask(a, "ann", Some(&later), "/mcp", &ping).status, 200, "the new key");
    // A key that was retired opens nothing, nor do sessions go on that a replica knows by it.
    let third = ask(a, "ann", None, "/mcp", &hello);
    let third = third.header("mcp-session-id").expect("a session").to_owned();
    replicas.write_keys(&[3]);
    assert!(read(2), "{}", replicas.all[1].client.stderr());
    assert_eq!(ask(b, "ann", Some(&third), "/mcp", &ping).status, 404, "a retired key");
    let is_over = || ask(a, "ann", Some(&third), "/mcp", &ping).status == 404;
    assert!(until(PATIENCE, is_over), "{}", replicas.all[0].client.stderr());
    let fourth = ask(a, "ann", None, "/mcp", &hello);
    let fourth = fourth.header("mcp-session-id").expect("a session").to_owned();
    // A file that breaks changes nothing.
    std::fs::write(replicas.homes[0].path("keys/state.key"), "no key\n").expect("the file can be written");
    assert!(until(PATIENCE, || replicas.said(0, "stay as they were") >= 1));
    assert_eq!(ask(a, "ann", Some(&fourth), "/mcp", &ping).status, 200);
}

// a stream that only another replica could go on with, and nobody can ask it
#[test]
fn a_stream_of_another_replica_begins_anew() {
    let replicas = Replicas::start(2, &[]);
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let mut call = session.call(9, "progress", json!({"steps": 1000, "ms": 20}), Some(json!("t")));
    let last = call.response().events().next().and_then(|event| event.id).expect("an id");
    let answer = session.at(replicas.port(1)).listen(Some(&last)).answer();
    assert_eq!(answer.status, 404, "{}", answer.text());
}

// a server that is meant to run once, where nobody can say at which replica
#[test]
fn a_server_that_is_not_alone_is_told_of() {
    let once = |home: &Sandbox| {
        let mut config = config(home);
        config["mcpServers"]["s"]["replicas"] = json!("one");
        config
    };
    let replicas = Replicas::start_with(1, &[], once);
    assert!(until(PATIENCE, || replicas.said(0, "it runs at each replica") == 1));
}

// Without a key all is as it was
#[test]
fn without_a_key_a_session_is_one_gateways() {
    let homes = [Sandbox::new(), Sandbox::new()];
    let gateways: Vec<Gateway> = homes.iter().map(|home| Gateway::start(home, &config(home), &[])).collect();
    let session = gateways[0].session("/mcp", NEW, json!({}));
    assert_eq!((session.id.len(), session.id.starts_with("mf1.")), (48, false));
    assert_eq!(session.at(gateways[1].port).post(BOTH, &calling(2, "ping", json!({}))).status, 404);
}

#[test]
fn a_key_file_that_cannot_be_used_is_told() {
    let home = Sandbox::new();
    let check = |keys: &str, words: &str| {
        let file = home.write_private("bad.key", keys);
        let mut command =
            manifold_testkit::http::http_command(&home, &config(&home), &["--state-key-file", &file]);
        let ran = command.output().expect("it runs");
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(1) && stderr.contains(words), "{stderr}");
    };
    check("", "it has no key");
    check("short\n", "line 1 is not 32 bytes");
    // Who else can read it has every session.
    let open = home.write_private("open.key", &crate::fixture::key_lines(&[1]));
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).expect("the mode can be set");
    let flags = ["--state-key-file", open.as_str()];
    let ran = manifold_testkit::http::http_command(&home, &config(&home), &flags).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(1) && stderr.contains("has mode 644"), "{stderr}");
    let mut command =
        manifold_testkit::http::http_command(&home, &config(&home), &["--state", "redis://127.0.0.1:1/0"]);
    let ran = command.output().expect("it runs");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("--state-key-file"));
}
