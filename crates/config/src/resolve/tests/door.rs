//! Who comes in: what restricts is never left out for the way it is written.

use std::time::Duration;

use expect_test::expect;

use crate::model::*;
use crate::testing::{SECRET, load, problems, try_load, with_server};

fn server(section: &str) -> String {
    with_server(&format!(r#"{{"server": {{{section}}}}}"#))
}

#[test]
fn named_tokens_are_known_by_their_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let hash = TokenDigest::of("abc").to_hex();
    let config = load(&server(&format!(
        r#""tokens": {{"a": {{"env": "KEY", "namespaces": ["default"], "tools": ["git__*"], "expires": "2127-03-31"}},
             "b": {{"file": {file:?}}}, "c": {{"hash": "sha256:{hash}", "expires": "2127-03-31T12:00:00Z"}}}}"#
    )));
    assert_eq!(config.problems, []);
    let [a, b, c] = config.settings.http.tokens.as_slice() else { panic!("three tokens") };
    assert_eq!((a.name.as_str(), b.name.as_str(), c.name.as_str()), ("a", "b", "c"));
    assert_eq!((a.digest, b.digest), (TokenDigest::of(SECRET), TokenDigest::of(SECRET)));
    assert_eq!((c.digest, &c.origin), (TokenDigest::of("abc"), &TokenOrigin::Hash));
    assert_eq!(a.origin, TokenOrigin::Read { characters: SECRET.len(), open_file: None });
    assert_eq!(b.origin, a.origin);
    let list = |name: &str| Some(vec![name.to_owned()]);
    assert_eq!(a.grant, Grant { namespaces: list("default"), tools: list("git__*") });
    assert_eq!(b.grant, Grant::default());
    // A date is good to its end.
    let shown = |token: &NamedToken| jiff::Timestamp::try_from(token.expires.unwrap()).unwrap().to_string();
    assert_eq!((shown(a).as_str(), shown(c).as_str()), ("2127-04-01T00:00:00Z", "2127-03-31T12:00:00Z"));
    assert!(!format!("{config:?}").contains(&hash));
}

#[test]
fn whose_tokens_count_is_read_as_a_whole() {
    let config = load(&server(
        r#""publicUrl": "https://tools.example/", "auth": {"issuer": "https://login.example/tenant",
           "audiences": ["api://x"], "jwks": "http://127.0.0.1:9/keys", "requiredScopes": ["mcp"], "leeway": 5,
           "introspection": {"url": "https://login.example/i", "clientId": "g", "clientSecret": "${KEY}"},
           "scopes": {"read": {"tools": ["*read*"]}, "all": {}}, "algorithms": ["ES256"], "requireTyp": true}"#,
    ));
    assert_eq!(config.problems, []);
    let http = config.settings.http;
    assert_eq!(http.public_url.as_deref(), Some("https://tools.example"));
    let auth = http.auth.unwrap();
    assert_eq!(auth.issuers, ["https://login.example/tenant"]);
    assert_eq!((auth.leeway, auth.require_typ), (Duration::from_secs(5), true));
    assert_eq!((auth.algorithms.as_slice(), auth.scope_claims.len()), (&["ES256".to_owned()][..], 2));
    assert_eq!(auth.introspection.unwrap().client_secret.expose(), SECRET);
    let scopes = auth.scopes.unwrap();
    assert_eq!((scopes.len(), &scopes["all"]), (2, &Grant::default()));
    let several = load(&server(r#""auth": {"issuers": ["https://a.example", "http://[::1]:1"]}"#));
    let auth = several.settings.http.auth.unwrap();
    assert_eq!((auth.issuers.len(), auth.scopes, auth.leeway), (2, None, Duration::from_secs(60)));
    assert_eq!(auth.algorithms.len(), SIGNATURES.len());
}

#[test]
fn what_cannot_be_understood_is_no_open_door() {
    let cases = [
        r#""tokens": {"a": {}}"#,
        r#""tokens": {"a": {"env": "NONE"}}"#,
        r#""tokens": {"a": {"env": "EMPTY"}}"#,
        r#""tokens": {"a": {"env": "KEY", "hash": "x"}}"#,
        r#""tokens": {"a": {"hash": "x"}}"#,
        r#""tokens": {"a": {"file": "/none"}}"#,
        r#""tokens": {"a": {"env": "KEY", "expires": "soon"}}"#,
        r#""tokens": {"a": {"env": "KEY", "tools": 1}}"#,
        r#""tokens": {"a": {"env": "KEY", "tool": ["x"]}}"#,
        r#""tokens": {"a": {"env": "KEY", "tools": ["${NONE}"]}}"#,
        r#""tokens": {"a": "x"}"#,
        r#""tokens": []"#,
        r#""tokens": {"a b": {"env": "KEY"}}"#,
        r#""token": "x", "tokens": {"default": {"env": "KEY"}}"#,
        r#""auth": {}"#,
        r#""auth": true"#,
        r#""auth": {"issuer": "login.example"}"#,
        r#""auth": {"issuer": "http://login.example"}"#,
        r#""auth": {"issuer": "${NONE}"}"#,
        r#""auth": {"issuer": "https://a.example", "audience": ["x"]}"#,
        r#""auth": {"issuer": "https://a.example", "algorithms": ["HS256"]}"#,
        r#""auth": {"issuer": "https://a.example", "algorithms": ["none"]}"#,
        r#""auth": {"issuer": "https://a.example", "leeway": 900}"#,
        r#""auth": {"issuer": "https://a.example", "scopes": {"a b": {}}}"#,
        r#""auth": {"issuer": "https://a.example", "scopes": {"a": {"tool": []}}}"#,
        r#""auth": {"issuer": "https://a.example", "introspection": {"url": "https://a.example"}}"#,
        r#""auth": {"issuers": ["https://a.example", "https://b.example"], "jwks": "https://a.example"}"#,
        r#""publicUrl": "tools.example""#,
        r#""publicUrl": "https://tools.example/path""#,
        r#""tls": {"cert": "c", "key": "k", "clientCa": ""}"#,
    ];
    for case in cases {
        assert!(try_load(&server(case)).is_err(), "{case}: {}", problems(&server(case)));
    }
    expect![[r#"
        config.json:1: server.tokens.a: variable `NONE` is not set; set it, or remove the token
        config.json:1: server.auth: `issuer` is not over https: `http://a.example`; `http` is only for addresses of this machine
    "#]]
    .assert_eq(&problems(&server(
        r#""tokens": {"a": {"env": "NONE"}}, "auth": {"issuer": "http://a.example"}"#,
    )));
}

#[test]
fn one_name_where_a_list_is_wanted_is_a_list_of_one() {
    let config = load(&server(r#""tokens": {"a": {"env": "KEY", "tools": "git__*"}}"#));
    assert_eq!(config.settings.http.tokens[0].grant.tools, Some(vec!["git__*".to_owned()]));
    assert_eq!(config.problems.len(), 1);
}

#[test]
fn what_lets_in_nobody_or_nowhere_is_told() {
    let hash = TokenDigest::of("abc").to_hex();
    let config = load(&server(&format!(
        r#""tokens": {{"a": {{"hash": "{hash}", "expires": "2020-01-01"}}, "b": {{"hash": "{hash}", "namespaces": []}},
             "c": {{"hash": "{hash}", "namespaces": ["nosuch", "default"]}}}},
           "auth": {{"issuer": "https://login.example/?tenant=1", "scopes": {{"s": {{"namespaces": ["other"]}}}}}}"#
    )));
    let told: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
    for what in [
        "server.tokens.a: has expired",
        "server.tokens.b.namespaces: is empty",
        "server.tokens.c.namespaces: there is no namespace `nosuch`",
        "server.auth.scopes.s.namespaces: there is no namespace `other`",
        "has a query",
    ] {
        assert!(told.iter().any(|one| one.contains(what)), "{what}: {told:?}");
    }
    assert_eq!(told.len(), 5, "{told:?}");
    let reserved = try_load(&server(&format!(r#""tokens": {{"default": {{"hash": "{hash}"}}}}"#)));
    assert!(reserved.unwrap_err().to_string().contains("has a reserved name"));
}

#[test]
fn a_token_file_that_others_can_read_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, SECRET).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let config = load(&server(&format!(r#""tokens": {{"a": {{"file": {file:?}}}}}"#)));
    let origin = &config.settings.http.tokens[0].origin;
    assert_eq!(*origin, TokenOrigin::Read { characters: SECRET.len(), open_file: Some(file) });
}

// What every program needs is withheld from none, whatever a setting makes of it.
#[test]
fn variables_of_our_own_secrets_are_withheld_from_servers() {
    let config = load(
        r#"{"mcpServers": {
              "a": {"command": "x"},
              "far": {"url": "https://x.example/mcp", "oauth": {"clientId": "c", "clientSecret": "${EMPTY:-x}",
                      "privateKey": "${TRICK}"}}
            },
            "server": {"token": "${KEY}${PATH}", "tokens": {"ci": {"env": "NAME"}}}}"#,
    );
    let Transport::Process(spec) = &config.servers[0].transport else { panic!("a program") };
    assert_eq!(spec.withheld.iter().collect::<Vec<_>>(), ["EMPTY", "KEY", "NAME"]);
}
