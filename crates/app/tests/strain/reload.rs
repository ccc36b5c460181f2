//! The config file is written over and over while clients call (F31).
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how long it takes is measured in real time")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, fake, until};
use serde_json::{Value, json};

use crate::alone;
use crate::http::{Conn, Gateway, calling, end_quietly};

const SOON: Duration = Duration::from_secs(60);

/// Servers by these names, each with an echo.
fn servers(sandbox: &Sandbox, names: &[&str]) -> Value {
    let server = |name: &str| fake(json!({"name": name, "pid": sandbox.path(&format!("{name}.pid"))}));
    let all: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), server(name))).collect();
    json!({"mcpServers": all, "managerTools": false})
}

fn starts(sandbox: &Sandbox, name: &str) -> usize {
    fs::read_to_string(sandbox.path(&format!("{name}.pid"))).unwrap_or_default().lines().count()
}

fn rename_over(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, path).unwrap();
}

// F31: random writes under load fail no call on an untouched server and restart nothing needlessly
#[test]
fn a_storm_of_writes_disturbs_nobody() {
    let _alone = alone();
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
