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
    admission.admit(method, uri, &headers(lines), comer([192, 0, 2, 1])).err()
}

fn comer(address: [u8; 4]) -> Comer<'static> {
    Comer { address: address.into(), certificate: None, is_forwarded: false }
}

fn with_tokens(tokens: Vec<Token>) -> Admission {
    Admission::default().accepting(Accepted { tokens, ..Accepted::default() })
}

fn token(name: &str, secret: &str) -> Token {
    let (digest, name) = (manifold_config::TokenDigest::of(secret), name.into());
    Token { name, digest, until: None, grants: None, is_operators: false }
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
    let admission = with_tokens(vec![token("default", "s3cret")]);
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
    let open = Admission { public: true, ..with_tokens(tokens.clone()) };
    let given = "authorization: Bearer t";
    check(&open, &["host: gateway.example:3095", JSON, given], None);
    let named =
        Admission { public: true, allowed_hosts: vec!["gateway.example".to_owned()], ..with_tokens(tokens) };
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
    let guarded = Admission { cors: cors(&["*"]), ..with_tokens(vec![token("default", "t")]) };
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
    let until = Instant::now() + Duration::from_secs(60);
    let short = Token { until: Some(Until::At(until)), ..token("short", "22222222") };
    let admission = with_tokens(vec![token("ci", "11111111"), short]);
    let uri = Uri::from_static("/mcp");
    let admit = |secret: &str| {
        let lines =
            ["host: localhost".to_owned(), JSON.to_owned(), format!("authorization: Bearer {secret}")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let entry = admission.admit(&Method::POST, &uri, &headers(&lines), comer([192, 0, 2, 1]))?;
        let Entry::In(admitted) = entry else { panic!("nobody has to be asked") };
        Ok::<_, Refused>(admitted)
    };
    let (ci, short) = (admit("11111111").unwrap(), admit("22222222").unwrap());
    assert_eq!(ci.requester.principal.to_string(), "token:ci");
    assert_eq!(short.requester.principal.to_string(), "token:short");
    assert_eq!(short.requester.address, Some([192, 0, 2, 1].into()));
    assert!(ci.stands(&admission) && short.stands(&admission));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(ci.stands(&admission) && !short.stands(&admission));
    assert_eq!(admit("22222222").unwrap_err(), Refused::Token);
    let anybody = Admission::default().admit(
        &Method::POST,
        &uri,
        &headers(&["host: localhost", JSON]),
        comer([127, 0, 0, 1]),
    );
    let Ok(Entry::In(anybody)) = anybody else { panic!("nobody is asked for anything") };
    assert_eq!(anybody.requester.principal, Principal::Local);
    admission.accept(Accepted { tokens: vec![token("ci", "33333333")], ..Accepted::default() });
    assert!(!ci.stands(&admission), "what was accepted is judged anew");
    assert_eq!(admit("11111111").unwrap_err(), Refused::Token);
    assert!(admit("33333333").is_ok(), "a new one counts at once");
}

#[test]
fn tokens_come_in_one_header_and_nowhere_else() {
    let admission = with_tokens(vec![token("ci", "11111111")]);
    let (local, given) = ("host: localhost", "authorization: Bearer 11111111");
    check(&admission, &[local, JSON, given, given], Some(Refused::TokenElsewhere));
    let uri = Uri::from_static("/mcp?access_token=11111111");
    assert_eq!(refused(&admission, &Method::GET, &uri, &[local]), Some(Refused::TokenElsewhere));
    let open = Admission::default();
    assert_eq!(refused(&open, &Method::GET, &uri, &[local]), None, "where nobody is asked for one");
    let nobody = Admission::default().accepting(Accepted { nobody: true, ..Accepted::default() });
    check(&nobody, &[local, JSON, given], Some(Refused::Token));
}

#[test]
fn a_certificate_says_who_asks_where_no_token_does() {
    let accepted =
        Accepted { tokens: vec![token("ci", "11111111")], certificates: true, ..Accepted::default() };
    let admission = Admission::default().accepting(accepted);
    let subject: Arc<str> = "CN=ann".into();
    let admit = |lines: &[&str], certificate| {
        let comer = Comer { certificate, ..comer([192, 0, 2, 1]) };
        let entry = admission.admit(&Method::GET, &Uri::from_static("/mcp"), &headers(lines), comer);
        entry.map(|entry| match entry {
            Entry::In(admitted) => admitted.requester.principal.to_string(),
            Entry::Unverified(_) => panic!("nobody has to be asked"),
        })
    };
    let local = "host: localhost";
    assert_eq!(admit(&[local], Some(&subject)).unwrap(), "certificate:CN=ann");
    assert_eq!(admit(&[local, "authorization: Bearer 11111111"], Some(&subject)).unwrap(), "token:ci");
    assert_eq!(admit(&[local, "authorization: Bearer 2"], Some(&subject)).unwrap_err(), Refused::Token);
    assert_eq!(admit(&[local], None).unwrap_err(), Refused::Token);
}

// Row 29 of signing in: how long a wrong token is looked at tells nothing of where it is wrong.
#[test]
#[expect(clippy::disallowed_types, reason = "nanoseconds of this machine are measured")]
fn a_token_takes_as_long_wherever_it_is_wrong() {
    use manifold_testkit::figures;
    use std::hint::black_box;
    use std::time::Instant;

    let right = "mfd_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
    let first = right.replacen('m', "x", 1);
    let last = right.replace('G', "x");
    let mut tokens: Vec<Token> = (0..20).map(|at| token(&format!("t{at}"), &format!("other {at}"))).collect();
    tokens.push(token("right", right));
    let accepted = Accepted { tokens, ..Accepted::default() };
    assert!(accepted.by_token(&[Some(right)]).is_some());
    let samples = if figures::are_wanted() { 1_000_000 } else { 2_000 };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..samples {
        for (wrong, times) in [&first, &last].into_iter().zip(&mut times) {
            let began = Instant::now();
            assert!(black_box(accepted.by_token(black_box(&[Some(wrong)]))).is_none());
            times.push(began.elapsed().as_nanos());
        }
    }
    let [first, last] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2] as f64
    });
    figures::ratio(
        "29: a token wrong in its first byte over one in its last",
        (first / last - 1.0).abs(),
        0.02,
    );
}

/// A browser that comes back brings no token of ours, and comes from where somebody signed in.
#[test]
fn who_comes_back_from_signing_in_needs_no_token() {
    let admission = with_tokens(vec![token("a", "a token of some length")]);
    let check = |method: Method, path: &'static str, lines: &[&str], expected: Option<Refused>| {
        let lines = [&["host: localhost", JSON][..], lines].concat();
        assert_eq!(
            refused(&admission, &method, &Uri::from_static(path), &lines),
            expected,
            "{method} {path}"
        );
    };
    let [plain, with_token] = ["/oauth/callback?code=a", "/oauth/callback/0123?code=a&access_token=b"];
    for (path, posted) in [(plain, Refused::Token), (with_token, Refused::TokenElsewhere)] {
        check(Method::GET, path, &["sec-fetch-site: cross-site"], None);
        check(Method::POST, path, &[], Some(posted));
    }
    check(Method::GET, "/oauth/callbacks?code=a", &[], Some(Refused::Token));
    check(Method::GET, "/oauth", &[], Some(Refused::Token));
    let lines = ["host: evil.example"];
    let refused = refused(&admission, &Method::GET, &Uri::from_static("/oauth/callback?code=a"), &lines);
    assert_eq!(refused, Some(Refused::Host));
}

// T16: what a proxy passes on comes from this machine as far as can be seen, and may come from anywhere.
#[test]
fn what_was_passed_on_is_known_for_that() {
    let (admission, uri) = (Admission::default(), Uri::from_static("/mcp"));
    let check = |line: &str| {
        let lines = ["host: localhost", line];
        match admission.admit(&Method::GET, &uri, &headers(&lines), comer([127, 0, 0, 1])) {
            Ok(Entry::In(admitted)) => admitted.requester.is_forwarded(),
            other => panic!("{other:?}"),
        }
    };
    for line in
        ["forwarded: for=192.0.2.1", "x-forwarded-for: 192.0.2.1", "X-Forwarded-Proto: https", "via: 1.1 x"]
    {
        assert!(check(line), "{line}");
    }
    assert!(!check("x-forward: 1") && !check("user-agent: x"));
}
