//! What opens the door on an address others can reach (T4, decision 24), and stays on this side of it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::cli::run;
use crate::http_lifecycle::{Answer, http_command};

// T4, decision 24: an address others can reach needs a token
#[test]
fn t4_an_open_address_without_a_token_does_not_start() {
    let sandbox = Sandbox::new();
    for host in ["0.0.0.0", "::", "192.0.2.1", "example.com"] {
        let configured = with_server(&sandbox, json!({"host": host}));
        for (config, more) in
            [(one(&sandbox), vec!["--host", host, "--eager"]), (configured, vec!["--eager"])]
        {
            let ran = run(http_command(&sandbox, &config, &more));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
            for word in ["token", "--token-file", "MANIFOLD_TOKEN", "server.token"] {
                assert!(ran.stderr.contains(word), "no {word} in {}", ran.stderr);
            }
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
            assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
        }
    }
    // A token that is not there is none: empty, or a variable nobody set.
    for token in ["", "${NO_SUCH_TOKEN}"] {
        let config = with_server(&sandbox, json!({"host": "0.0.0.0", "token": token}));
        let ran = run(http_command(&sandbox, &config, &["--eager"]));
        assert_eq!(ran.code, Some(2), "{token:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("token"), "{}", ran.stderr);
    }
    sandbox.write("empty", "\n \n");
    let (empty, missing) = (sandbox.path("empty"), sandbox.path("missing"));
    for file in [empty, missing] {
        let ran = run(http_command(
            &sandbox,
            &one(&sandbox),
            &["--host", "0.0.0.0", "--token-file", file.to_str().unwrap()],
        ));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(file.to_str().unwrap()), "{}", ran.stderr);
    }
    let mut command = http_command(&sandbox, &one(&sandbox), &["--host", "0.0.0.0"]);
    command.env("MANIFOLD_TOKEN", "");
    assert_eq!(run(command).code, Some(2));
    let ran = run(http_command(&sandbox, &one(&sandbox), &["--host", "0.0.0.0", "--token", ""]));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(!sandbox.path("s.pid").exists(), "nothing is spawned");
}

// L17: a token that can be guessed, or a file that others can read, guards nothing
#[test]
fn l17_weak_tokens_are_told_of_and_refused_where_others_can_come() {
    const SHORT: &str = "fifteen letters";
    const ENOUGH: &str = "sixteen letters!";
    let sandbox = Sandbox::new();
    let (private, short) = (sandbox.write_private("private", ENOUGH), sandbox.write_private("short", SHORT));
    let open = sandbox.write("open", ENOUGH).to_string_lossy().into_owned();
    for (host, starts) in [("127.0.0.1", true), ("0.0.0.0", false)] {
        let base = ["--host", host, "--token-file"];
        for (file, word) in [(&short, "at least 16"), (&open, open.as_str())] {
            let command = http_command(&sandbox, &one(&sandbox), &[&base[..], &[file]].concat());
            let stderr = if starts {
                let gateway = spawn(command);
                let stderr = gateway.client.stderr();
                end_quietly(gateway.client);
                stderr
            } else {
                let ran = run(command);
                assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
                ran.stderr
            };
            assert!(stderr.contains(word), "{host} {file}: {stderr}");
            assert!(!stderr.contains(SHORT) && !stderr.contains(ENOUGH), "{stderr}");
        }
        let gateway = spawn(http_command(&sandbox, &one(&sandbox), &[&base[..], &[&private]].concat()));
        assert!(!gateway.client.stderr().contains("WARN"), "{}", gateway.client.stderr());
        end_quietly(gateway.client);
    }
    let config = with_server(&sandbox, json!({"host": "0.0.0.0", "token": SHORT}));
    let ran = run(http_command(&sandbox, &config, &[]));
    assert!(ran.code == Some(2) && ran.stderr.contains("at least 16"), "{}", ran.stderr);
}

// L17: guessing is slowed down by address, and whoever has the token does not notice
#[test]
fn l17_wrong_tokens_are_limited_and_a_right_one_never_is() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &with_server(&sandbox, json!({"token": TOKEN})), &[]);
    let port = gateway.port;
    let ask = move |token: &str| {
        let mut connection = Conn::open(port);
        connection.send("GET", "/api/status", &[("Authorization", &bearer(token))], "");
        connection.answer()
    };
    let mut limited = None;
    // However long each takes, so many at once are more than ten a second.
    let asked_enough = until(PATIENCE, || {
        let answers = thread::scope(|scope| {
            let guesses: Vec<_> = (0..40).map(|n| scope.spawn(move || ask(&format!("guess {n}")))).collect();
            guesses.into_iter().map(|guess| guess.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(answers.iter().all(|answer| [401, 429].contains(&answer.status)));
        limited = answers.into_iter().find(|answer| answer.status == 429);
        assert_eq!(ask(TOKEN).status, 200);
        limited.is_some()
    });
    let limited = limited.filter(|_| asked_enough).expect("it is limited");
    assert_eq!(limited.header("retry-after"), Some("1"), "{}", limited.text());
    assert!((0..50).all(|_| ask(TOKEN).status == 200), "a right token is never limited");
    assert_eq!(gateway.ask("GET", "/api/status", &[], "").status, 401, "who brings none has not guessed");
    end_quietly(gateway.client);
}

/// Checks that this token, and no other, opens every route but `/health`.
fn check_token(gateway: &Gateway, token: &str) {
    let right = bearer(token);
    check_served(gateway, &[("Authorization", &right)]);
    assert_eq!(gateway.ask("GET", "/health", &[], "").status, 200);
    let answer = gateway.ask("POST", "/api/default/mcp", &[], &trace());
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
}

/// Returns an answer without what changes by the second.
fn timeless(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
    (answer.status, headers, answer.text())
}

/// Asks with a wrong token as often as it takes to be heard: only so many are in a second (L17).
fn unhurried(gateway: &Gateway, method: &str, path: &str, wrong: &str, body: &str) -> Answer {
    let mut answer = None;
    until(PATIENCE, || {
        let asked = gateway.ask(method, path, &[("Authorization", wrong)], body);
        let is_heard = asked.status != 429;
        answer = Some(asked);
        is_heard
    });
    answer.unwrap()
}

// T4, decision 24: every wrong token is answered alike, on every route but `/health`
#[test]
fn t4_a_wrong_token_is_401_whatever_is_wrong_with_it() {
    let sandbox = Sandbox::new();
    let config = with_server(&sandbox, json!({"host": "0.0.0.0", "token": TOKEN}));
    let gateway = spawn(http_command(&sandbox, &config, &["--eager", "--log-level", "debug"]));
    let wrong = [
        bearer("x"),
        bearer(&TOKEN[..TOKEN.len() - 1]),
        bearer(&format!("{TOKEN}x")),
        bearer(&TOKEN.to_uppercase()),
        bearer(&"x".repeat(TOKEN.len())),
        bearer(&"x".repeat(9000)),
        "Bearer".to_owned(),
        TOKEN.to_owned(),
        format!("Basic {TOKEN}"),
        format!("Token {TOKEN}"),
        format!("Bearer{TOKEN}"),
    ];
    for (method, path) in
        ROUTES.into_iter().filter(|(method, path)| *path != "/health" && *method != "OPTIONS")
    {
        let body = if method == "POST" { trace() } else { String::new() };
        let none = gateway.ask(method, path, &[], &body);
        assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer")), "{method} {path}");
        for wrong in &wrong {
            let answer = unhurried(&gateway, method, path, wrong, &body);
            assert_eq!(timeless(&answer), timeless(&none), "{method} {path}: {wrong}");
        }
    }
    // A token in the address ends up in logs and histories.
    for (query, status) in [(format!("token={TOKEN}"), 401), (format!("access_token={TOKEN}"), 400)] {
        assert_eq!(gateway.ask("GET", &format!("/api/status?{query}"), &[], "").status, status, "{query}");
    }
    assert_eq!(calls(&sandbox), 0, "no tool ran");
    check_token(&gateway, TOKEN);
    check_served(&gateway, &[("Authorization", &format!("bearer {TOKEN}"))]);
    // An address that is open answers to any name; the token guards it.
    check_served(&gateway, &[("Authorization", &bearer(TOKEN)), ("Host", "gateway.example:3095")]);
    check_refused_everywhere(
        &gateway,
        &[("Authorization", &bearer(TOKEN)), ("Origin", "https://evil.example")],
        403,
    );
    assert!(!gateway.client.stderr().contains(TOKEN), "the token is in the log");
    end_quietly(gateway.client);
}

// Decision 24: the ways to give a token, and which comes first
#[test]
fn t4_every_way_to_give_a_token() {
    let sandbox = Sandbox::new();
    let file = sandbox.write_private("token", "given-by-the-file\n");
    let file = file.as_str();
    let plain = one(&sandbox);
    let configured = with_server(&sandbox, json!({"token": "given-by-the-config"}));
    let cases = [
        (&configured, None, vec![], "given-by-the-config"),
        (&configured, Some("given-by-the-variable"), vec![], "given-by-the-variable"),
        (
            &configured,
            Some("given-by-the-variable"),
            vec!["--token", "given-by-the-flag"],
            "given-by-the-flag",
        ),
        (&configured, Some("given-by-the-variable"), vec!["--token-file", file], "given-by-the-file"),
        (&plain, Some("given-by-the-variable"), vec!["--host", "0.0.0.0"], "given-by-the-variable"),
        (&plain, None, vec!["--host", "0.0.0.0", "--token-file", file], "given-by-the-file"),
        (&plain, None, vec!["--host", "0.0.0.0", "--token", "given-by-the-flag"], "given-by-the-flag"),
    ];
    for (config, variable, more, token) in cases {
        let mut command = http_command(&sandbox, config, &more);
        command.envs(variable.map(|token| ("MANIFOLD_TOKEN", token)));
        let gateway = spawn(command);
        check_token(&gateway, token);
        for other in
            ["given-by-the-config", "given-by-the-variable", "given-by-the-flag", "given-by-the-file"]
        {
            let status = gateway.ask("GET", "/api/status", &[("Authorization", &bearer(other))], "").status;
            assert_eq!(status, if other == token { 200 } else { 401 }, "{other} where {token} counts");
        }
        let stderr = gateway.client.stderr();
        assert_eq!(stderr.contains("--token can be seen"), more.contains(&"--token"), "{stderr}");
        assert!(!stderr.contains(token), "{stderr}");
        // Decision 30: it is not for the servers.
        let env =
            calling(1, "tools/call", json!({"name": "s__env", "arguments": {"name": "MANIFOLD_TOKEN"}}));
        let answer = gateway.ask("POST", "/api/default/mcp", &[("Authorization", &bearer(token))], &env);
        assert_eq!(answer.json()["result"]["content"][0]["text"], "unset");
        end_quietly(gateway.client);
    }
}

// Decision 24: names of ours, configured or given, on loopback and on an open address
#[test]
fn t1_allowed_hosts_are_served_and_no_others() {
    let sandbox = Sandbox::new();
    let config = with_server(&sandbox, json!({"allowedHosts": ["gw.example", "exact.example:8443"]}));
    let gateway = Gateway::start(&sandbox, &config, &["--allowed-host", "other.example"]);
    for host in
        ["gw.example", "GW.example:80", "exact.example:8443", "other.example", "localhost", "127.0.0.1"]
    {
        check_served(&gateway, &[("Host", host)]);
    }
    let before = calls(&sandbox);
    for host in
        ["evil.example", "x.gw.example", "gw.example.evil.example", "exact.example", "exact.example:80"]
    {
        check_refused_everywhere(&gateway, &[("Host", host)], 403);
    }
    // A name of ours is no origin of ours.
    check_refused_everywhere(&gateway, &[("Host", "gw.example"), ("Origin", "https://evil.example")], 403);
    assert_eq!(calls(&sandbox), before);
    end_quietly(gateway.client);

    let config =
        with_server(&sandbox, json!({"host": "0.0.0.0", "token": TOKEN, "allowedHosts": ["gw.example"]}));
    let gateway = spawn(http_command(&sandbox, &config, &[]));
    let right = bearer(TOKEN);
    check_served(&gateway, &[("Host", "gw.example"), ("Authorization", &right)]);
    check_refused_everywhere(&gateway, &[("Host", "evil.example"), ("Authorization", &right)], 403);
    end_quietly(gateway.client);
}

/// A remote server that remembers the heads of what it is sent.
fn remote() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || serve_remote(stream, &kept));
        }
    });
    (url, heads)
}

fn serve_remote(mut stream: TcpStream, heads: &Mutex<Vec<String>>) {
    let mut read = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            match stream.read(&mut chunk) {
                Ok(count @ 1..) => read.extend_from_slice(&chunk[..count]),
                _ => return,
            }
            continue;
        };
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            })
            .unwrap_or(0);
        while read.len() < end + 4 + length {
            match stream.read(&mut chunk) {
                Ok(count @ 1..) => read.extend_from_slice(&chunk[..count]),
                _ => return,
            }
        }
        let message: Value = serde_json::from_slice(&read[end + 4..end + 4 + length]).unwrap_or_default();
        read.drain(..end + 4 + length);
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}})
            }
            Some("tools/list") => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "hello"}]}),
            _ => json!({}),
        };
        let is_get = head.starts_with("GET");
        heads.lock().unwrap().push(head);
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        let answer = match (is_get, message["id"].is_null()) {
            (true, _) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (_, true) => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            _ => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

// T11: what a client tells us to come in is for us alone
#[test]
fn the_client_s_token_never_goes_upstream() {
    let sandbox = Sandbox::new();
    let (url, heads) = remote();
    let server = json!({"type": "http", "url": url, "headers": {"X-Own": "configured"}});
    let config = json!({"mcpServers": {"r": server}, "server": {"token": TOKEN}});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let right = bearer(TOKEN);
    let headers = [
        ("Authorization", right.as_str()),
        ("Cookie", "session=client-cookie"),
        ("X-Api-Key", "client-key"),
        ("X-Forwarded-For", "10.9.8.7"),
        ("Proxy-Authorization", "Basic client-proxy"),
    ];
    let call = calling(1, "tools/call", json!({"name": "r__hello", "arguments": {}}));
    let answer = gateway.ask("POST", "/api/default/mcp", &headers, &call);
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello", "{}", answer.text());
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let answer = gateway.ask("POST", "/mcp", &headers, &calling(1, "initialize", hello));
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    let mut with_id = headers.to_vec();
    with_id.push(("Mcp-Session-Id", &id));
    assert_eq!(gateway.ask("POST", "/mcp", &with_id, &call).json()["result"]["content"][0]["text"], "hello");
    end_quietly(gateway.client);
    let heads = heads.lock().unwrap();
    assert!(heads.len() >= 4, "{heads:?}");
    for head in heads.iter() {
        assert!(head.to_ascii_lowercase().contains("x-own: configured"), "{head}");
        for secret in [TOKEN, "uthorization", "client-cookie", "client-key", "10.9.8.7", id.as_str()] {
            assert!(!head.contains(secret), "{secret} in {head}");
        }
    }
}
