//! F5 to F10: whatever a server writes, its connection and its neighbour go on.

use super::*;

#[test]
fn f5_garbage_between_answers_is_skipped() {
    let sandbox = Sandbox::new();
    let garbage = [
        "npm WARN deprecated",
        "> start",
        "{\"half\":",
        "}{",
        "[1,2",
        "null",
        "\"text\"",
        "\u{1b}[31mred",
        "",
    ];
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({"garbage": garbage, "noise": true})));
    let pid = client.call("bad.pid", json!({}));
    client.call("bad.emit", json!({"line": "added 57 packages in 2s\n", "repeat": 100_000}));
    client.call("bad.emit", json!({"line": r#"{"jsonrpc":"2.0","id":1,"result":{"#}));
    still_works(&mut client, &pid, "garbage");
    let calls = figure(5_000, 100_000);
    let began = Instant::now();
    let right = pump(&mut client, "bad.echo", calls);
    assert_eq!(right, calls);
    let log = client.stderr();
    let complaints = log.lines().filter(|line| line.contains("ignored from the server")).count();
    assert!((1..1000).contains(&complaints), "{complaints} lines in the log: some, and not one for each");
    still_works(&mut client, &pid, "more garbage");
    let shown = client.call("mcp-studio.server_logs", json!({"server_id": "bad", "lines": 1000}));
    assert!(text_of(&shown).contains("[stdout] added 57 packages"), "it can be looked at");
    eprintln!(
        "F5: {right}/{calls} right among 100,000 garbage lines, {complaints} log lines, {:?}",
        began.elapsed()
    );
}

#[test]
fn f5_half_an_answer_is_no_answer() {
    let sandbox = Sandbox::new();
    let mut client =
        studio(&sandbox, &faulty_with_deadline(&sandbox, json!({"malformedReplyTo": "tools/call"})));
    let error = client.call("bad.echo", json!({}))["error"].clone();
    // At once where the half tells whose answer it is, else at the deadline.
    assert!([-32603, -32002].map(Value::from).contains(&error["code"]), "{error}");
    assert_eq!(error["data"]["serverId"], "bad");
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
}

#[test]
fn f6_an_endless_line_is_cut_and_its_call_fails() {
    let sandbox = Sandbox::new();
    let mut config = faulty_with_deadline(&sandbox, json!({}));
    config["limits"] = json!({"messageBytes": 1 << 20});
    let mut client = studio(&sandbox, &config);
    let pid = client.call("bad.pid", json!({}));
    let usage = Usage::watch(client.pid());
    let bytes = 40 << 20;
    // The answer to this very call ends the line, and is lost with it.
    let error =
        client.call("bad.emit", json!({"line": "x", "repeat": bytes, "newline": false}))["error"].clone();
    assert_eq!(error["code"], -32002, "{error}");
    let began = Instant::now();
    still_works(&mut client, &pid, "endless line");
    let took = began.elapsed();
    let grown = usage.most();
    assert!(grown <= (1 << 10) + (8 << 10), "{grown} KiB more for a cap of 1 MiB");
    figures::took("F6: the next calls after an endless line", took, Duration::from_secs(1));
    eprintln!("F6: {} MiB on one line, at most {grown} KiB more, next calls after {took:?}", bytes >> 20);
}

#[test]
fn f7_bytes_that_are_no_text_are_refused() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty_with_deadline(&sandbox, json!({})));
    let pid = client.call("bad.pid", json!({}));
    let message = |data: &[u8]| {
        let (head, tail) = (
            br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":""#,
            br#""}}"#,
        );
        hex(&[&head[..], data, &tail[..]].concat())
    };
    let refused: [&[u8]; 7] =
        [b"\xff\xfe", b"\xc3", b"\x00", b"\xed\xa0\x80", br"\ud80", b"\xf4\x90\x80\x80", b"\x01"];
    for bad in refused {
        client.call("bad.emit", json!({"bytesHex": message(bad)}));
        still_works(&mut client, &pid, &format!("{bad:?}"));
        // The client panics at what is no UTF-8 or no JSON; what is refused must not come in another guise either.
        assert_eq!(client.notifications(), Vec::<Value>::new(), "{bad:?}");
    }
    // A result is refused like everything else; its call ends with an error.
    let error =
        client.call("bad.weird", json!({"raw": r#"{"content":[{"type":"text","text":"\ud8"}]}"#}))["error"]
            .clone();
    assert!([-32002, -32603].map(Value::from).contains(&error["code"]), "{error}");
    still_works(&mut client, &pid, "a broken escape in a result");
    // Pairs are text, and CRLF is only packing.
    let tolerated =
        [message(br"\ud83d\ude00"), message("ü☃🙂".as_bytes()), format!("{}0d", message(b"crlf"))];
    for packed in tolerated {
        client.call("bad.emit", json!({"bytesHex": packed}));
        let told = client.wait_for_notification("notifications/message", SOON);
        assert!(told["params"]["data"].is_string());
    }
    eprintln!("F7: {} kinds of bad bytes from a server, none passed on, 0 disconnects", refused.len() + 1);
}

/// Returns the answer of this id as its bytes, which may be no text to us.
fn answer_bytes(client: &mut Client, id: u64) -> String {
    let id = format!(r#""id":{id},"#);
    let found = |frame: Vec<u8>| String::from_utf8(frame).ok().filter(|text| text.contains(&id));
    std::iter::from_fn(|| client.recv_raw(SOON)).find_map(found).unwrap_or_default()
}

// F7, M12: an escaped half of a surrogate pair is ASCII on the wire and passes as it came, both ways. Only what we read
// as text refuses it, for its own message or entry alone.
#[test]
fn f7_half_a_surrogate_pair_passes_as_it_came() {
    let sandbox = Sandbox::new();
    let tool =
        |name: &str, more: &str| format!(r#"{{"name":"{name}"{more},"inputSchema":{{"type":"object"}}}}"#);
    let tools = [
        tool("echo", ""),
        tool("odd", r#","description":"a\u00e9\ud83d","annotations":{"\udc00":"\ud800"}"#),
        tool(r"\ud83d", ""),
        tool("weird", ""),
        tool("emit", ""),
    ];
    let knobs = format!(r#"{{"name":"bad","instructions":"Be kind.","tools":[{}]}}"#, tools.join(","));
    let config = json!({"mcpServers": {"bad": {"command": bin("fake-server"), "args": [knobs]}}});
    // The second time from what was saved.
    for time in ["first", "second"] {
        let mut client = studio(&sandbox, &config);
        client.send_text(r#"{"jsonrpc":"2.0","id":500,"method":"tools/list"}"#);
        let listed = answer_bytes(&mut client, 500);
        assert!(listed.contains(r#"a\u00e9\ud83d","annotations":{"\udc00":"\ud800"}"#), "{time}: {listed}");
        assert_eq!(listed.matches(r#""name":"bad."#).count(), 4, "{time}: one is left out: {listed}");
        client.leave();
    }
    let mut client = studio(&sandbox, &config);
    let raw = r#"{"content":[{"type":"text","text":"\ud83d"}],"_meta":{"\udfff":"x"}}"#;
    let call = json!({"jsonrpc": "2.0", "id": 501, "method": "tools/call", "params": {"name": "bad.weird", "arguments": {"raw": raw}}});
    client.send(call);
    let answer = answer_bytes(&mut client, 501);
    assert!(answer.contains(raw), "{answer}");
    let told = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\udc00\ud800"}}"#;
    client
        .request("tools/call", json!({"name": "bad.emit", "arguments": {"bytesHex": hex(told.as_bytes())}}));
    let passed = |frame: Vec<u8>| String::from_utf8_lossy(&frame).contains(r#""data":"\udc00\ud800""#);
    assert!(std::iter::from_fn(|| client.recv_raw(SOON)).any(passed));
    let arguments = r#"{"text":"\ud83dx","\udc00":1}"#;
    client.send_text(&format!(
        r#"{{"jsonrpc":"2.0","id":502,"method":"tools/call","params":{{"name":"bad.echo","arguments":{arguments}}}}}"#
    ));
    assert_eq!(text_of(&client.wait_for(502, SOON)), arguments);
    for (name, code) in [(r"bad.\ud83d", -32602), (r"\udc00", -32602)] {
        client.send_text(&format!(
            r#"{{"jsonrpc":"2.0","id":503,"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
        ));
        assert_eq!(client.wait_for(503, SOON)["error"]["code"], code, "{name}");
    }
    client.send_text(r#"{"jsonrpc":"2.0","id":504,"method":"\ud800"}"#);
    assert_eq!(client.wait_for(504, SOON)["error"]["code"], -32600);
    assert_eq!(text_of(&client.call("bad.echo", json!({"text": "x"}))), "x");
}

#[test]
fn f7_a_byte_order_mark_is_only_packing() {
    let sandbox = Sandbox::new();
    let first = "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"first words\"}}\r";
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({"garbage": [first]})));
    assert_eq!(text_of(&client.call("bad.echo", json!({"text": "x"}))), "x");
    let told = client.wait_for_notification("notifications/message", SOON);
    assert_eq!(told["params"], json!({"data": "first words"}));
}

#[test]
fn f8_a_flood_on_stderr_is_drained() {
    let sandbox = Sandbox::new();
    let lines = figure(200_000, 2_000_000);
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({"stderrFlood": lines})));
    let calls = 500;
    let began = Instant::now();
    assert_eq!(pump(&mut client, "bad.echo", calls), calls);
    let took = began.elapsed();
    let last = format!("fake-server: flood line {}", lines - 1);
    let mut shown = Vec::new();
    let drained = until(Duration::from_secs(120), || {
        let answer = client.call("mcp-studio.server_logs", json!({"server_id": "bad", "lines": 5000}));
        shown = text_of(&answer).lines().map(str::to_owned).collect();
        shown.last() == Some(&last)
    });
    assert!(drained, "to the last line: {:?}", shown.last());
    assert_eq!(shown.len(), 1000, "a ring, not a heap");
    assert!(memory(&client, "VmRSS") < 100 << 10, "{} KiB", memory(&client, "VmRSS"));
    eprintln!("F8: {lines} lines drained in {:?}, {calls} calls meanwhile in {took:?}", began.elapsed());
}

#[test]
fn f9_a_flood_of_list_changes_is_few_readings() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    client.tool_names();
    let usage = Usage::watch(client.pid());
    let news = figure(20_000, 200_000);
    let flood = client.request("tools/call", json!({"name": "bad.flood", "arguments": {"n": news, "method": "notifications/tools/list_changed", "params": {}}}));
    for _ in 0..200 {
        assert_eq!(text_of(&client.call("good.echo", json!({"text": "meanwhile"}))), "meanwhile");
    }
    client.wait_for(flood, Duration::from_secs(60));
    let readings = sandbox.received("bad.log", "tools/list").len();
    let grown = usage.most();
    assert!(readings <= 20, "{readings}");
    // The server says so, and so do we, though nothing changed: no more often than it is read.
    let told = client.notifications();
    assert!(told.len() <= readings, "{} announcements, {readings} readings", told.len());
    assert!(told.iter().all(|one| one["method"] == "notifications/tools/list_changed"), "{told:?}");
    assert!(grown < 16 << 10, "{grown} KiB");
    eprintln!("F9: {news} list changes, {readings} readings, at most {grown} KiB more");
}

#[test]
fn f9_progress_nobody_asked_for_is_dropped() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let pid = client.call("bad.pid", json!({}));
    for token in [json!(999_999), json!("text"), json!(null), json!({}), json!(65_536)] {
        let params = json!({"progressToken": token, "progress": 1});
        client.call("bad.flood", json!({"n": 2000, "method": "notifications/progress", "params": params}));
    }
    client.call("bad.flood", json!({"n": 2000, "method": "notifications/progress", "params": {}}));
    still_works(&mut client, &pid, "a flood of progress");
    assert_eq!(client.notifications(), Vec::<Value>::new());
    // What was asked for comes, all of it, in order.
    let steps = figure(5_000, 50_000) as u64;
    let call =
        json!({"name": "bad.progress", "arguments": {"steps": steps}, "_meta": {"progressToken": "t"}});
    let id = client.request("tools/call", call);
    client.wait_for(id, Duration::from_secs(60));
    let told: Vec<u64> =
        client.notifications().iter().filter_map(|one| one["params"]["progress"].as_u64()).collect();
    assert_eq!(told, (1..=steps).collect::<Vec<_>>());
    eprintln!("F9: 12,000 stray progress notifications dropped, {steps} asked for passed on");
}

#[test]
fn f10_answers_nobody_waits_for_are_dropped() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({"noise": true})));
    let pid = client.call("bad.pid", json!({}));
    client.notifications();
    let sleeping = client.request("tools/call", json!({"name": "bad.sleep", "arguments": {"ms": 1000}}));
    let sent = |sandbox: &Sandbox| {
        let calls = sandbox.received("bad.log", "tools/call");
        calls.iter().find(|call| call["params"]["name"] == "sleep").map(|call| call["id"].clone())
    };
    assert!(until(SOON, || sent(&sandbox).is_some()));
    let id = sent(&sandbox).expect("it was just there");
    let past = sandbox.received("bad.log", "tools/call")[0]["id"].clone();
    // Unknown, used before, the right digits as a string or a fraction, none at all, of no type an id has.
    let wrong = [
        json!(4711),
        past,
        json!(id.to_string()),
        json!(-1),
        json!(null),
        json!({}),
        json!([id]),
        json!(true),
    ];
    for wrong in &wrong {
        for body in [r#""result":{"content":[]}"#, r#""error":{"code":1,"message":"no"}"#] {
            client.call("bad.emit", json!({"line": format!(r#"{{"jsonrpc":"2.0","id":{wrong},{body}}}"#)}));
        }
    }
    client.call("bad.emit", json!({"line": format!(r#"{{"jsonrpc":"2.0","id":{id}.0,"result":{{}}}}"#)}));
    client.call("bad.emit", json!({"line": r#"{"jsonrpc":"2.0","result":{}}"#}));
    assert_eq!(text_of(&client.wait_for(sleeping, SOON)), "slept", "its own answer, not one of those");
    // Two replies: the first counts, the second is nobody's.
    assert_eq!(text_of(&client.call("bad.twice", json!({}))), "first");
    still_works(&mut client, &pid, "two replies");
    let calls = figure(5_000, 100_000);
    assert_eq!(pump(&mut client, "bad.echo", calls), calls);
    assert_eq!(pump(&mut client, "bad.echo", 1), 1);
    eprintln!(
        "F10: {} wrong answers dropped, {calls} calls among wrong ids, 0 misroutes",
        wrong.len() * 2 + 2 + calls
    );
}

#[test]
fn f10_result_and_error_together_are_neither() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let pid = client.call("bad.pid", json!({}));
    for body in
        [r#""result":{},"error":{"code":1,"message":"x"}"#, r#""error":"text""#, r#""error":null"#, ""]
    {
        let before = sandbox.received("bad.log", "tools/call").len();
        let sleeping = client.request("tools/call", json!({"name": "bad.sleep", "arguments": {"ms": 900}}));
        assert!(until(SOON, || sandbox.received("bad.log", "tools/call").len() > before));
        let id = sandbox.received("bad.log", "tools/call")[before]["id"].clone();
        let comma = if body.is_empty() { "" } else { "," };
        client.call("bad.emit", json!({"line": format!(r#"{{"jsonrpc":"2.0","id":{id}{comma}{body}}}"#)}));
        let answer = client.wait_for(sleeping, SOON);
        // One answer: our word that theirs was malformed, or the good one that came after it.
        let malformed = answer["error"]["code"] == -32603 && answer["error"]["data"]["serverId"] == "bad";
        assert!(malformed || answer["result"]["content"][0]["text"] == "slept", "{body}: {answer}");
        still_works(&mut client, &pid, "a malformed answer");
    }
    eprintln!("F10: malformed answers end one call each, the connection lives");
}
