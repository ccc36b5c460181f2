//! The page on the port of HTTP, beside the clients.

use std::thread;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Answer, Conn, Gateway};
use manifold_testkit::{Sandbox, until};
use serde_json::{Value, json};

const TOKEN: &str = "sixteen letters!";

fn config(dashboard: Value, token: Option<&str>) -> Value {
    json!({
        "mcpServers": {"fx": manifold_testkit::fake(json!({"tools": [{"name": "echo"}]}))},
        "dashboard": dashboard,
        "server": token.map_or_else(|| json!({}), |token| json!({ "token": token })),
    })
}

struct Page(Gateway);

impl Page {
    fn ask(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Answer {
        let bearer = format!("Bearer {TOKEN}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        if !body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        headers.extend_from_slice(more);
        self.0.ask(method, path, &headers, body)
    }

    fn status(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> u16 {
        self.ask(method, path, more, body).status
    }
}

// T42: who is no page of ours, or has no token, is not answered there either.
#[test]
fn the_page_is_beside_the_clients_where_the_config_says_so() {
    let sandbox = Sandbox::new();
    let page = Page(Gateway::start(&sandbox, &config(json!({"enabled": true}), Some(TOKEN)), &[]));
    let html = page.0.ask("GET", "/ui/", &[], "");
    assert_eq!(html.status, 200);
    assert!(
        html.header("content-security-policy").is_some_and(|policy| policy.contains("script-src 'self'"))
    );
    assert!(html.text().starts_with("<!doctype html>"));
    let servers = page.ask("GET", "/v1/servers", &[], "");
    assert_eq!((servers.status, servers.text().contains("\"fx\"")), (200, true));
    assert_eq!(servers.header("access-control-allow-origin"), None);
    assert_eq!(page.status("POST", "/v1/servers/fx/start", &[], ""), 200);
    let call = json!({"name": "fx.echo", "arguments": {"text": "hi"}}).to_string();
    let result = page.ask("POST", "/v1/call", &[], &call);
    assert_eq!((result.status, result.text().contains("hi")), (200, true), "{}", result.text());
    // Never the config, whoever it is, and nobody who comes otherwise.
    let entry = json!({"command": "touch", "args": [sandbox.path("spawned")]}).to_string();
    assert_eq!(page.status("GET", "/v1/config", &[], ""), 403);
    assert_eq!(page.status("PUT", "/v1/config/servers/evil", &[], &entry), 403);
    assert_eq!(page.status("POST", "/v1/web/token", &[], "{\"code\": \"x\"}"), 403);
    assert_eq!(page.0.ask("GET", "/v1/servers", &[], "").status, 401);
    assert_eq!(page.0.ask("GET", "/v1/servers", &[("Authorization", "Bearer no")], "").status, 401);
    for (name, value) in [
        ("Origin", "http://127.0.0.1:1"),
        ("Origin", "https://evil.example"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        assert_eq!(page.status("POST", "/v1/call", &[(name, value)], &call), 403, "{name}: {value}");
    }
    assert!(!sandbox.path("spawned").exists());
    // Clients are served as before.
    assert_eq!(page.0.ask("GET", "/health", &[], "").status, 200);
}

// L17: whoever guesses at the token is slowed down here as elsewhere.
#[test]
fn nobody_guesses_the_token_by_way_of_the_page() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(json!({"enabled": true}), Some(TOKEN)), &[]);
    let port = gateway.port;
    let guess = move || {
        let mut connection = Conn::open(port);
        connection.send("GET", "/v1/servers", &[("Authorization", "Bearer wrong")], "");
        connection.answer().status
    };
    // However long each takes, so many at once are more than ten a second.
    let is_limited = until(PATIENCE, || {
        thread::scope(|scope| {
            let guesses: Vec<_> = (0..40).map(|_| scope.spawn(guess)).collect();
            guesses.into_iter().any(|guess| guess.join().unwrap() == 429)
        })
    });
    assert!(is_limited, "guesses are counted");
    let page = Page(gateway);
    assert_eq!(page.status("GET", "/v1/servers", &[], ""), 200, "a right one is never made to wait");
}

#[test]
fn events_reach_a_page_on_the_port_of_http() {
    let sandbox = Sandbox::new();
    let page = Page(Gateway::start(&sandbox, &config(json!({"enabled": true}), Some(TOKEN)), &[]));
    let mut stream = Conn::open(page.0.port);
    stream.send("GET", "/v1/events", &[("Authorization", &format!("Bearer {TOKEN}"))], "");
    let mut events = stream.response().events();
    assert!(events.next().is_some(), "it begins with where it is");
    assert_eq!(page.status("POST", "/v1/servers/fx/start", &[], ""), 200);
    let mut seen = false;
    assert!(until(PATIENCE, || {
        seen |= events.next().is_some_and(|event| event.data.contains("\"fx\""));
        seen
    }));
}

#[test]
fn a_page_may_be_there_to_look_only_and_is_not_there_by_itself() {
    let sandbox = Sandbox::new();
    let dashboard = json!({"enabled": true, "scope": "view"});
    let page = Page(Gateway::start(&sandbox, &config(dashboard, Some(TOKEN)), &[]));
    let looked = page.ask("GET", "/v1/servers", &[], "");
    assert_eq!((looked.status, looked.header("manifold-scope")), (200, Some("view")));
    assert_eq!(page.status("POST", "/v1/servers/fx/start", &[], ""), 403);
    assert_eq!(page.status("GET", "/v1/traffic?bodies=1", &[], ""), 403);
    drop(page);
    let none = Page(Gateway::start(&sandbox, &config(json!({}), Some(TOKEN)), &[]));
    assert_eq!((none.status("GET", "/ui/", &[], ""), none.status("GET", "/v1/servers", &[], "")), (404, 404));
}

#[test]
fn without_a_token_nobody_is_let_in_as_a_page() {
    let sandbox = Sandbox::new();
    let page = Gateway::start(&sandbox, &config(json!({"enabled": true}), None), &[]);
    assert_eq!(page.ask("GET", "/ui/", &[], "").status, 200);
    let refused = page.ask("GET", "/v1/servers", &[], "");
    assert_eq!((refused.status, refused.text().contains("server.token")), (401, true), "{}", refused.text());
}

/// `manifold open` needs nothing of the config: it has a port of its own.
#[test]
fn a_page_of_a_gateway_over_http_is_opened_over_its_socket() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(json!({}), Some(TOKEN)), &[]);
    let mut command = sandbox.manifold();
    command.args(["open", "--json", "--print", "--config"]).arg(sandbox.path(".config/manifold/config.json"));
    let opened = crate::cli::run(command);
    let said: Value = serde_json::from_str(&opened.stdout).unwrap_or_else(|_| panic!("{opened:?}"));
    assert_eq!((&said["answeredBy"], &said["opened"]), (&json!("http"), &json!(false)));
    let url = said["url"].as_str().unwrap();
    assert!(!url.contains(&format!(":{}/", gateway.port)), "{url}");
    let (port, code) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once("/ui/#code=").unwrap();
    let mut page = Conn::open(port.parse().unwrap());
    page.send("POST", "/v1/web/token", &[], &json!({ "code": code }).to_string());
    let token = page.answer();
    assert_eq!((token.status, &token.json()["scope"]), (200, &json!("view")));
    assert_eq!(gateway.ask("GET", "/ui/", &[("Authorization", &format!("Bearer {TOKEN}"))], "").status, 404);
}
