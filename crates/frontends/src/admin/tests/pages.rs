//! Requests over TCP, as browsers and others make them.

use std::time::Duration;

use manifold_admin::{Effect, Route};
use tokio::net::TcpStream;

use super::*;

/// A gateway with its page's port open.
struct Paged {
    desk: Desk,
    port: u16,
}

/// One request, as a table has it.
struct Row {
    what: &'static str,
    host: String,
    headers: String,
    token: Option<String>,
    content_type: &'static str,
}

impl Paged {
    async fn open() -> Self {
        let mut desk = desk();
        let pages = Pages::new(None, desk.world.tasks.clone());
        desk.office = desk.office.with_pages(pages);
        let mut paged = Self { desk, port: 0 };
        let url = paged.grant("view").await.0;
        paged.port = url.trim_end_matches("/ui/").rsplit(':').next().unwrap().parse().unwrap();
        paged
    }

    /// Returns where a page is, and a code for it.
    async fn grant(&self, scope: &str) -> (String, String) {
        let granted =
            self.desk.ask("POST", "/v1/web/session", &format!(r#"{{"scope":"{scope}"}}"#)).await.json();
        assert_eq!((&granted["scope"], &granted["expiresInMs"]), (&scope.into(), &60_000.into()));
        let text = |name: &str| granted[name].as_str().unwrap().to_owned();
        (text("url"), text("code"))
    }

    async fn exchange(&self, code: &str) -> Answered {
        let body = format!(r#"{{"code":"{code}"}}"#);
        self.send(&self.page_request("POST", "/v1/web/token", None, Some(&body))).await
    }

    /// Returns the token of a new session.
    async fn session(&self, scope: &str) -> String {
        let token = self.exchange(&self.grant(scope).await.1).await.json();
        assert_eq!(token["scope"], scope);
        self.desk.lines();
        token["token"].as_str().unwrap().to_owned()
    }

    fn page_request(&self, method: &str, path: &str, token: Option<&str>, body: Option<&str>) -> String {
        let port = self.port;
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let headers = format!("{token}Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n");
        request(method, path, &headers, body).replace("Host: m", &format!("Host: 127.0.0.1:{port}"))
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Makes one request of these bytes and returns all that comes.
    async fn send(&self, request: &str) -> Answered {
        let mut socket = self.connect().await;
        let _ = socket.write_all(request.as_bytes()).await;
        let mut read = Vec::new();
        let _ = socket.read_to_end(&mut read).await;
        Answered::of(&String::from_utf8_lossy(&read))
    }

    async fn get(&self, path: &str, headers: &str) -> Answered {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        self.send(&request("GET", path, headers, None).replace("Host: m", &host)).await
    }

    /// A request that is let in, for others to differ from by one thing.
    fn good(&self, token: &str) -> Row {
        Row {
            what: "good",
            host: format!("Host: 127.0.0.1:{}\r\n", self.port),
            headers: String::new(),
            token: Some(format!("Bearer {token}")),
            content_type: "application/json",
        }
    }

    fn hostile(&self, token: &str) -> Vec<Row> {
        let (port, other) = (self.port, self.port ^ 1);
        let good = || self.good(token);
        let host = |what, host: String| Row { what, host, ..good() };
        let with = |what, headers: String| Row { what, headers, ..good() };
        let token_of = |what, token: Option<&str>| Row { what, token: token.map(str::to_owned), ..good() };
        vec![
            host("another name", "Host: evil.example\r\n".to_owned()),
            host("another name with our port", format!("Host: evil.example:{port}\r\n")),
            host("another port", format!("Host: 127.0.0.1:{other}\r\n")),
            host("no port", "Host: 127.0.0.1\r\n".to_owned()),
            host("no host", String::new()),
            host("two hosts", format!("Host: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n")),
            with("another site", "Origin: https://evil.example\r\n".to_owned()),
            with("no origin of its own", "Origin: null\r\n".to_owned()),
            with("another port of this machine", format!("Origin: http://127.0.0.1:{other}\r\n")),
            with("another name of this machine", format!("Origin: http://localhost:{port}\r\n")),
            with("another scheme", format!("Origin: https://127.0.0.1:{port}\r\n")),
            with("two origins", format!("Origin: http://127.0.0.1:{port}\r\nOrigin: null\r\n")),
            with("same site", "Sec-Fetch-Site: same-site\r\n".to_owned()),
            with("cross site", "Sec-Fetch-Site: cross-site\r\n".to_owned()),
            token_of("no token", None),
            token_of("a wrong token", Some("Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
            token_of("another scheme of tokens", Some(&format!("Basic {token}"))),
            Row { what: "text", content_type: "text/plain", ..good() },
            Row { what: "a form", content_type: "application/x-www-form-urlencoded", ..good() },
        ]
    }

    /// Announces a body and sends none.
    async fn announce(&self, route: &Route, row: &Row) -> Answered {
        let path = route.path.replace("{id}", "s");
        let token = row.token.as_ref().map(|token| format!("Authorization: {token}\r\n")).unwrap_or_default();
        let (method, host, headers) = (route.method.as_str(), &row.host, &row.headers);
        let kind = row.content_type;
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}{token}Content-Type: {kind}\r\nContent-Length: 9\r\n\r\n"
        ))
        .await
    }
}

// T42, B5: each is refused by its head, while its body is still to come, and nothing is done.
#[tokio::test]
async fn no_hostile_request_is_answered_whatever_it_asks() {
    let paged = Paged::open().await;
    let token = paged.session("edit").await;
    for route in ROUTES {
        for row in paged.hostile(&token) {
            // A code is brought without a token.
            if route.path == "/v1/web/token" && row.what.contains("token") {
                continue;
            }
            let answer = paged.announce(route, &row).await;
            let what = format!("{} {}: {}: {answer:?}", route.method.as_str(), route.path, row.what);
            assert!(matches!(answer.status, 400 | 401 | 403), "{what}");
            assert_eq!(answer.header("connection"), Some("close"), "{what}");
            assert!(!answer.head.contains("access-control") && !answer.head.contains("set-cookie"), "{what}");
            if row.what.contains("token") {
                assert_eq!((answer.status, answer.code()), (401, "session-ended".to_owned()), "{what}");
                assert!(answer.body.contains("`manifold open`"), "{what}");
            }
        }
    }
    let program = &paged.desk.program;
    assert_eq!((lock(&program.edits).len(), lock(&program.orders).len()), (0, 0));
    assert_eq!((lock(&program.opened).len(), paged.desk.lines().len()), (0, 0));
    let still = paged.send(&paged.page_request("GET", "/v1/about", Some(&token), None)).await;
    assert_eq!(still.status, 200, "{still:?}");
}

/// The least that a page needs, as the manual says.
fn least(route: &Route) -> Option<&'static str> {
    match (route.path, route.effect) {
        ("/v1/web/token", _) => Some("none"),
        ("/v1/web/session", _) => None,
        (path, Effect::Changes) if path.starts_with("/v1/daemon/") => None,
        (path, _) if path.starts_with("/v1/config") || path.starts_with("/v1/setup") => Some("edit"),
        ("/v1/permissions" | "/v1/servers/{id}/enable" | "/v1/servers/{id}/disable", Effect::Changes) => {
            Some("edit")
        }
        ("/v1/recordings/{id}" | "/v1/doctor", Effect::Reads) => Some("act"),
        (_, Effect::Reads) => Some("view"),
        (_, Effect::Asks | Effect::Changes) => Some("act"),
    }
}

// T3, B6: whoever may not is refused before a body is read: nobody but *edit* names a command, a variable, an address or a path.
#[tokio::test]
async fn each_route_is_for_those_it_is_for() {
    let paged = Paged::open().await;
    let scopes = ["none", "view", "act", "edit"];
    for (rank, scope) in scopes.into_iter().enumerate() {
        let token = if scope == "none" { None } else { Some(paged.session(scope).await) };
        for route in ROUTES {
            let needed = least(route).and_then(|needed| scopes.iter().position(|scope| *scope == needed));
            let row = Row { token: token.as_ref().map(|token| format!("Bearer {token}")), ..paged.good("") };
            let what = format!("{} {} as {scope}", route.method.as_str(), route.path);
            if needed.is_none_or(|needed| rank < needed) {
                let answer = paged.announce(route, &row).await;
                let expected = if scope == "none" { 401 } else { 403 };
                assert_eq!(answer.status, expected, "{what}: {answer:?}");
            } else if !matches!(route.path, "/v1/events" | "/v1/traffic") {
                let path = route.path.replace("{id}", "nothing");
                let body = if route.effect == Effect::Reads { None } else { Some("{}") };
                let request = paged.page_request(route.method.as_str(), &path, token.as_deref(), body);
                let answer = paged.send(&request).await;
                assert!(answer.status != 403 && answer.status != 0, "{what}: {answer:?}");
                let told = Some(scope).filter(|scope| *scope != "none" && route.path != "/v1/web/token");
                assert_eq!(answer.header("manifold-scope"), told, "{what}: {answer:?}");
            }
        }
    }
    assert!(lock(&paged.desk.program.orders).is_empty());
}

#[tokio::test]
async fn variables_and_folders_of_servers_are_named_by_no_page() {
    let paged = Paged::open().await;
    let token = paged.session("edit").await;
    let body = r#"{"name": "s__echo", "client": {"cwd": "/", "values": {"PATH": "/evil"}}}"#;
    let answer = paged.send(&paged.page_request("POST", "/v1/call", Some(&token), Some(body))).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(lock(&paged.desk.program.opened).is_empty());
}

// A page cannot have a change of its own left out of what can be undone; a command keeps its own record.
#[tokio::test]
async fn who_keeps_the_record_of_a_change_is_said_by_commands_alone() {
    let paged = Paged::open().await;
    let token = paged.session("edit").await;
    let told = "Manifold-Undo: asker\r\n";
    let asked = paged.page_request("POST", "/v1/servers/s/disable", Some(&token), None);
    let asked = asked.replacen("\r\n", &format!("\r\n{told}"), 1);
    assert_eq!(paged.send(&asked).await.status, 200);
    for headers in ["", told] {
        let asked = request("PUT", "/v1/config", headers, Some(r#"{"text":"x"}"#));
        assert_eq!(paged.desk.send(&asked).await.status, 200);
    }
    assert_eq!(*lock(&paged.desk.program.undos), [Undo::Program, Undo::Program, Undo::Asker]);
}

#[tokio::test]
async fn a_code_lets_one_page_in_once() {
    let paged = Paged::open().await;
    let (url, code) = paged.grant("act").await;
    assert_eq!(url, format!("http://127.0.0.1:{}/ui/", paged.port));
    let token = paged.exchange(&code).await.json();
    assert_eq!((&token["scope"], &token["expiresInMs"]), (&"act".into(), &900_000.into()));
    let about = |token: &serde_json::Value| {
        paged.page_request("GET", "/v1/about", Some(token["token"].as_str().unwrap()), None)
    };
    assert_eq!(paged.send(&about(&token)).await.status, 200);
    paged.desk.lines();
    let stopped = paged.page_request("POST", "/v1/servers/s/stop", token["token"].as_str(), None);
    assert_eq!(paged.send(&stopped).await.status, 200);
    let [line] = &paged.desk.lines()[..] else { panic!("one line") };
    assert_eq!(line.actor.face, format!("web:{}", token["sessionId"].as_str().unwrap()));
    let again = paged.exchange(&code).await;
    assert_eq!((again.status, again.code()), (401, "session-ended".to_owned()));
    assert_eq!(paged.send(&about(&token)).await.status, 401, "one of the two was a thief");
    assert_eq!(paged.exchange("guessed").await.status, 401);
}

#[tokio::test]
async fn the_bodies_of_messages_are_for_those_who_may_act_and_told_in_the_audit() {
    let paged = Paged::open().await;
    let (view, act) = (paged.session("view").await, paged.session("act").await);
    for path in ["/v1/traffic?bodies=1", "/v1/traffic?filter=~b%20secret"] {
        let refused = paged.send(&paged.page_request("GET", path, Some(&view), None)).await;
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    assert!(paged.desk.lines().is_empty());
    let mut socket = paged.connect().await;
    let bodies = paged.page_request("GET", "/v1/traffic?bodies=1", Some(&act), None);
    socket.write_all(bodies.as_bytes()).await.unwrap();
    let mut some = [0; 1024];
    assert!(socket.read(&mut some).await.unwrap() > 0);
    let [line] = &paged.desk.lines()[..] else { panic!("one line") };
    assert_eq!((line.verb.as_str(), line.target.as_deref()), ("watch", Some("bodies")));
    assert!(line.actor.face.starts_with("web:"));
}

#[tokio::test]
async fn a_stream_holds_the_program_and_ends_with_its_session() {
    let paged = Paged::open().await;
    let (_, code) = paged.grant("view").await;
    let token = paged.exchange(&code).await.json()["token"].as_str().unwrap().to_owned();
    let held = paged.desk.held();
    let mut socket = paged.connect().await;
    socket.write_all(paged.page_request("GET", "/v1/events", Some(&token), None).as_bytes()).await.unwrap();
    let mut some = [0; 4096];
    assert!(socket.read(&mut some).await.unwrap() > 0);
    becomes(|| paged.desk.held() == held + 1).await;
    paged.exchange(&code).await;
    while socket.read(&mut some).await.unwrap() > 0 {}
    becomes(|| paged.desk.held() == held).await;
}

#[tokio::test]
async fn the_page_is_three_files_with_their_rules() {
    let paged = Paged::open().await;
    let page = paged.get("/ui/", "").await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-cache")));
    assert!(page.body.starts_with("<!doctype html>"));
    let tag = page.header("etag").unwrap().to_owned();
    let known = paged.get("/ui/", &format!("If-None-Match: {tag}\r\n")).await;
    assert_eq!((known.status, known.body.as_str()), (304, ""));
    let script = paged.get("/ui/app.js", "Accept-Encoding: br, gzip\r\n").await;
    assert_eq!(
        (script.header("content-encoding"), script.header("content-type"), script.header("cache-control")),
        (Some("gzip"), Some("text/javascript; charset=utf-8"), Some("no-cache"))
    );
    let hash = script.header("etag").unwrap().trim_matches('"').to_owned();
    let hashed = paged.get(&format!("/ui/app.js?v={hash}"), "").await;
    assert_eq!(hashed.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let old = paged.get("/ui/app.js?v=0000000000000000", "").await;
    assert_eq!((old.status, old.header("cache-control")), (200, Some("no-cache")));
    let nothing = paged.get("/ui/servers", "").await;
    let moved = paged.get("/", "").await;
    assert_eq!((nothing.status, moved.status, moved.header("location")), (404, 307, Some("/ui/")));
    for answer in [page, known, script, hashed, nothing, moved] {
        let policy = answer.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert!(!answer.head.contains("set-cookie") && !answer.head.contains("access-control"));
    }
    let other = paged.send(&request("GET", "/ui/", "", None)).await;
    assert_eq!(other.status, 403, "by another name there is no page");
    assert_eq!(paged.get("/mcp", "").await.status, 401, "clients are not served here");
}

/// The port is there for a page, or for one that may still come.
#[tokio::test(start_paused = true)]
async fn the_port_closes_after_the_last_page() {
    let mut desk = desk();
    desk.office = desk.office.with_pages(Pages::new(None, desk.world.tasks.clone()));
    let granted = desk.ask("POST", "/v1/web/session", "{}").await.json();
    let port: u16 = granted["url"].as_str().unwrap().split([':', '/']).nth(4).unwrap().parse().unwrap();
    let is_open = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    assert!(is_open());
    let body = format!(r#"{{"code":{}}}"#, granted["code"]);
    assert_eq!(desk.ask("POST", "/v1/web/token", &body).await.status, 200);
    tokio::time::sleep(Duration::from_secs(15 * 60 - 5)).await;
    assert!(is_open());
    tokio::time::sleep(Duration::from_secs(10)).await;
    becomes(|| !is_open()).await;
    let again = desk.ask("POST", "/v1/web/session", "{}").await;
    assert_eq!(again.status, 200, "{again:?}");
}

#[tokio::test]
async fn a_gateway_without_pages_says_so() {
    let answer = desk().ask("POST", "/v1/web/session", "{}").await;
    assert_eq!((answer.status, answer.code()), (501, "unsupported".to_owned()));
}
