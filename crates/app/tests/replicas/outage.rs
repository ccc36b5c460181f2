//! What replicas share is away for a while, in part, or too small.

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Gateway, HttpClient, calling};
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::fixture::{BOTH, NEW, Replicas, config, modern};
use crate::redis::{ask, redis, redis_at};
use crate::shared::{sharing, to_the_end};

const TOKEN: &str = "sixteen letters!";

/// The config of replicas that tell whoever has the token how they are.
fn watched(home: &Sandbox) -> Value {
    let mut config = config(home);
    config["dashboard"] = json!({"enabled": true});
    config["server"] = json!({"token": TOKEN});
    config
}

fn word(gateway: &Gateway) -> String {
    gateway.ask("GET", "/readyz", &[], "").text()
}

/// Returns why a replica is degraded.
fn why(gateway: &Gateway) -> String {
    let bearer = format!("Bearer {TOKEN}");
    let snapshot = gateway.ask("GET", "/v1/snapshot", &[("Authorization", &bearer)], "").json();
    snapshot["gateway"]["degraded"][0]["why"].as_str().unwrap_or_default().to_owned()
}

fn pings(session: &HttpClient) -> bool {
    session.post(BOTH, &calling(5, "ping", json!({}))).status == 200
}

// A Redis that sleeps holds nobody up: here with the patience that replicas have outside of tests
#[test]
fn a_redis_that_sleeps_holds_nobody_up() {
    let home = Sandbox::new();
    let Some(redis) = redis(&home) else { return };
    let url = format!("redis://127.0.0.1:{}/0", redis.port);
    let replicas = Replicas::start_by(2, &["--state", &url], watched, |command| {
        command.env_remove("MANIFOLD_STATE_PATIENCE_MS");
    });
    let gateway = &replicas.all[0];
    assert!(until(PATIENCE, || word(gateway) == "ready"), "{}", gateway.client.stderr());
    redis.signal(Signal::SIGSTOP);
    let call = |id: u64| {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("Accept", BOTH), ("Authorization", bearer.as_str())];
        let hello =
            json!({"protocolVersion": NEW, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        // Each is a session that is opened, and each call one that would be noted.
        let opened = gateway.ask("POST", "/mcp", &headers, &calling(id, "initialize", hello));
        let session = opened.header("mcp-session-id").expect("a session").to_owned();
        let headers = [headers[0], headers[1], ("Mcp-Session-Id", session.as_str())];
        let params =
            json!({"name": "progress", "arguments": {"steps": 2, "ms": 1}, "_meta": {"progressToken": 1}});
        gateway.ask("POST", "/mcp", &headers, &calling(id, "tools/call", params)).text()
    };
    for id in 1..20 {
        assert!(call(id).contains("2 steps"), "a call is answered");
    }
    assert!(until(PATIENCE, || word(gateway) == "degraded"));
    assert!(until(PATIENCE, || why(gateway) == "redis is away"), "{}", why(gateway));
    assert!(call(30).contains("2 steps"), "a call is answered");
    redis.signal(Signal::SIGCONT);
    assert!(until(PATIENCE, || word(gateway) == "ready"));
}

// A Redis that takes nothing is not there, and it is said why
#[test]
fn a_redis_that_is_full_is_told_of() {
    let home = Sandbox::new();
    let Some(redis) = redis(&home) else { return };
    let url = format!("redis://127.0.0.1:{}/0", redis.port);
    let replicas = Replicas::start_with(1, &["--state", &url], watched);
    let gateway = &replicas.all[0];
    assert!(until(PATIENCE, || word(gateway) == "ready"), "{}", gateway.client.stderr());
    ask(redis.port, &["CONFIG", "SET", "maxmemory", "1"]);
    assert!(until(PATIENCE, || word(gateway) == "degraded"));
    assert!(until(PATIENCE, || why(gateway) == "redis refuses: OOM"), "{}", why(gateway));
    ask(redis.port, &["CONFIG", "SET", "maxmemory", "0"]);
    assert!(until(PATIENCE, || word(gateway) == "ready"));
}

// The connection by which news come breaks alone: what was said meanwhile is found out
#[test]
fn a_session_that_ended_unheard_is_over_all_the_same() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 2) else { return };
    let here = replicas.all[0].session("/mcp", NEW, json!({}));
    let there = here.at(replicas.port(1));
    assert!(pings(&here) && pings(&there));
    let listening = || ask(redis.port, &["PUBSUB", "NUMSUB", "mf:news"]).contains(":2");
    assert!(until(PATIENCE, listening));
    let killed = ask(redis.port, &["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert!(killed.starts_with(":2"), "{killed}");
    assert_eq!(there.delete(), 204);
    assert!(until(PATIENCE, || !pings(&here)), "{}", replicas.all[0].client.stderr());
}

// A session that is ended while Redis is away is over at the others once it is back
#[test]
fn an_end_that_could_not_be_told_is_told_later() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 2) else { return };
    let here = replicas.all[0].session("/mcp", NEW, json!({}));
    let there = here.at(replicas.port(1));
    assert!(pings(&here) && pings(&there));
    let port = redis.port;
    drop(redis);
    assert!(until(PATIENCE, || (0..2).all(|at| replicas.said(at, "redis is away") >= 1)));
    assert_eq!(here.delete(), 204);
    assert!(pings(&there), "nobody can have told it");
    let _redis = redis_at(&home, port);
    assert!(until(PATIENCE, || !pings(&there)), "{}", replicas.all[1].client.stderr());
}

// A stream that is too long for its log is gone on with at another replica while its own lives
#[test]
fn a_long_stream_goes_on_at_another_replica() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let steps = 3000;
    let mut call = session.call(9, "progress", json!({"steps": steps, "ms": 1}), Some(json!("t")));
    let mut last = String::new();
    {
        let mut events = call.response().events();
        for _ in 0..2500 {
            last = events.next().and_then(|event| event.id).expect("an id");
        }
    }
    drop(call);
    let mut resumed = session.at(replicas.port(1)).listen(Some(&last));
    let rest = to_the_end(&mut resumed.response().events());
    let number = |id: &str| id.rsplit('-').next().and_then(|number| number.parse::<u64>().ok());
    let mut next = number(&last).expect("a number");
    for (id, _) in &rest {
        next += 1;
        assert_eq!(number(id), Some(next), "no gap and no double");
    }
    let (_, answer) = rest.last().expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], format!("{steps} steps"), "{answer}");
}

// What a client asks for and does not get is not noted
#[test]
fn only_subscriptions_that_were_granted_are_noted() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 1) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let subscribe =
        |uri: &str| session.post(BOTH, &calling(2, "resources/subscribe", json!({"uri": uri}))).json();
    let refused = subscribe("nowhere://b");
    assert!(refused["error"].is_object(), "{refused}");
    assert!(subscribe("file:///a")["result"].is_object());
    let keys = ask(redis.port, &["KEYS", "mf:s:*"]);
    let key = keys.lines().find(|line| line.starts_with("mf:s:")).expect("it is noted before it is answered");
    let fields = ask(redis.port, &["HKEYS", key]);
    assert!(fields.contains("u:file:///a") && !fields.contains("nowhere"), "{fields}");
}

// Two clusters of replicas in one Redis know nothing of each other
#[test]
fn clusters_keep_to_their_own_keys() {
    let home = Sandbox::new();
    let Some(redis) = redis(&home) else { return };
    let url = format!("redis://127.0.0.1:{}/0", redis.port);
    let start = |name: &str| {
        Replicas::start_with(1, &["--state", &url], |home| {
            let mut config = config(home);
            config["scale"] = json!({"cluster": name});
            config
        })
    };
    let (one, two) = (start("one"), start("two"));
    for (replicas, name) in [(&one, "one"), (&two, "two")] {
        assert_eq!(modern(replicas.port(0), "tools/list", &json!({})).status, 200);
        let session = replicas.all[0].session("/mcp", NEW, json!({}));
        let subscribe = calling(2, "resources/subscribe", json!({"uri": "file:///a"}));
        assert_eq!(session.post(BOTH, &subscribe).status, 200);
        let nodes = format!("mf:{name}:nodes");
        assert!(until(PATIENCE, || ask(redis.port, &["HLEN", &nodes]).starts_with(":1")));
        let channel = format!("mf:{name}:news");
        assert!(until(PATIENCE, || ask(redis.port, &["PUBSUB", "CHANNELS"]).contains(&channel)));
    }
    let keys = ask(redis.port, &["KEYS", "*"]);
    let is_theirs = |key: &str| key.starts_with("mf:one:") || key.starts_with("mf:two:");
    assert!(keys.lines().filter(|line| line.starts_with("mf:")).all(is_theirs), "{keys}");
}
