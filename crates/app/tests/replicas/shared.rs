//! Replicas that share a Redis.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http::{Conn, Gateway, HttpClient, calling};
use manifold_testkit::{Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::fixture::{BOTH, NEW, Replicas, config, elicit, modern};
use crate::redis::{Program, ask, beside_upkeep, commands, haproxy, redis, redis_at};

/// Starts replicas that share a Redis, which is up and knows them all.
pub(crate) fn sharing(home: &Sandbox, count: usize) -> Option<(Program, Replicas)> {
    sharing_with(home, count, config)
}

pub(crate) fn sharing_with(
    home: &Sandbox,
    count: usize,
    config: impl Fn(&Sandbox) -> Value,
) -> Option<(Program, Replicas)> {
    let redis = redis(home)?;
    let url = format!("redis://127.0.0.1:{}/0", redis.port);
    let replicas = Replicas::start_with(count, &["--state", &url], config);
    assert!(until(PATIENCE, || nodes(redis.port) == count), "all are known");
    // Each has read who else there is.
    let words = format!("replicas={count}");
    assert!(until(PATIENCE, || (0..count).all(|at| replicas.said(at, &words) >= 1)));
    Some((redis, replicas))
}

fn nodes(port: u16) -> usize {
    let answer = ask(port, &["HLEN", "mf:nodes"]);
    answer.lines().next().and_then(|line| line.strip_prefix(':')?.parse().ok()).unwrap_or(0)
}

/// Reads events until one is an answer; returns the ids and messages of all that said something.
pub(crate) fn to_the_end<R: FnMut() -> Option<Vec<u8>>>(
    events: &mut manifold_testkit::http::Events<R>,
) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    loop {
        let event = events.next().expect("the stream goes on until its answer");
        if event.data.is_empty() {
            continue;
        }
        let message = event.json();
        let is_answer = message.get("method").is_none();
        all.push((event.id.clone().unwrap_or_default(), message));
        if is_answer {
            return all;
        }
    }
}

fn number_of(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|number| number.parse().ok()).expect("an event has a number")
}

// One of two replicas is killed in mid-stream: no session is lost, and streams go on without a gap and without a double
#[test]
fn a_killed_replica_takes_no_session_along() {
    const SESSIONS: usize = 100;
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let sessions: Vec<HttpClient> =
        (0..SESSIONS).map(|_| replicas.all[0].session("/mcp", NEW, json!({}))).collect();
    // A few have a call in flight that says how far it is.
    let steps = 10_000;
    let mut calls: Vec<Conn> = sessions[..5]
        .iter()
        .map(|session| session.call(9, "progress", json!({"steps": steps, "ms": 20}), Some(json!("t"))))
        .collect();
    let mut heard: Vec<Vec<(String, u64)>> = Vec::new();
    for call in &mut calls {
        let mut events = call.response().events();
        let mut some = Vec::new();
        while some.len() < 3 {
            let event = events.next().expect("progress comes");
            if !event.data.is_empty() {
                let step = event.json()["params"]["progress"].as_u64().expect("a step");
                some.push((event.id.expect("an id"), step));
            }
        }
        heard.push(some);
    }
    replicas.kill(0);
    for session in &sessions {
        let answer = session.at(replicas.port(1)).post(BOTH, &calling(10, "tools/list", json!({})));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    for (session, heard) in sessions.iter().zip(&heard) {
        let (last, step) = heard.last().expect("some were heard");
        let mut resumed = session.at(replicas.port(1)).listen(Some(last));
        let rest = to_the_end(&mut resumed.response().events());
        let (mut number, mut step) = (number_of(last), *step);
        for (id, message) in &rest {
            number += 1;
            assert_eq!(number_of(id), number, "no gap and no double");
            match message["params"]["progress"].as_u64() {
                Some(next) => {
                    step += 1;
                    assert_eq!(next, step, "no gap and no double");
                }
                None => {
                    assert_eq!(message["id"], 9);
                    let words = message["error"]["message"].as_str().unwrap_or_default();
                    assert!(words.contains("the replica that made this call is gone"), "{message}");
                }
            }
        }
    }
    println!("killed in mid-stream: 0 of {SESSIONS} sessions lost, {} streams gone on with", heard.len());
}

// The answer to a call is read on at another replica while its own goes on with it
#[test]
fn a_stream_goes_on_at_another_replica() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let mut call = session.call(9, "progress", json!({"steps": 50, "ms": 20}), Some(json!("t")));
    let last = {
        let mut events = call.response().events();
        let mut last = String::new();
        for _ in 0..4 {
            last = events.next().and_then(|event| event.id).expect("an id");
        }
        last
    };
    drop(call);
    let mut resumed = session.at(replicas.port(1)).listen(Some(&last));
    let rest = to_the_end(&mut resumed.response().events());
    let numbers: Vec<u64> = rest.iter().map(|(id, _)| number_of(id)).collect();
    let first = number_of(&last) + 1;
    assert_eq!(numbers, (first..first + rest.len() as u64).collect::<Vec<_>>());
    let (_, answer) = rest.last().expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "50 steps", "{answer}");
    // Fifty steps and the answer, each once.
    assert_eq!(numbers.last(), Some(&51));
}

// What a session listens for goes with it, and its own stream goes on under the same numbers
#[test]
fn subscriptions_and_the_own_stream_move_along() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let subscribe = calling(2, "resources/subscribe", json!({"uri": "file:///a"}));
    assert_eq!(session.post(BOTH, &subscribe).status, 200);
    let last = {
        let mut listening = session.listen(None);
        let mut events = listening.response().events();
        session.call(3, "update", json!({"uri": "file:///a"}), None).answer();
        loop {
            let event = events.next().expect("it is told");
            if event.data.contains("notifications/resources/updated") {
                break event.id.expect("an id");
            }
        }
    };
    let other = session.at(replicas.port(1));
    let mut listening = other.listen(Some(&last));
    let mut events = listening.response().events();
    assert!(until(PATIENCE, || !replicas.homes[1].received("s.log", "resources/subscribe").is_empty()));
    other.call(4, "update", json!({"uri": "file:///a"}), None).answer();
    loop {
        let event = events.next().expect("it is told here, too");
        if event.data.contains("notifications/resources/updated") {
            let id = event.id.expect("an id");
            assert_eq!(number_of(&id), number_of(&last) + 1, "the same stream");
            break;
        }
    }
    // One that is ended is over everywhere.
    assert_eq!(other.delete(), 204);
    assert!(until(PATIENCE, || session.post(BOTH, &calling(5, "ping", json!({}))).status == 404));
}

// Who read a list at one replica and listens at another hears that it has changed
#[test]
fn lists_may_have_been_read_elsewhere() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let listen_at = |session: &HttpClient, list: usize, listen: usize| {
        let body = calling(2, "tools/list", json!({}));
        assert_eq!(session.at(replicas.port(list)).post(BOTH, &body).status, 200);
        let listening = session.at(replicas.port(listen));
        let mut stream = listening.listen(None);
        let mut events = stream.response().events();
        // Each replica has a server of its own, which must run to say anything.
        let tool = format!("new{list}{listen}");
        listening.call(3, "addtool", json!({"name": tool}), None).answer();
        loop {
            let event = events.next().expect("it is told");
            if event.data.contains("notifications/tools/list_changed") {
                break;
            }
        }
    };
    // Opened and read at one, or opened here and read at the other.
    listen_at(&replicas.all[0].session("/mcp", NEW, json!({})), 0, 1);
    listen_at(&replicas.all[1].session("/mcp", NEW, json!({})), 0, 1);
}

/// The config of replicas that give calls in flight their time as they end.
fn patient(home: &Sandbox) -> Value {
    let mut config = config(home);
    config["drainTimeout"] = json!(60_000);
    config
}

fn drain(gateway: &Gateway) {
    gateway.signal(Signal::SIGTERM);
    assert!(until(PATIENCE, || gateway.ask("GET", "/readyz", &[], "").status == 503));
}

// So can it be brought clients without sessions that come back for a call
#[test]
fn a_replica_that_ends_waits_for_retries() {
    let home = Sandbox::new();
    let Some((_redis, mut replicas)) = sharing_with(&home, 2, patient) else { return };
    let round = modern(replicas.port(0), "tools/call", &elicit()).json();
    let mut back = elicit();
    let key = round["result"]["inputRequests"].as_object().and_then(|asked| asked.keys().next().cloned());
    back["inputResponses"] = json!({key.expect("a question"): {"action": "accept", "content": {}}});
    back["requestState"] = round["result"]["requestState"].clone();
    drain(&replicas.all[0]);
    let answer = modern(replicas.port(1), "tools/call", &back).json();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    // Nothing keeps it any longer.
    assert!(replicas.all[0].client.wait_exit(PATIENCE).success());
}

// A replica that ends can still be brought the answers that its calls wait for
#[test]
fn a_replica_that_ends_waits_for_answers() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing_with(&home, 2, patient) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({"elicitation": {}}));
    let mut call = session.call(2, "ask", elicit()["arguments"].clone(), None);
    let mut events = call.response().events();
    let question = events.message();
    drain(&replicas.all[0]);
    session.at(replicas.port(1)).reply(&question["id"], json!({"action": "decline"}));
    assert!(events.message()["result"].is_object(), "it was answered by way of the other");
}

// A replica that has just come is found by who does not know it yet
#[test]
fn a_new_replica_is_found_at_once() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 1) else { return };
    let url = format!("redis://127.0.0.1:{}/0", redis.port);
    let keys = replicas.homes[0].path("keys/state.key");
    let flags = ["--state-key-file", keys.to_str().expect("UTF-8"), "--state", &url];
    let its_home = Sandbox::new();
    let new = Gateway::start(&its_home, &config(&its_home), &flags);
    assert!(until(PATIENCE, || nodes(redis.port) == 2));
    let session = new.session("/mcp", NEW, json!({"elicitation": {}}));
    let mut call = session.call(2, "ask", elicit()["arguments"].clone(), None);
    let mut events = call.response().events();
    let question = events.message();
    session.at(replicas.port(0)).reply(&question["id"], json!({"action": "decline"}));
    assert!(events.message()["result"].is_object());
    // Nobody says that Redis is away before anybody has looked.
    assert_eq!(new.client.stderr().matches("redis is away").count(), 0, "{}", new.client.stderr());
}

// Answers, retries and cancellations find the replica that they belong to
#[test]
fn what_belongs_elsewhere_is_handed_on() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({"elicitation": {}}));
    let other = session.at(replicas.port(1));
    let mut call = session.call(2, "ask", elicit()["arguments"].clone(), None);
    let mut events = call.response().events();
    let question = events.message();
    other.reply(&question["id"], json!({"action": "decline"}));
    assert!(events.message()["result"].is_object(), "it was answered by way of the other");

    // A client without a session comes back to the other one.
    let round = modern(replicas.port(0), "tools/call", &elicit()).json();
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    let mut back = elicit();
    let key = round["result"]["inputRequests"].as_object().and_then(|asked| asked.keys().next().cloned());
    back["inputResponses"] = json!({key.expect("a question"): {"action": "accept", "content": {}}});
    back["requestState"] = round["result"]["requestState"].clone();
    let answer = modern(replicas.port(1), "tools/call", &back).json();
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(
        replicas.homes[1].received("s.log", "tools/call").len(),
        0,
        "the call ran once, where it began"
    );

    // Last: after a call that was taken back nobody can be sure whose a question of the server's is.
    let mut sleeping = session.call(3, "sleep", json!({"ms": 600_000}), None);
    assert!(until(PATIENCE, || replicas.homes[0].received("s.log", "tools/call").len() == 3));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    assert_eq!(other.post(BOTH, &cancel.to_string()).status, 202);
    assert!(until(PATIENCE, || !replicas.homes[0].received("s.log", "notifications/cancelled").is_empty()));
    let mut response = sleeping.response();
    while response.bytes().is_some() {}
}

// A plain call on a known session asks Redis nothing
#[test]
fn a_plain_call_asks_redis_nothing() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 2) else { return };
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let plain = |id: u64| {
        let body = json!({"name": "echo", "arguments": {"text": "x"}});
        // As the SDKs ask: either will do.
        let answer = session.post(BOTH, &calling(id, "tools/call", body));
        assert_eq!(answer.status, 200);
        answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"))
    };
    plain(1);
    let mut asked = Vec::new();
    // One that takes its time becomes a stream, which is written down: then these are not all plain.
    assert!(
        until(PATIENCE, || {
            let before = commands(redis.port);
            let are_plain = (2..202).all(plain);
            let echo = modern(replicas.port(0), "tools/call", &json!({"name": "echo", "arguments": {}}));
            assert_eq!(echo.status, 200);
            asked = beside_upkeep(&before, &commands(redis.port));
            are_plain && asked.is_empty()
        }),
        "200 plain calls: {asked:?}"
    );
    println!("200 plain calls on a known session: 0 commands of Redis");
}

// Redis goes away under load, and comes back
#[test]
fn calls_go_on_without_redis() {
    let home = Sandbox::new();
    let Some((redis, replicas)) = sharing(&home, 2) else { return };
    let away = Duration::from_secs(if std::env::var_os("MANIFOLD_LONG").is_some() { 10 } else { 2 });
    let (calls, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (calls, stop) = (&calls, &stop);
    let port = redis.port;
    let _back = thread::scope(|scope| {
        for at in 0..2 {
            let gateway = replicas.port(at);
            scope.spawn(move || {
                let session = HttpClient::open(gateway, "/mcp", NEW, json!({}));
                while !stop.load(Ordering::Relaxed) {
                    let answer = session.call(2, "echo", json!({"text": "x"}), None).answer();
                    assert_eq!(answer.json()["result"]["content"][0]["text"], "x", "{}", answer.text());
                    // One with a stream, which would be written down.
                    let answer =
                        session.call(3, "progress", json!({"steps": 2, "ms": 1}), Some(json!("t"))).answer();
                    assert_eq!(answer.json()["result"]["content"][0]["text"], "2 steps", "{}", answer.text());
                    calls.fetch_add(2, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let echo = json!({"name": "echo", "arguments": {"text": "x"}});
                    let answer = modern(gateway, "tools/call", &echo).json();
                    assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let some_more = || {
            let before = calls.load(Ordering::Relaxed);
            assert!(until(PATIENCE, || calls.load(Ordering::Relaxed) > before + 50), "calls go on");
        };
        some_more();
        drop(redis);
        assert!(until(PATIENCE, || (0..2).all(|at| replicas.said(at, "redis is away") >= 1)));
        thread::sleep(away);
        some_more();
        let back = redis_at(&home, port);
        assert!(until(PATIENCE, || (0..2).all(|at| replicas.said(at, "connected to redis") >= 2)));
        some_more();
        stop.store(true, Ordering::Relaxed);
        back
    });
    println!("redis away for {away:?}: {} calls, 0 errors", calls.load(Ordering::Relaxed));
    // It is used again.
    let session = replicas.all[0].session("/mcp", NEW, json!({}));
    let subscribe = calling(2, "resources/subscribe", json!({"uri": "file:///a"}));
    assert_eq!(session.post(BOTH, &subscribe).status, 200);
    assert!(until(PATIENCE, || ask(port, &["KEYS", "mf:s:*"]).contains("mf:s:{")));
}

// Behind a real balancer a client never knows which replica it has
#[test]
fn behind_a_balancer_all_is_one() {
    let home = Sandbox::new();
    let Some((_redis, replicas)) = sharing(&home, 2) else { return };
    let ports = [replicas.port(0), replicas.port(1)];
    let Some(balancer) = haproxy(&home, &ports) else { return };
    let up = || (0..4).all(|_| modern(balancer.port, "server/discover", &json!({})).status == 200);
    assert!(until(PATIENCE, up), "the balancer finds the replicas");
    let session = HttpClient::open(balancer.port, "/mcp", NEW, json!({"elicitation": {}}));
    for id in 0..20 {
        let answer = session.call(id, "echo", json!({"text": "x"}), None).answer();
        assert_eq!(answer.json()["result"]["content"][0]["text"], "x");
    }
    for at in 0..2 {
        assert!(!replicas.homes[at].received("s.log", "tools/call").is_empty(), "both had calls");
    }
    // Whoever has the answer gets it where it belongs.
    for id in 30..34 {
        let mut call = session.call(id, "ask", elicit()["arguments"].clone(), None);
        let mut events = call.response().events();
        let question = events.message();
        session.reply(&question["id"], json!({"action": "decline"}));
        assert!(events.message()["result"].is_object());
    }
    for _ in 0..4 {
        let round = modern(balancer.port, "tools/call", &elicit()).json();
        let mut back = elicit();
        let key = round["result"]["inputRequests"].as_object().and_then(|asked| asked.keys().next().cloned());
        back["inputResponses"] = json!({key.expect("a question"): {"action": "accept", "content": {}}});
        back["requestState"] = round["result"]["requestState"].clone();
        assert_eq!(modern(balancer.port, "tools/call", &back).json()["result"]["resultType"], "complete");
    }
    // One goes; the balancer notices, and all go on.
    replicas.kill(0);
    let mut served = 0;
    assert!(until(PATIENCE, || {
        let body = calling(50, "tools/list", json!({}));
        served += usize::from(session.post(BOTH, &body).status == 200);
        served >= 20
    }));
}
