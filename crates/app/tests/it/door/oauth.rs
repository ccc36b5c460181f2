//! Tokens of an authorization server: what is said to those who have none, which are good, and what scopes give.

use std::time::{SystemTime, UNIX_EPOCH};

use manifold_testkit::Sandbox;
use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::end_quietly;
use manifold_testkit::issuer_fake::{IssuerFake, Signer, hs256, unsigned};
use manifold_testkit::until;
use serde_json::{Value, json};

use super::tokens::sha256;
use super::*;

pub(super) const BASE: &str = "https://tools.example";

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// An issuer with two keys.
pub(super) struct World {
    pub(super) issuer: IssuerFake,
    pub(super) ec: Signer,
    rsa: Signer,
}

impl World {
    pub(super) fn new() -> Self {
        let (ec, rsa) = (Signer::es256(), Signer::rs256());
        let issuer = IssuerFake::new(vec![ec.jwk("e"), rsa.jwk("r")]);
        Self { issuer, ec, rsa }
    }

    pub(super) fn auth(&self, more: Value) -> Value {
        let mut auth = json!({"issuer": self.issuer.address(), "audiences": ["api://tools"]});
        for (name, value) in more.as_object().unwrap() {
            auth[name] = value.clone();
        }
        json!({"auth": auth, "publicUrl": BASE})
    }

    fn claims(&self) -> Value {
        let now = now();
        json!({"iss": self.issuer.address(), "sub": "ann", "aud": ["api://tools"], "exp": now + 300, "iat": now,
               "client_id": "editor", "scope": "read"})
    }

    pub(super) fn token(&self, changes: Value) -> String {
        let mut claims = self.claims();
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        self.ec.sign(&json!({"alg": "ES256", "kid": "e", "typ": "at+jwt"}), &claims)
    }
}

#[test]
fn who_has_no_token_is_told_where_tokens_come_from() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let scopes = json!({"read": {"tools": ["*echo"]}, "work": {"namespaces": ["work"]}});
    let config =
        two(&sandbox, world.auth(json!({"scopes": scopes, "requiredScopes": ["mcp", "offline_access"]})));
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let ping = calling(1, "ping", json!({}));
    let answer = gateway.ask("POST", "/mcp/work", &[], &ping);
    let challenge = answer.header("www-authenticate").unwrap();
    let metadata = format!("{BASE}/.well-known/oauth-protected-resource/mcp/work");
    assert_eq!(answer.status, 401);
    assert_eq!(
        challenge,
        format!("Bearer resource_metadata=\"{metadata}\", scope=\"mcp offline_access read\"")
    );
    let wrong = gateway.ask("POST", "/mcp", &[("Authorization", "Bearer a.b.c")], &ping);
    let challenge = wrong.header("www-authenticate").unwrap();
    assert_eq!(wrong.status, 401);
    assert!(challenge.starts_with("Bearer error=\"invalid_token\", resource_metadata="), "{challenge}");
    // The answer tells nobody which namespaces there are.
    let described = [
        "/mcp",
        "/mcp/work",
        "/sse",
        "/sse/home",
        "/mcp/none",
        "/api/work/mcp",
        "/litemcp/work",
        "/api/none/mcp",
    ];
    for path in described {
        let from = [("Origin", "https://any.example")];
        let answer = gateway.ask("GET", &format!("/.well-known/oauth-protected-resource{path}"), &from, "");
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")), "{path}");
        let document = answer.json();
        assert_eq!(document["resource"], format!("{BASE}{path}"));
        assert_eq!(document["authorization_servers"], json!([world.issuer.address()]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
        let scopes = document["scopes_supported"].as_array().unwrap();
        assert!(!scopes.contains(&json!("offline_access")) && scopes.contains(&json!("mcp")), "{document}");
    }
    for path in
        ["", "/mcp/work/more", "/api/work", "/api/status", "/litemcp", "/litemcp/work/tool", "/messages"]
    {
        let answer = gateway.ask("GET", &format!("/.well-known/oauth-protected-resource{path}"), &[], "");
        assert_eq!(answer.status, 404, "{path}: no address of its own");
    }
    for (method, path, described) in [
        ("POST", "/api/work/mcp", "/api/work/mcp"),
        ("GET", "/litemcp/work", "/litemcp/work"),
        ("GET", "/litemcp/work/a__echo", "/litemcp/work"),
    ] {
        let body = if method == "POST" { ping.as_str() } else { "" };
        let answer = gateway.ask(method, path, &[], body);
        let challenge = answer.header("www-authenticate").unwrap_or_default();
        let metadata =
            format!("resource_metadata=\"{BASE}/.well-known/oauth-protected-resource{described}\"");
        assert!(answer.status == 401 && challenge.contains(&metadata), "{path}: {challenge}");
    }
    let status = gateway.ask("GET", "/api/status", &[], "");
    assert!(!status.header("www-authenticate").unwrap().contains("resource_metadata"));
    let query = gateway.ask("GET", "/mcp?access_token=x", &[], "");
    assert_eq!(query.status, 400);
    assert!(query.header("www-authenticate").unwrap().contains("error=\"invalid_request\""));
    // No body is read for a token, and other schemes bring none.
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    for without in [&[form][..], &[form, ("Authorization", "Basic eDp4")]] {
        let answer = gateway.ask("POST", "/mcp", without, "access_token=x");
        assert_eq!(answer.status, 401);
        assert!(!answer.header("www-authenticate").unwrap().contains("error="));
    }
    assert_eq!(world.issuer.key_fetches(), 0, "nobody was asked for what could not be");
    end_quietly(gateway.client);
}

/// Returns tokens that are no good, each with the reason.
fn bad(world: &World) -> Vec<(&'static str, String)> {
    let (now, claims) = (now(), world.claims());
    let head = json!({"alg": "ES256", "kid": "e", "typ": "at+jwt"});
    let with = |value: &Value, name: &str, member: Value| {
        let mut value = value.clone();
        match member {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            member => value[name] = member,
        }
        value
    };
    let claimed = |name: &str, member: Value| world.ec.sign(&head, &with(&claims, name, member));
    let headed = |name: &str, member: Value| world.ec.sign(&with(&head, name, member), &claims);
    let public = world.rsa.jwk("r")["n"].as_str().unwrap().as_bytes().to_vec();
    let good = world.ec.sign(&head, &claims);
    let signature = good.rsplit('.').next().unwrap();
    vec![
        ("none", format!("{}.", unsigned(&with(&head, "alg", json!("none")), &claims))),
        ("none in another case", format!("{}.", unsigned(&with(&head, "alg", json!("NoNe")), &claims))),
        ("HS with the public key", hs256(&unsigned(&json!({"alg": "HS256", "kid": "r"}), &claims), &public)),
        ("another's key", Signer::es256().sign(&head, &claims)),
        ("another kind of key", world.rsa.sign(&json!({"alg": "RS256", "kid": "e"}), &claims)),
        ("another algorithm", world.ec.sign(&json!({"alg": "RS256", "kid": "r"}), &claims)),
        ("unknown kid", headed("kid", json!("zzz"))),
        ("odd kid", headed("kid", json!("../../keys'--"))),
        ("kid that is no text", headed("kid", json!(7))),
        ("crit", headed("crit", json!(["exp"]))),
        ("typ", headed("typ", json!("dpop+jwt"))),
        ("wrong aud", claimed("aud", json!("https://evil.example/mcp"))),
        ("aud of another namespace", claimed("aud", json!(format!("{BASE}/mcp/work")))),
        ("missing aud", claimed("aud", Value::Null)),
        ("wrong iss", claimed("iss", json!("https://evil.example"))),
        ("iss with a slash", claimed("iss", json!(format!("{}/", world.issuer.address())))),
        ("missing iss", claimed("iss", Value::Null)),
        ("expired 61 s", claimed("exp", json!(now - 62))),
        ("missing exp", claimed("exp", Value::Null)),
        ("nbf ahead", claimed("nbf", json!(now + 900))),
        ("iat ahead", claimed("iat", json!(now + 900))),
        ("id token", claimed("nonce", json!("x"))),
        ("bound to a key", claimed("cnf", json!({"jkt": "x"}))),
        ("9 KiB", claimed("pad", json!("x".repeat(9 << 10)))),
        ("another body", format!("{}.{signature}", unsigned(&head, &with(&claims, "sub", json!("eve"))))),
        ("cut", good[..good.len() - 5].to_owned()),
        (
            "nobody's",
            world.ec.sign(&head, &with(&with(&claims, "sub", Value::Null), "client_id", Value::Null)),
        ),
    ]
}

#[test]
fn bad_tokens_are_401_and_good_ones_are_let_in() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({}))), &[]);
    let ask = |path: &str, token: &str| {
        gateway.ask("POST", path, &[("Authorization", &bearer(token))], &calling(1, "ping", json!({})))
    };
    for (what, token) in bad(&world) {
        let answer = ask("/mcp", &token);
        let challenge = answer.header("www-authenticate").unwrap_or_default();
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
        assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
    }
    let rsa = world.rsa.sign(&json!({"alg": "RS256", "kid": "r", "typ": "JWT"}), &world.claims());
    for token in [world.token(json!({})), rsa] {
        assert_eq!(echo(&gateway, "both", &token, "a__echo").json()["result"]["content"][0]["text"], "in");
    }
    let own = world.token(json!({"aud": format!("{BASE}/mcp/work")}));
    assert_eq!(echo(&gateway, "work", &own, "a__echo").status, 200, "/api takes what /mcp takes");
    assert_eq!(api(&gateway, "home", &own, "ping", json!({})).status, 401);
    assert!(world.issuer.key_fetches() <= 2, "{}", world.issuer.key_fetches());
    assert!(!gateway.client.stderr().contains("eyJ"), "{}", gateway.client.stderr());
    end_quietly(gateway.client);
}

// One place, however it is written: a token for one namespace is good in no other.
#[test]
fn an_escaped_path_is_the_path_it_stands_for() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let mut config = two(&sandbox, world.auth(json!({})));
    config["namespaces"]["status"] = json!({"serverIds": ["a"]});
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let home = bearer(&world.token(json!({"aud": format!("{BASE}/mcp/home")})));
    let headers = [("Authorization", home.as_str()), ("Accept", crate::http_lifecycle::BOTH)];
    let ask = |method: &str, path: &str| {
        let body = if method == "POST" { calling(1, "ping", json!({})) } else { String::new() };
        gateway.ask(method, path, &headers, &body).status
    };
    for (method, path) in [
        ("POST", "/mcp/work"),
        ("POST", "/%6dcp/work"),
        ("POST", "/%6Dcp/%77ork"),
        ("POST", "/%61pi/work/mcp"),
        ("POST", "/api/work/%6dcp"),
        ("GET", "/lite%6dcp/work"),
        ("GET", "/lite%6dcp/work/echo"),
        ("GET", "/s%73e/work"),
        ("POST", "/api/status/mcp"),
        ("GET", "/litemcp/status"),
        ("GET", "/nothing/is/there"),
    ] {
        assert_eq!(ask(method, path), 401, "{path}");
    }
    assert_eq!(ask("POST", "/api/%68ome/%6dcp"), 200);
    let answer = gateway.ask("GET", "/.well-known/oauth-protected-resource/%6dcp/%68ome", &[], "");
    assert_eq!((answer.status, &answer.json()["resource"]), (200, &json!(format!("{BASE}/%6dcp/%68ome"))));
    assert_eq!(gateway.ask("GET", "/.well-known/oauth-protected-resourcefoo", &[], "").status, 404);
    end_quietly(gateway.client);
}

#[test]
fn keys_change_and_an_issuer_that_is_away_logs_nobody_out() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    world.issuer.set_down(true);
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({}))), &[]);
    let token = world.token(json!({}));
    let away = api(&gateway, "both", &token, "ping", json!({}));
    assert_eq!((away.status, away.header("retry-after")), (503, Some("5")), "{}", away.text());
    assert_eq!(away.header("www-authenticate"), None);
    world.issuer.set_down(false);
    assert_eq!(api(&gateway, "both", &token, "ping", json!({})).status, 200, "it is asked once more");
    world.issuer.set_down(true);
    for sub in 0..5 {
        let other = world.token(json!({"sub": sub.to_string()}));
        assert_eq!(api(&gateway, "both", &other, "ping", json!({})).status, 200, "known keys are good");
    }
    end_quietly(gateway.client);

    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({}))), &[]);
    assert_eq!(api(&gateway, "both", &world.token(json!({})), "ping", json!({})).status, 200);
    let next = Signer::es256();
    world.issuer.set_keys(vec![next.jwk("next")]);
    let rotated = next.sign(&json!({"alg": "ES256", "kid": "next"}), &world.claims());
    assert_eq!(api(&gateway, "both", &rotated, "ping", json!({})).status, 200);
    assert_eq!(world.issuer.key_fetches(), 2);
    for n in 0..200 {
        let random = unsigned(&json!({"alg": "ES256", "kid": format!("k{n}")}), &world.claims());
        assert_eq!(api(&gateway, "both", &format!("{random}.AAAA"), "ping", json!({})).status, 401);
    }
    assert_eq!(world.issuer.key_fetches(), 2, "names of keys that nobody has fetch nothing");
    end_quietly(gateway.client);

    let (sandbox, world) = (Sandbox::new(), World::new());
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({}))), &[]);
    assert_eq!(api(&gateway, "both", &world.token(json!({})), "ping", json!({})).status, 200);
    world.issuer.set_down(true);
    let newer = Signer::es256().sign(&json!({"alg": "ES256", "kid": "newer"}), &world.claims());
    assert_eq!(api(&gateway, "both", &newer, "ping", json!({})).status, 503, "it may be good");
    end_quietly(gateway.client);
}

#[test]
fn scopes_open_namespaces_and_tools_and_what_is_missing_is_said() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let scopes = json!({
        "read": {"namespaces": ["both"], "tools": ["*__echo"]},
        "write": {"namespaces": ["both"], "tools": ["a__env"]},
        "home": {"namespaces": ["home"]},
    });
    let gateway = Gateway::start(&sandbox, &two(&sandbox, world.auth(json!({"scopes": scopes}))), &[]);
    let reader = world.token(json!({}));
    assert_eq!(
        tools(&gateway, "both", &reader),
        ["a__echo", "a__env", "b__echo"],
        "those that a scope would give too"
    );
    assert_eq!(echo(&gateway, "both", &reader, "a__echo").status, 200);
    let metadata = format!("resource_metadata=\"{BASE}/.well-known/oauth-protected-resource/mcp\"");
    let call = |token: &str, tool: &str, more: &[(&str, &str)]| {
        let credential = bearer(token);
        let mut headers =
            vec![("Authorization", credential.as_str()), ("Accept", crate::http_lifecycle::BOTH)];
        headers.extend_from_slice(more);
        gateway.ask(
            "POST",
            "/mcp",
            &headers,
            &calling(2, "tools/call", json!({"name": tool, "arguments": {"name": "HOME"}})),
        )
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let credential = bearer(&reader);
    let opened = gateway.ask(
        "POST",
        "/mcp",
        &[("Authorization", &credential), ("Accept", crate::http_lifecycle::BOTH)],
        &calling(1, "initialize", hello),
    );
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let in_session = [("Mcp-Session-Id", session.as_str())];
    for name in ["a__env", "a.env"] {
        let refused = call(&reader, name, &in_session);
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert_eq!(refused.status, 403, "{name}: {}", refused.text());
        assert!(
            challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"write\""),
            "{challenge}"
        );
        assert!(challenge.contains(&metadata), "{challenge}");
    }
    // LiteMCP at the address of the tool.
    let lite = json!({"tool": "a__env", "arguments": ["HOME"]}).to_string();
    let lite = gateway.ask("POST", "/litemcp/both/a__env", &[("Authorization", &credential)], &lite);
    assert_eq!(lite.status, 403, "{}", lite.text());
    // What no scope gives is not there.
    let hidden = call(&reader, "b__env", &in_session);
    assert_eq!((hidden.status, hidden.json()["error"]["code"].clone()), (200, json!(-32601)));
    // A client that has stepped up goes on in its session.
    let both = world.token(json!({"scope": "read write"}));
    let allowed = call(&both, "a__env", &in_session);
    assert_eq!(allowed.status, 200, "{}", allowed.text());
    assert!(allowed.json()["result"].is_object(), "{}", allowed.text());
    let home = api(&gateway, "home", &reader, "ping", json!({}));
    assert_eq!(home.status, 403);
    assert!(home.header("www-authenticate").unwrap().contains("scope=\"home\""));
    assert_eq!(api(&gateway, "work", &reader, "ping", json!({})).status, 404, "no scope opens it");
    let nothing = world.token(json!({"scope": "other"}));
    assert_eq!(api(&gateway, "both", &nothing, "ping", json!({})).status, 403);
    // Who lacked what is in the log, and what let them in is not.
    let who = format!("user:ann of {}", world.issuer.address());
    for (method, scope) in [("tools/call", "write"), ("POST", "home")] {
        let fits = |line: &str| {
            let words = ["a scope is missing", who.as_str(), method, scope];
            words.iter().all(|word| line.contains(word))
        };
        let is_noted = || gateway.client.stderr().lines().any(fits);
        assert!(until(PATIENCE, is_noted), "{method}: {}", gateway.client.stderr());
    }
    assert!(!gateway.client.stderr().contains("eyJ"), "{}", gateway.client.stderr());
    end_quietly(gateway.client);
}

#[test]
fn a_token_of_the_config_works_beside_those_of_an_issuer() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let mut server = world.auth(json!({"requiredScopes": ["mcp"]}));
    server["token"] = json!("a token that has no name");
    let gateway = Gateway::start(&sandbox, &two(&sandbox, server), &[]);
    assert_eq!(tools(&gateway, "both", "a token that has no name").len(), 8);
    let lacking = api(&gateway, "both", &world.token(json!({})), "ping", json!({}));
    assert_eq!(lacking.status, 403);
    assert!(lacking.header("www-authenticate").unwrap().contains("scope=\"mcp\""));
    assert_eq!(tools(&gateway, "both", &world.token(json!({"scope": "mcp"}))).len(), 8);
    // Another issuer is taken over without a restart.
    let other = World::new();
    sandbox.write_config(&two(&sandbox, other.auth(json!({}))));
    assert!(
        until(PATIENCE, || api(&gateway, "both", &other.token(json!({})), "ping", json!({})).status == 200)
    );
    assert_eq!(api(&gateway, "both", &world.token(json!({"scope": "mcp"})), "ping", json!({})).status, 401);
    end_quietly(gateway.client);
}

// What is said of all namespaces is said of those that the token is for, and of what it may use there.
#[test]
fn the_status_shows_no_more_than_a_token_may_use() {
    let (sandbox, world) = (Sandbox::new(), World::new());
    let some = "a token that has some tools of one";
    let mut server = world.auth(json!({}));
    server["tokens"] = json!({"some": {"hash": sha256(some), "tools": ["a__e*"]}});
    let mut config = two(&sandbox, server);
    config["servers"]["c"] = json!({"command": "/nowhere/secret-program"});
    config["namespaces"]["both"]["serverIds"] = json!(["a", "b", "c"]);
    config["namespaces"]["off"] = json!({"serverIds": ["a"], "enabled": false});
    let gateway = Gateway::start(&sandbox, &config, &["--eager"]);
    let everything = world.token(json!({}));
    let status = |token: &str| {
        let credential = bearer(token);
        gateway.ask("GET", "/api/status", &[("Authorization", &credential)], "").json()
    };
    let shown =
        |status: &Value| -> Vec<String> { status["schemas"].as_object().unwrap().keys().cloned().collect() };
    let is_known = |status: &Value| status["schemas"]["both"]["totalTools"] == 8;
    assert!(until(PATIENCE, || is_known(&status(&everything))), "{}", status(&everything));
    let all = status(&everything);
    assert_eq!(shown(&all).len(), 5, "{all}");
    assert!(all.to_string().contains("secret-program"), "{all}");
    let work = status(&world.token(json!({"aud": format!("{BASE}/mcp/work")})));
    assert_eq!(
        (shown(&work), &work["summary"]["totalServers"]),
        (vec!["work".to_owned()], &json!(1)),
        "{work}"
    );
    let selected = status(&world.token(json!({"aud": format!("{BASE}/mcp")})));
    assert_eq!(shown(&selected), ["both", "default"], "{selected}");
    let few = status(some);
    let servers = few["schemas"]["both"]["mcpServers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{few}");
    assert_eq!((&servers[0]["id"], &servers[0]["toolCount"]), (&json!("a"), &json!(2)), "{few}");
    assert_eq!(few["schemas"]["home"]["mcpServers"], json!([]));
    assert!(!few.to_string().contains("secret-program"), "{few}");
    end_quietly(gateway.client);
}
