//! F7 and F21 to F24: whatever a client writes, it gets one error and its session goes on.

use super::*;

#[test]
fn f7_and_from_the_client() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let refused: [&[u8]; 6] = [b"\xff\xfe", b"\xc3", b"\x00", b"\xed\xa0\x80", br"\ud80", b"\x01"];
    for bad in refused {
        let head = br#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"good.echo","arguments":{"text":""#;
        client.send_raw(&[&head[..], bad, b"\"}}}\n"].concat());
        let error = client.recv(SOON);
        assert_eq!(
            (&error["error"]["code"], &error["id"]),
            (&json!(-32700), &Value::Null),
            "{bad:?}: {error}"
        );
        assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    }
    eprintln!("F7: {} kinds of bad bytes from a client, one -32700 each", refused.len());
}

#[test]
fn f21_deep_json_is_a_parse_error() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let pid = client.call("bad.pid", json!({}));
    let depth = 100_000;
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    let shapes = [
        format!("{open}{close}"),
        format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"good.echo","arguments":{{"x":{open}{close}}}}}}}"#
        ),
    ];
    let rounds = figure(30, 3_334);
    let began = Instant::now();
    for _ in 0..rounds {
        for shape in &shapes {
            client.send_text(shape);
            let error = client.recv(SOON);
            assert_eq!(error["error"]["code"], -32700, "{error}");
        }
    }
    let took = began.elapsed() / (rounds * shapes.len()) as u32;
    still_works(&mut client, &pid, "deep JSON from the client");
    let notification =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":{open}{close}}}}}"#);
    client.call("bad.emit", json!({"line": notification}));
    still_works(&mut client, &pid, "deep JSON from the server");
    assert_eq!(client.notifications(), Vec::<Value>::new());
    eprintln!("F21: {} times {depth} deep, {took:?} each with its writing", rounds * shapes.len());
}

#[test]
fn f22_a_line_of_fifty_megabytes_is_one_error() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let pid = client.call("bad.pid", json!({}));
    let usage = Usage::watch(client.pid());
    let long = vec![b'x'; 50 << 20];
    for (head, tail, id) in [
        ("", "", json!(null)),
        (
            r#"{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"good.echo","arguments":{"text":""#,
            r#""}}}"#,
            json!("big"),
        ),
    ] {
        client.send_raw(head.as_bytes());
        client.send_raw(&long);
        client.send_raw(tail.as_bytes());
        let began = Instant::now();
        client.send_raw(b"\n");
        let error = client.recv(SOON);
        let took = began.elapsed();
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32600), &id), "{error}");
        assert_eq!(error["error"]["data"]["limitBytes"], 16 << 20);
        figures::took("F22: the error of a line of 50 MiB", took, Duration::from_secs(1));
        still_works(&mut client, &pid, "a long line");
        eprintln!("F22: 50 MiB line, error {took:?} after its end");
    }
    let grown = usage.most();
    assert!(grown <= (16 << 10) + (8 << 10), "{grown} KiB more for a cap of 16 MiB");
    eprintln!("F22: at most {grown} KiB more");
}

// Decision 33: the limit can be set
#[test]
fn f22_the_limit_of_requests_can_be_set() {
    let sandbox = Sandbox::new();
    let mut config = faulty(&sandbox, json!({}));
    config["limits"] = json!({"requestBytes": 10_000});
    let mut client = studio(&sandbox, &config);
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x".repeat(9_000)}))).len(), 9_000);
    let id =
        client.request("tools/call", json!({"name": "good.echo", "arguments": {"text": "x".repeat(20_000)}}));
    // A long line's id is told where it can be read; `arguments` come first here, so only at its end.
    let error = client.recv(SOON);
    assert_eq!(error["error"]["code"], -32600, "{error}");
    assert!([json!(id), Value::Null].contains(&error["id"]));
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
}

#[test]
fn f23_a_batch_is_one_error_and_no_work() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bad.echo","arguments":{}}}"#;
    let batch = format!("[{}]", vec![call; 1000].join(","));
    let began = Instant::now();
    client.send_text(&batch);
    let error = client.recv(SOON);
    let took = began.elapsed();
    assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32600), &Value::Null));
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    assert!(!sandbox.path("bad.log").exists(), "not one of them was carried out");
    // Where batches exist they are capped.
    let mut client = sandbox.serve(&faulty(&sandbox, json!({})), &["--profile", "mcp-studio"]);
    client.initialize("2025-03-26", json!({}));
    client.send_text(&format!("[{}]", vec![call; 1001].join(",")));
    assert_eq!(client.recv(SOON)["error"]["code"], -32600);
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    eprintln!("F23: a batch of 1,000 refused after {took:?}");
}

#[test]
fn f24_odd_ids_methods_and_versions() {
    let sandbox = Sandbox::new();
    let mut client = studio(&sandbox, &faulty(&sandbox, json!({})));
    for id in ["null", "{}", "[]", "true", "[1]"] {
        client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let error = client.recv(SOON);
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32600), &Value::Null), "{id}");
    }
    let sleeping = json!({"jsonrpc": "2.0", "id": "d", "method": "tools/call", "params": {"name": "bad.sleep", "arguments": {"ms": 600}}});
    for _ in 0..50 {
        client.send(sleeping.clone());
    }
    let answers: Vec<Value> = (0..50).map(|_| client.wait_for("d", SOON)).collect();
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32600).count(), 49);
    assert_eq!(answers.iter().filter(|answer| answer["result"]["content"][0]["text"] == "slept").count(), 1);
    // The same digits as a number and as a string are two ids.
    client.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "bad.sleep", "arguments": {"ms": 300}}}));
    client.send(json!({"jsonrpc": "2.0", "id": "7", "method": "tools/call", "params": {"name": "bad.echo", "arguments": {"text": "other"}}}));
    assert_eq!(text_of(&client.wait_for("7", SOON)), "other");
    assert_eq!(text_of(&client.wait_for(7, SOON)), "slept");
    for method in ["no/such", "rpc.discover", "tools/call/extra"] {
        assert_eq!(client.ask(method, json!({}))["error"]["code"], -32601);
    }
    assert_eq!(
        client.initialize("1.0", json!({}))["error"]["code"],
        -32600,
        "not twice, whatever the version"
    );
    assert_eq!(text_of(&client.call("good.echo", json!({"text": "x"}))), "x");
    eprintln!("F24: 49 of 50 duplicate ids refused, the first unharmed");
}
