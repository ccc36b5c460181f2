//! A Redis that lets in over TLS, and lets do what replicas need and nothing else.

use std::fs;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::calling;
use manifold_testkit::{Sandbox, until};
use serde_json::json;

use crate::fixture::{BOTH, NEW, Replicas, config};
use crate::redis::{ask, free_port, redis_with};
use crate::shared::to_the_end;

/// The line of `docs/scaling.md` that says what a replica needs.
fn needed() -> Vec<String> {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scaling.md")).expect("the page");
    let line =
        page.lines().find(|line| line.starts_with("user gateway on ")).expect("it says what is needed");
    line.split_whitespace().skip(1).map(|word| word.replace("PASSWORD", "first-password")).collect()
}

// Over TLS, as a user who may do no more than the page says, with a password that is replaced under way
#[test]
fn a_redis_that_is_locked_is_shared() {
    let home = Sandbox::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let cert = home.write_private("redis.crt", &made.cert.pem());
    let key = home.write_private("redis.pem", &made.signing_key.serialize_pem());
    let password = home.write_private("redis.password", "first-password\n");
    let tls_port = free_port();
    let port_text = tls_port.to_string();
    let words = needed();
    let mut more = vec!["--tls-port", &port_text, "--tls-cert-file", &cert, "--tls-key-file", &key];
    more.extend(["--tls-auth-clients", "no", "--user"]);
    more.extend(words.iter().map(String::as_str));
    let Some(redis) = redis_with(&home, free_port(), &more) else { return };
    let url = format!("rediss://gateway@localhost:{tls_port}/0");
    let with_password = |home: &Sandbox| {
        let mut config = config(home);
        config["scale"] = json!({"statePasswordFile": password});
        config["mcpServers"]["s"]["replicas"] = json!("one");
        config["limits"] = json!({"rate": [{"per": "tool", "limit": 1000, "window": 1}]});
        config
    };
    let replicas = Replicas::start_by(2, &["--state", &url], with_password, |command| {
        command.env("SSL_CERT_FILE", &cert);
    });
    let ready = |at: usize| replicas.all[at].ask("GET", "/readyz", &[], "").text() == "ready";
    let nodes = || ask(redis.port, &["HLEN", "mf:nodes"]).starts_with(":2");
    assert!(until(PATIENCE, || nodes() && ready(0) && ready(1)), "{}", replicas.all[0].client.stderr());
    let everything = |id: u64| {
        let session = replicas.all[0].session("/mcp", NEW, json!({}));
        let subscribe = calling(id, "resources/subscribe", json!({"uri": "file:///a"}));
        assert_eq!(session.post(BOTH, &subscribe).status, 200);
        let unsubscribe = calling(id, "resources/unsubscribe", json!({"uri": "file:///a"}));
        assert_eq!(session.post(BOTH, &unsubscribe).status, 200);
        let mut call = session.call(id, "progress", json!({"steps": 30, "ms": 1}), Some(json!("t")));
        assert!(to_the_end(&mut call.response().events()).len() > 1);
        let other = session.at(replicas.port(1));
        assert_eq!(other.post(BOTH, &calling(id, "tools/list", json!({}))).status, 200);
        other.listen(None).response();
        assert_eq!(other.delete(), 204);
        assert!(until(PATIENCE, || session.post(BOTH, &calling(id, "ping", json!({}))).status == 404));
    };
    everything(2);
    // Redis has both passwords, the file the new one; then the old one goes, and with it who came by it.
    ask(redis.port, &["ACL", "SETUSER", "gateway", ">second-password"]);
    let next = home.write_private("redis.password.new", "second-password\n");
    fs::rename(next, &password).expect("the file can be replaced");
    ask(redis.port, &["ACL", "SETUSER", "gateway", "<first-password"]);
    ask(redis.port, &["CLIENT", "KILL", "USER", "gateway"]);
    assert!(until(PATIENCE, || (0..2).all(|at| replicas.said(at, "connected to redis") >= 2)));
    assert!(until(PATIENCE, || ready(0) && ready(1)), "{}", replicas.all[0].client.stderr());
    everything(3);
    let refused = ask(redis.port, &["ACL", "LOG"]);
    assert!(refused.starts_with("*0"), "more is needed: {refused}");
}
