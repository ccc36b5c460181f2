//! The config file changes while the gateway serves (F31): what is valid is taken over by difference, what is not
//! changes nothing, and calls on untouched servers never notice.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how long a change takes is measured in real time")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, alive, fake, until};
use serde_json::{Value, json};

use crate::http_lifecycle::{Conn, Gateway, calling};
use crate::s0::end_quietly;

const SOON: Duration = Duration::from_secs(10);

/// Servers by these names, each with an echo, its pid and a nap.
fn servers(sandbox: &Sandbox, names: &[&str]) -> Value {
    let server = |name: &str| {
        let tools = [json!({"name": "echo"}), json!({"name": "pid"}), json!({"name": "sleep"})];
        fake(json!({"name": name, "tools": tools, "pid": sandbox.path(&format!("{name}.pid"))}))
    };
    let all: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), server(name))).collect();
    json!({"mcpServers": all, "managerTools": false})
}

fn starts(sandbox: &Sandbox, name: &str) -> usize {
    fs::read_to_string(sandbox.path(&format!("{name}.pid"))).unwrap_or_default().lines().count()
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Waits until the tool list is the one wanted.
fn await_tools(client: &mut Client, wanted: &[&str]) {
    let mut names = Vec::new();
    let found = until(SOON, || {
        names = client.tool_names();
        names.iter().map(String::as_str).eq(wanted.iter().copied())
    });
    assert!(found, "{names:?} {}", client.stderr());
}

fn open(sandbox: &Sandbox, config: &Value) -> Client {
    let mut client = sandbox.serve(config, &[]);
    client.initialize("2025-11-25", json!({}));
    client
}

const A: [&str; 3] = ["a__echo", "a__pid", "a__sleep"];
const AB: [&str; 6] = ["a__echo", "a__pid", "a__sleep", "b__echo", "b__pid", "b__sleep"];

// F31, decision 37
#[test]
fn a_change_of_the_file_is_taken_over_and_told() {
    let sandbox = Sandbox::new();
    let mut client = open(&sandbox, &servers(&sandbox, &["a"]));
    await_tools(&mut client, &A);
    let pid = text_of(&client.call("a__pid", json!({}))).to_owned();
    let nap = client.request("tools/call", json!({"name": "a__sleep", "arguments": {"ms": 800}}));

    let began = Instant::now();
    sandbox.write_config(&servers(&sandbox, &["a", "b"]));
    client.wait_for_notification("notifications/tools/list_changed", SOON);
    println!("F31: a new server was announced after {:?}", began.elapsed());
    await_tools(&mut client, &AB);
    assert_eq!(text_of(&client.call("b__echo", json!({"text": "hi"}))), "hi");
    assert_eq!(text_of(&client.call("a__pid", json!({}))), pid, "an untouched server keeps running");
    assert_eq!(text_of(&client.wait_for(nap, SOON)), "slept", "and so do its calls");

    let b = text_of(&client.call("b__pid", json!({}))).parse().unwrap();
    let nap = client.request("tools/call", json!({"name": "b__sleep", "arguments": {"ms": 800}}));
    sandbox.write_config(&servers(&sandbox, &["a"]));
    await_tools(&mut client, &A);
    assert_eq!(text_of(&client.wait_for(nap, SOON)), "slept", "a server that goes ends its calls first");
    assert!(until(SOON, || !alive(b)));
    assert_eq!(starts(&sandbox, "a"), 1);
}

// F31
#[test]
fn every_way_to_replace_a_file_is_noticed() {
    let sandbox = Sandbox::new();
    let text = |names: &[&str]| servers(&sandbox, names).to_string();
    // `etc/config.json` → `..data/config.json` → `one/config.json`, as volumes are mounted.
    sandbox.write("etc/one/config.json", &text(&["a"]));
    sandbox.write("etc/two/config.json", &text(&["a", "b"]));
    let etc = sandbox.path("etc");
    symlink("one", etc.join("..data")).unwrap();
    symlink("..data/config.json", etc.join("config.json")).unwrap();
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(etc.join("config.json"));
    let mut client = Client::spawn(command);
    client.initialize("2025-11-25", json!({}));
    await_tools(&mut client, &A);

    let swap = |target: &str| {
        symlink(target, etc.join("..new")).unwrap();
        fs::rename(etc.join("..new"), etc.join("..data")).unwrap();
    };
    swap("two");
    await_tools(&mut client, &AB);
    swap("one");
    await_tools(&mut client, &A);
    // Behind the link, rename-over as editors do it.
    rename_over(&etc.join("one/config.json"), &text(&["a", "b"]));
    await_tools(&mut client, &AB);
    // The link itself replaced by a file.
    rename_over(&etc.join("config.json"), &text(&["a"]));
    await_tools(&mut client, &A);
    // Written in place, in two halves with a pause in between.
    let whole = text(&["a", "b"]);
    let (first, second) = whole.split_at(whole.len() / 2);
    fs::write(etc.join("config.json"), first).unwrap();
    assert!(until(SOON, || client.stderr().contains("not reloaded")), "{}", client.stderr());
    assert_eq!(client.tool_names(), A, "half a file changes nothing");
    let mut file = fs::OpenOptions::new().append(true).open(etc.join("config.json")).unwrap();
    std::io::Write::write_all(&mut file, second.as_bytes()).unwrap();
    await_tools(&mut client, &AB);
    // Gone, and back.
    fs::remove_file(etc.join("config.json")).unwrap();
    assert!(until(SOON, || client.stderr().contains("the config file is gone")), "{}", client.stderr());
    assert_eq!(client.tool_names(), AB);
    fs::write(etc.join("config.json"), text(&["a"])).unwrap();
    await_tools(&mut client, &A);
    assert_eq!(starts(&sandbox, "a"), 1, "none of this concerned it");
}

fn rename_over(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

// F31: namespaces come and go at their own addresses
#[test]
fn namespaces_come_and_go_over_http() {
    let sandbox = Sandbox::new();
    let config = |namespaces: Value| {
        let mut config = servers(&sandbox, &["a", "b"]);
        config["namespaces"] = namespaces;
        config
    };
    let one = json!({"id": "one", "serverIds": ["a"]});
    let two = json!({"id": "two", "serverIds": ["b"]});
    let gateway = Gateway::start(&sandbox, &config(json!([one, two])), &["--namespace", "one"]);
    let session = gateway.session("/mcp/two", "2025-11-25", json!({}));
    let stays = gateway.session("/mcp/one", "2025-11-25", json!({}));
    let mut nap = session.call(2, "b__sleep", json!({"ms": 1000}), None);

    sandbox.write_config(&config(json!([one, {"id": "three", "serverIds": ["a", "b"]}])));
    let ask = |namespace: &str| {
        let answer =
            gateway.ask("POST", &format!("/api/{namespace}/mcp"), &[], &calling(1, "tools/list", json!({})));
        answer.status
    };
    assert!(until(SOON, || ask("three") == 200));
    assert_eq!((ask("one"), ask("two")), (200, 404));
    assert!(nap.answer().text().contains("slept"), "what was in flight is answered");
    let gone = || session.post("application/json, text/event-stream", &calling(3, "ping", json!({}))).status;
    assert_eq!(gone(), 404);
    let alive = stays.post("application/json, text/event-stream", &calling(3, "ping", json!({}))).status;
    assert_eq!(alive, 200, "a session elsewhere goes on");
    end_quietly(gateway.client);
}

// Issue 5: random writes under load fail no call on an untouched server and restart nothing needlessly
#[test]
fn a_storm_of_writes_disturbs_nobody() {
    let writes = if std::env::var_os("MANIFOLD_LONG").is_some() { 10_000 } else { 500 };
    let sandbox = Sandbox::new();
    let steady = servers(&sandbox, &["a", "b"]);
    let gateway = Gateway::start(&sandbox, &steady, &[]);
    let path = sandbox.path(".config/manifold/config.json");
    let port = gateway.port;
    let (over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    // Known before the storm, so that no call waits for a first start.
    let mut first = Conn::open(port);
    echo(&mut first, "a", "x");
    echo(&mut first, "b", "x");
    let began = Instant::now();
    thread::scope(|scope| {
        for client in 0..8 {
            let (over, calls) = (&over, &calls);
            scope.spawn(move || {
                let mut connection = Conn::open(port);
                connection.patience(Duration::from_secs(30));
                let mut n = 0;
                while !over.load(Ordering::Relaxed) {
                    let text = format!("{client} {n}");
                    let server = if n % 2 == 0 { "a" } else { "b" };
                    assert_eq!(echo(&mut connection, server, &text), text);
                    n += 1;
                }
                calls.fetch_add(n, Ordering::Relaxed);
            });
        }
        let valid = [
            steady.to_string(),
            format!("{steady:#}"),
            servers(&sandbox, &["a", "b", "c"]).to_string(),
            servers(&sandbox, &["b", "a"]).to_string(),
        ];
        let mut random = 0x9e37_79b9_u64;
        let mut next = move |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        for _ in 0..writes {
            let text = &valid[next(valid.len())];
            match next(6) {
                0 => fs::write(&path, text).unwrap(),
                1 => rename_over(&path, text),
                2 => fs::write(&path, &text[..next(text.len())]).unwrap(),
                3 => rename_over(&path, "{\"mcpServers\": {\"a\": 7"),
                4 => {
                    let elsewhere = path.with_extension("other");
                    fs::write(&elsewhere, text).unwrap();
                    let link = path.with_extension("link");
                    let _ = fs::remove_file(&link);
                    symlink(&elsewhere, &link).unwrap();
                    fs::rename(link, &path).unwrap();
                }
                _ => drop(fs::remove_file(&path)),
            }
            thread::sleep(Duration::from_millis(next(8) as u64));
        }
        // Whatever came before, the last word is taken.
        rename_over(&path, &servers(&sandbox, &["a", "b", "last"]).to_string());
        let mut connection = Conn::open(port);
        let named = until(SOON, || tools(&mut connection).contains("last__echo"));
        over.store(true, Ordering::Relaxed);
        assert!(named, "the last write is in force: {}", gateway.client.stderr());
    });
    println!(
        "F31: {writes} writes in {:?}, {} calls, 0 failed; a and b were started {} and {} times",
        began.elapsed(),
        calls.load(Ordering::Relaxed),
        starts(&sandbox, "a"),
        starts(&sandbox, "b")
    );
    assert_eq!((starts(&sandbox, "a"), starts(&sandbox, "b")), (1, 1), "no needless restart");
    end_quietly(gateway.client);
}

fn echo(connection: &mut Conn, server: &str, text: &str) -> String {
    let call = json!({"name": format!("{server}__echo"), "arguments": {"text": text}});
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", call));
    let message = connection.answer().json();
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned()
}

fn tools(connection: &mut Conn) -> String {
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/list", json!({})));
    connection.answer().text()
}
