//! The page, as a browser comes to it: the code it is opened with, what it may do, and what of it outlives the daemon.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};

use crate::forms::Schemas;
use crate::home::{Home, kill_hard, write_script};
use crate::operator::{Ran, ran};
use crate::{SOON, fake_with};

const LOG: &str = "fx.log";

/// A home whose daemon stays as long after its last client.
fn home_with(linger_ms: u64) -> Home {
    let sandbox = Sandbox::new();
    let servers = json!({"fx": fake_with(&["echo"], json!({"log": sandbox.path(LOG)}))});
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": linger_ms}}))
}

fn home() -> Home {
    home_with(60_000)
}

fn open(home: &Home, words: &[&str]) -> Ran {
    let mut command = home.sandbox.daemon();
    command.arg("open").args(words).arg("--config").arg(&home.config);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("BROWSER");
    ran(command)
}

/// A page that was let in.
struct Page {
    port: u16,
    code: String,
    token: String,
}

/// An answer: its status, its head and its body.
type Answer = (u16, String, String);

fn port_and_code(url: &str) -> (u16, String) {
    let rest = url.trim_end().strip_prefix("http://127.0.0.1:").expect("it is on this machine");
    let (port, code) = rest.split_once("/ui/#code=").expect("it has a code");
    (port.parse().expect("it has a port"), code.to_owned())
}

impl Page {
    fn open(home: &Home, words: &[&str]) -> Self {
        let printed = open(home, &[words, &["--print"]].concat());
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{printed:?}");
        let (port, code) = port_and_code(&printed.stdout);
        let (status, _, body) = exchange(port, &code);
        assert_eq!(status, 200, "{body}");
        let said: Value = serde_json::from_str(&body).expect("it is JSON");
        let token = said["token"].as_str().expect("it has a token").to_owned();
        Self { port, code, token }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let headers =
            format!("Authorization: Bearer {}\r\nOrigin: http://127.0.0.1:{}\r\n", self.token, self.port);
        send(self.port, &request(self.port, method, path, &headers, body)).expect("the port is open")
    }

    fn status(&self, path: &str) -> Option<u16> {
        let headers = format!("Authorization: Bearer {}\r\n", self.token);
        send(self.port, &request(self.port, "GET", path, &headers, "")).map(|answer| answer.0)
    }
}

fn exchange(port: u16, code: &str) -> Answer {
    let body = json!({ "code": code }).to_string();
    send(port, &request(port, "POST", "/v1/web/token", "", &body)).expect("the port is open")
}

fn request(port: u16, method: &str, path: &str, headers: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{kind}{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Makes a request and reads all that comes; nothing where nobody listens, or whoever does is gone before it answers.
fn send(port: u16, request: &str) -> Option<Answer> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.set_read_timeout(Some(SOON)).expect("a socket");
    socket.write_all(request.as_bytes()).ok()?;
    let mut read = Vec::new();
    socket.read_to_end(&mut read).ok()?;
    let text = String::from_utf8_lossy(&read).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, head.to_lowercase(), body.to_owned()))
}

/// Opens a stream and reads its beginning.
fn stream(page: &Page) -> TcpStream {
    let headers = format!("Authorization: Bearer {}\r\n", page.token);
    let mut socket = TcpStream::connect(("127.0.0.1", page.port)).expect("the port is open");
    socket.set_read_timeout(Some(SOON)).expect("a socket");
    socket
        .write_all(request(page.port, "GET", "/v1/events", &headers, "").as_bytes())
        .expect("the daemon reads");
    let mut some = [0; 4096];
    let count = socket.read(&mut some).expect("it is answered");
    assert!(some[..count].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&some[..count]));
    socket
}

#[test]
fn a_page_is_opened_with_a_code_that_is_good_once() {
    let home = home();
    // There is a daemon from then on, which nobody has to start.
    let page = Page::open(&home, &[]);
    let (status, head, html) = page.ask("GET", "/ui/", "");
    assert_eq!((status, html.starts_with("<!doctype html>")), (200, true));
    assert!(head.contains("require-trusted-types-for 'script'"), "{head}");
    let (status, _, servers) = page.ask("GET", "/v1/servers", "");
    assert_eq!((status, servers.contains("\"fx\"")), (200, true), "{servers}");
    let (status, _, refused) = page.ask("POST", "/v1/servers/fx/start", "");
    assert_eq!((status, refused.contains("\"denied\"")), (403, true), "it may only look: {refused}");

    let kept = home.run_file(".pages").expect("it is kept for the next daemon");
    assert_eq!(fs::metadata(&kept).expect("it is there").permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&kept).expect("it can be read");
    assert!(!text.contains(&page.token) && !text.contains(&page.code), "{text}");
    assert!(!home.log().contains(&page.token) && !home.log().contains(&page.code));

    let (status, _, twice) = exchange(page.port, &page.code);
    assert_eq!((status, twice.contains("session-ended")), (401, true), "{twice}");
    let (status, _, ended) = page.ask("GET", "/v1/servers", "");
    assert_eq!((status, ended.contains("`manifold open`")), (401, true), "{ended}");
    assert!(home.run_file(".pages").is_none(), "nothing is left of it");
    home.order(&["stop"]);
}

#[test]
fn a_page_acts_and_edits_as_far_as_it_was_let() {
    let home = home();
    let _window = home.open();
    let act = Page::open(&home, &["--act"]);
    let call = json!({"name": "fx.echo", "arguments": {"text": "hi"}}).to_string();
    let (status, _, result) = act.ask("POST", "/v1/call", &call);
    assert_eq!((status, result.contains("hi")), (200, true), "{result}");
    assert_eq!(act.ask("GET", "/v1/config", "").0, 403);
    let entry = json!({"command": "touch", "args": [home.sandbox.path("spawned")]}).to_string();
    assert_eq!(act.ask("PUT", "/v1/config/servers/evil", &entry).0, 403);
    let config = fs::read(&home.config).expect("the config");
    for order in ["disable", "enable"] {
        let (status, _, refused) = act.ask("POST", &format!("/v1/servers/fx/{order}"), "");
        assert_eq!((status, refused.contains("\"denied\"")), (403, true), "{order}: {refused}");
    }
    assert_eq!(fs::read(&home.config).expect("the config"), config, "one that acts writes no config");
    let edit = Page::open(&home, &["--edit"]);
    let (status, _, config) = edit.ask("GET", "/v1/config", "");
    assert_eq!((status, config.contains("mcpServers")), (200, true), "{config}");
    let entry = json!({"builtin": "time"}).to_string();
    assert_eq!(edit.ask("PUT", "/v1/config/servers/clock", &entry).0, 200);
    assert!(fs::read_to_string(&home.config).expect("the config").contains("clock"));
    assert_eq!(edit.ask("POST", "/v1/daemon/stop", "").0, 403, "the daemon is the user's own");
    assert!(!home.sandbox.path("spawned").exists());
    home.order(&["stop"]);
}

/// What a page changes is taken back by the page, or by the command.
#[test]
fn what_a_page_changed_is_undone_like_a_command() {
    let home = home();
    let _window = home.open();
    let page = Page::open(&home, &["--edit"]);
    let before = fs::read_to_string(&home.config).expect("the config");
    let text = json!({ "text": before.replace("60000", "60001") }).to_string();
    let entry = json!({"builtin": "time"}).to_string();
    let changes = [
        ("POST", "/v1/servers/fx/disable", ""),
        ("PUT", "/v1/config/servers/clock", entry.as_str()),
        ("POST", "/v1/config/servers/fx/rename", r#"{"to": "gx"}"#),
        ("DELETE", "/v1/config/servers/fx", ""),
        ("PUT", "/v1/config", text.as_str()),
    ];
    let now = || fs::read_to_string(&home.config).expect("the config");
    for (number, (method, path, body)) in changes.into_iter().enumerate() {
        let (status, _, said) = page.ask(method, path, body);
        assert_eq!(status, 200, "{path}: {said}");
        assert_ne!(now(), before, "{path}");
        if number % 2 == 0 {
            let (status, _, said) = page.ask("POST", "/v1/setup/undo", "{}");
            assert_eq!((status, said.contains("restored")), (200, true), "{path}: {said}");
        } else {
            let mut undo = home.sandbox.daemon();
            undo.args(["undo", "--config"]).arg(&home.config);
            let undone = ran(undo);
            assert_eq!(undone.code, Some(0), "{path}: {undone:?}");
        }
        assert_eq!(now(), before, "{path}");
    }
    let (status, _, said) = page.ask("POST", "/v1/setup/undo", "{}");
    assert_eq!((status, said.contains("nothing-to-undo")), (409, true), "{said}");
    home.order(&["stop"]);
}

// B5: nothing of it gets to a server.
#[test]
fn no_foreign_request_reaches_a_server() {
    let home = home();
    let _window = home.open();
    let page = Page::open(&home, &["--act"]);
    assert_eq!(page.ask("POST", "/v1/servers/fx/start", "").0, 200);
    let log = || fs::read_to_string(home.sandbox.path(LOG)).unwrap_or_default();
    let (port, token) = (page.port, format!("Authorization: Bearer {}\r\n", page.token));
    let call = json!({"name": "fx.echo", "arguments": {"text": "evil"}}).to_string();
    let good = request(port, "POST", "/v1/call", &token, &call);
    let hostile = [
        good.replace(&format!("Host: 127.0.0.1:{port}"), "Host: evil.example"),
        request(port, "POST", "/v1/call", &format!("{token}Origin: http://127.0.0.1:1\r\n"), &call),
        request(port, "POST", "/v1/call", &format!("{token}Sec-Fetch-Site: same-site\r\n"), &call),
        request(port, "POST", "/v1/call", "", &call),
        good.replace("application/json", "text/plain"),
    ];
    for request in hostile {
        let (status, head, _) = send(port, &request).expect("it is answered");
        assert!(matches!(status, 400 | 401 | 403), "{request}: {head}");
    }
    assert!(!log().contains("tools/call"), "{}", log());
    let (status, _, result) = page.ask("POST", "/v1/call", &call);
    assert_eq!((status, log().contains("tools/call")), (200, true), "{result}");
    home.order(&["stop"]);
}

#[test]
fn a_page_goes_on_with_the_next_daemon() {
    let home = home();
    let window = home.open();
    let page = Page::open(&home, &["--act"]);
    kill_hard(home.daemon());
    // Its client has another one started.
    let back = || until(SOON, || page.status("/v1/about") == Some(200));
    assert!(back(), "after a crash: {}", home.log());
    let restarted = home.order(&["restart"]);
    assert!(restarted.status.success(), "{restarted:?}");
    assert!(back(), "after a restart: {}", home.log());
    let _held = stream(&page);
    let upgraded = home.order(&["upgrade"]);
    assert!(upgraded.status.success(), "{upgraded:?}");
    assert!(back(), "after an upgrade: {}", home.log());
    assert_eq!(page.ask("POST", "/v1/servers/fx/start", "").0, 200, "and may do what it might");
    assert_eq!(exchange(page.port, &page.code).0, 401);
    assert_eq!(page.status("/v1/about"), Some(401), "the code is known as used there, too");
    drop(window);
    home.order(&["stop"]);
}

// One that nobody looks at closes its streams, and goes on when somebody comes back to it.
#[test]
fn a_page_keeps_the_daemon_whether_or_not_it_is_looked_at() {
    let home = home_with(1000);
    let window = home.open();
    let page = Page::open(&home, &[]);
    let daemon = home.daemon();
    // As many as eight tabs have.
    let held: Vec<TcpStream> = (0..8).map(|_| stream(&page)).collect();
    drop(window);
    drop(held);
    // Longer than it stays without anybody.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(home.daemon(), daemon);
    assert_eq!(page.status("/v1/about"), Some(200));
    home.order(&["stop"]);
    assert_eq!(page.status("/v1/about"), None, "its port has gone with it");
    let _window = home.open();
    assert!(until(SOON, || page.status("/v1/about") == Some(200)), "{}", home.log());
    home.order(&["stop"]);
}

#[test]
fn the_browser_is_started_with_the_address() {
    let home = home();
    let _window = home.open();
    let (browser, seen) = (home.sandbox.path("browser"), home.sandbox.path("seen"));
    write_script(
        &browser,
        &format!("#!/bin/sh\nprintf '%s' \"$*\" > {0}.new && mv {0}.new {0}\n", seen.display()),
    );
    let mut command = home.sandbox.daemon();
    command.args(["open", "--json", "--config"]).arg(&home.config);
    command.env("BROWSER", format!("{} --new %s", browser.display()));
    let opened = ran(command);
    let said: Value = serde_json::from_str(&opened.stdout).unwrap_or_else(|_| panic!("{opened:?}"));
    Schemas::read().check("cli-open", &opened.stdout, "open --json");
    assert_eq!((&said["opened"], &said["answeredBy"]), (&json!(true), &json!("daemon")));
    assert!(until(SOON, || seen.exists()));
    let url = said["url"].as_str().expect("it has an address");
    assert_eq!(fs::read_to_string(&seen).expect("it can be read"), format!("--new {url}"));
    let (port, code) = port_and_code(url);
    assert_eq!(exchange(port, &code).0, 200);
    let none = open(&home, &[]);
    assert!(none.stderr.contains("no screen to open a browser on"), "{none:?}");
    port_and_code(&none.stdout);
    home.order(&["stop"]);
}

#[test]
fn where_no_daemon_is_wanted_nothing_is_opened() {
    let sandbox = Sandbox::new();
    let home = Home::within(sandbox, json!({"mcpServers": {"t": {"builtin": "time"}}, "daemon": false}));
    let refused = open(&home, &["--print"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""), "{refused:?}");
}

/// What changes users' files is for those who edit; it is the command itself that does it.
#[test]
fn a_page_sets_up_clients_as_the_commands_do() {
    let home = home();
    let _window = home.open();
    let cursor = home.sandbox.write(".cursor/mcp.json", "{\"mcpServers\": {}}\n");
    let act = Page::open(&home, &["--act"]);
    let install = json!({"client": "cursor", "dryRun": true}).to_string();
    assert_eq!(act.ask("POST", "/v1/setup/install", &install).0, 403);
    assert_eq!(act.ask("GET", "/v1/setup/clients", "").0, 403);
    let json_of = |(status, _, body): Answer| -> Value {
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}"))
    };
    let checks = json_of(act.ask("GET", "/v1/doctor", ""));
    assert!(checks["checks"].as_array().is_some_and(|checks| checks.len() > 5), "{checks}");
    let edit = Page::open(&home, &["--edit"]);
    let clients = json_of(edit.ask("GET", "/v1/setup/clients", ""));
    let is_there = |row: &Value| row["client"] == "cursor" && row["changed"] == true;
    assert!(clients.as_array().is_some_and(|rows| rows.iter().any(is_there)), "{clients}");
    let dry = json_of(edit.ask("POST", "/v1/setup/install", &install));
    assert_eq!((&dry["client"], &dry["changed"]), (&json!("cursor"), &json!(true)));
    assert!(dry["diff"].as_str().is_some_and(|diff| diff.contains("manifold")), "{dry}");
    assert_eq!(fs::read_to_string(&cursor).expect("the file"), "{\"mcpServers\": {}}\n");
    json_of(edit.ask("POST", "/v1/setup/install", &json!({"client": "cursor"}).to_string()));
    assert!(fs::read_to_string(&cursor).expect("the file").contains("manifold"));
    let undone = json_of(edit.ask("GET", "/v1/setup/undo", ""));
    assert_eq!(undone[0]["command"], "install cursor", "{undone}");
    json_of(edit.ask("POST", "/v1/setup/undo", "{}"));
    assert_eq!(fs::read_to_string(&cursor).expect("the file"), "{\"mcpServers\": {}}\n");
    let (status, _, body) = edit.ask("POST", "/v1/setup/install", &json!({"client": "no-such"}).to_string());
    assert!(status >= 400 && body.contains("no-such"), "{status}: {body}");
    json_of(edit.ask("POST", "/v1/setup/import", &json!({"dryRun": true}).to_string()));
    home.order(&["stop"]);
}

#[test]
fn a_recording_is_read_by_its_name_alone() {
    let home = home();
    let mut window = home.open();
    let page = Page::open(&home, &["--act"]);
    let start = json!({"name": "one"}).to_string();
    assert_eq!(page.ask("POST", "/v1/recordings", &start).0, 200);
    window.call("fx__echo", json!({"text": "kept"}));
    assert_eq!(page.ask("DELETE", "/v1/recordings/one", "").0, 200);
    for format in ["json", "har", "text"] {
        let (status, _, body) = page.ask("GET", &format!("/v1/recordings/one?format={format}"), "");
        assert_eq!((status, body.contains("echo")), (200, true), "{format}: {body}");
    }
    let hosts = "/v1/recordings/..%2F..%2F..%2F..%2Fetc%2Fhosts";
    for path in [hosts, "/v1/recordings/%2Fetc%2Fhosts", "/v1/recordings/two"] {
        assert_eq!(page.ask("GET", path, "").0, 404, "{path}");
    }
    assert_eq!(page.ask("GET", "/v1/recordings/one?format=exe", "").0, 400);
    let audit = page.ask("GET", "/v1/audit", "").2;
    assert_eq!(audit.matches("bodies of one").count(), 3, "{audit}");
    let view = Page::open(&home, &[]);
    assert_eq!(view.ask("GET", "/v1/recordings/one", "").0, 403);
    home.order(&["stop"]);
}
