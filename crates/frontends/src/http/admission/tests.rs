use super::*;

fn cors(origins: &[&str]) -> Option<Cors> {
    Some(Cors {
        origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        methods: vec!["GET".to_owned(), "POST".to_owned()],
        allowed_headers: vec!["Content-Type".to_owned()],
        credentials: false,
    })
}

fn headers(lines: &[&str]) -> HeaderMap {
    let parts = lines.iter().map(|line| line.split_once(": ").unwrap());
    parts.map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
}

const JSON: &str = "content-type: application/json; charset=utf-8";

#[track_caller]
fn check(admission: &Admission, lines: &[&str], expected: Option<Refused>) {
    let uri = Uri::from_static("/api/default/mcp");
    assert_eq!(refused(admission, &Method::POST, &uri, lines), expected, "{lines:?}");
}

fn refused(admission: &Admission, method: &Method, uri: &Uri, lines: &[&str]) -> Option<Refused> {
    admission.admit(method, uri, &headers(lines), [192, 0, 2, 1].into()).err()
}

fn token(name: &str, secret: &str) -> Token {
    Token { name: name.into(), secret: Secret::new(secret), until: None }
}

// T1, T2
#[test]
fn only_this_machine_gets_in_by_default() {
    let admission = Admission::default();
    for host in ["localhost:3095", "LOCALHOST", "127.0.0.1", "127.0.0.2:80", "[::1]:3095"] {
        check(&admission, &[&format!("host: {host}"), JSON], None);
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", ""]
    {
        check(&admission, &[&format!("host: {host}"), JSON], Some(Refused::Host));
    }
    check(&admission, &[JSON], Some(Refused::Host));
    let local = "host: localhost";
    check(&admission, &[local, "origin: http://localhost:5173", JSON], None);
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "file://",
        "http://127.0.0.1@evil.example",
        "http://localhost:1@evil.example",
    ] {
        check(&admission, &[local, &format!("origin: {origin}"), JSON], Some(Refused::Origin));
    }
    check(&admission, &[local, "sec-fetch-site: cross-site", JSON], Some(Refused::CrossSite));
}

// T2: what a page can send without a preflight is not served.
#[test]
fn only_json_is_taken() {
    let admission = Admission::default();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonp",
        "text/plain;application/json",
    ] {
        check(&admission, &["host: localhost", &format!("content-type: {kind}")], Some(Refused::ContentType));
    }
    check(&admission, &["host: localhost"], Some(Refused::ContentType));
    check(&admission, &["host: localhost", "content-type: Application/JSON"], None);
}

// T4, T17
#[test]
fn a_token_is_needed_on_every_route_but_health() {
    let admission = Admission { tokens: vec![token("default", "s3cret")], ..Admission::default() };
    let local = "host: localhost";
    check(&admission, &[local, JSON], Some(Refused::Token));
    check(&admission, &[local, JSON, "authorization: Bearer wrong"], Some(Refused::Token));
    check(&admission, &[local, JSON, "authorization: Bearer s3cre"], Some(Refused::Token));
    check(&admission, &[local, JSON, "authorization: Basic s3cret"], Some(Refused::Token));
    check(&admission, &[local, JSON, "authorization: Bearer s3cret"], None);
    check(&admission, &[local, JSON, "authorization: bearer  s3cret"], None);
    let health = Uri::from_static("/health");
    assert_eq!(refused(&admission, &Method::GET, &health, &[local]), None);
}

#[test]
fn a_public_door_checks_hosts_where_they_are_named() {
    let tokens = vec![token("default", "t")];
    let open = Admission { public: true, tokens: tokens.clone(), ..Admission::default() };
    let given = "authorization: Bearer t";
    check(&open, &["host: gateway.example:3095", JSON, given], None);
    let named = Admission {
        public: true,
        tokens,
        allowed_hosts: vec!["gateway.example".to_owned()],
        ..Admission::default()
    };
    check(&named, &["host: gateway.example:3095", JSON, given], None);
    check(&named, &["host: other.example", JSON, given], Some(Refused::Host));
}

// T31
#[test]
fn two_lengths_are_refused() {
    let both = ["host: localhost", JSON, "content-length: 3", "transfer-encoding: chunked"];
    check(&Admission::default(), &both, Some(Refused::Smuggled));
}

// S2-17, decision 31
#[test]
fn cors_is_as_configured() {
    let allowed = |admission: &Admission, origin: &'static str| {
        let mut response = Response::new(Body::empty());
        admission.add_cors(Some(&HeaderValue::from_static(origin)), true, &mut response);
        response.headers().get(ACCESS_CONTROL_ALLOW_ORIGIN).map(|value| value.to_str().unwrap().to_owned())
    };
    let off = Admission::default();
    assert_eq!(allowed(&off, "http://localhost:1"), None);
    let named = Admission { cors: cors(&["https://yourdomain.com"]), ..Admission::default() };
    assert_eq!(allowed(&named, "https://yourdomain.com").as_deref(), Some("https://yourdomain.com"));
    assert_eq!(allowed(&named, "https://evil.example"), None);
    check(&named, &["host: localhost", "origin: https://yourdomain.com", JSON], None);
    let any = Admission { cors: cors(&["*"]), ..Admission::default() };
    assert_eq!(allowed(&any, "http://localhost:5173").as_deref(), Some("http://localhost:5173"));
    assert_eq!(allowed(&any, "https://evil.example"), None);
    check(&any, &["host: localhost", "origin: https://evil.example", JSON], Some(Refused::Origin));
    let guarded =
        Admission { cors: cors(&["*"]), tokens: vec![token("default", "t")], ..Admission::default() };
    assert_eq!(allowed(&guarded, "https://any.example").as_deref(), Some("https://any.example"));
}

// L14, decision 24: no preflight stands before a WebSocket or the old transport's stream
#[test]
fn what_a_page_could_read_at_once_is_for_our_own_pages() {
    let refuse = |admission: &Admission, path: &'static str, lines: &[&str]| {
        refused(admission, &Method::GET, &Uri::from_static(path), lines)
    };
    let upgrade = "upgrade: h2c, WebSocket";
    let routes: [(&str, &[&str]); 6] = [
        ("/sse", &[]),
        ("/sse/work", &[]),
        ("//%73se/", &[]),
        ("/litemcp/default", &[upgrade]),
        ("/litemcp/default/x", &[upgrade]),
        ("/anything", &[upgrade]),
    ];
    let admission = Admission::default();
    let secure = Admission { secure: true, ..Admission::default() };
    let named = Admission { cors: cors(&["http://localhost:8000"]), ..Admission::default() };
    let any = Admission { cors: cors(&["*"]), ..Admission::default() };
    for (path, more) in routes {
        let ask = |admission: &Admission, host: &str, origin: &str| {
            let (host, origin) = (format!("host: {host}"), format!("origin: {origin}"));
            refuse(admission, path, &[&[host.as_str(), origin.as_str()][..], more].concat())
        };
        assert_eq!(
            refuse(&admission, path, &[&["host: localhost:3095"][..], more].concat()),
            None,
            "no browser"
        );
        for (host, origin) in [
            ("localhost:3095", "http://localhost:3095"),
            ("LocalHost:3095", "http://localhost:3095"),
            ("localhost", "http://localhost"),
            ("localhost:80", "http://localhost"),
            ("[::1]:3095", "http://[::1]:3095"),
            ("[::1]", "http://[::1]"),
        ] {
            assert_eq!(ask(&admission, host, origin), None, "{path}: {origin} at {host}");
        }
        for (host, origin) in [
            ("localhost:3095", "http://localhost:8000"),
            ("localhost:3095", "http://localhost"),
            ("localhost:3095", "https://localhost:3095"),
            ("localhost:3095", "http://127.0.0.1:3095"),
            ("localhost", "https://localhost"),
            ("[::1]:3095", "http://[::1]"),
        ] {
            assert_eq!(ask(&admission, host, origin), Some(Refused::Origin), "{path}: {origin} at {host}");
        }
        assert_eq!(ask(&secure, "localhost", "https://localhost"), None);
        assert_eq!(ask(&secure, "localhost:3095", "http://localhost:3095"), Some(Refused::Origin));
        assert_eq!(ask(&named, "localhost:3095", "http://localhost:8000"), None);
        assert_eq!(ask(&named, "localhost:3095", "http://localhost:8001"), Some(Refused::Origin));
        assert_eq!(ask(&any, "localhost:3095", "http://localhost:8000"), None);
    }
    // Elsewhere a preflight, or the kind of the body, keeps other pages out.
    let other = ["host: localhost:3095", "origin: http://localhost:8000"];
    assert_eq!(refuse(&admission, "/mcp", &other), None);
    assert_eq!(refuse(&admission, "/sseven", &other), None);
}

#[tokio::test(start_paused = true)]
async fn a_token_says_who_asks_for_as_long_as_it_is_good() {
    let until = Instant::now() + std::time::Duration::from_secs(60);
    let short = Token { until: Some(until), ..token("short", "22222222") };
    let admission = Admission { tokens: vec![token("ci", "11111111"), short], ..Admission::default() };
    let uri = Uri::from_static("/mcp");
    let admit = |secret: &str| {
        let lines =
            ["host: localhost".to_owned(), JSON.to_owned(), format!("authorization: Bearer {secret}")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        admission.admit(&Method::POST, &uri, &headers(&lines), [192, 0, 2, 1].into())
    };
    let (ci, short) = (admit("11111111").unwrap(), admit("22222222").unwrap());
    assert_eq!(ci.requester.principal.to_string(), "token:ci");
    assert_eq!(short.requester.principal.to_string(), "token:short");
    assert_eq!(short.requester.address, Some([192, 0, 2, 1].into()));
    assert!(ci.stands() && short.stands());
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    assert!(ci.stands() && !short.stands());
    assert_eq!(admit("22222222").unwrap_err(), Refused::Token);
    let anybody = Admission::default().admit(
        &Method::POST,
        &uri,
        &headers(&["host: localhost", JSON]),
        [127, 0, 0, 1].into(),
    );
    assert_eq!(anybody.unwrap().requester.principal, Principal::Local);
}
