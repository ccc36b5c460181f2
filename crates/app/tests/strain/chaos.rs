//! Servers are killed at random under load (F2): the clients' log is joined with the servers' own, and every call is
//! accounted for.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]
#![expect(clippy::disallowed_types, reason = "how fast an error comes is measured in real time")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Sandbox, fake, figures};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::http::{Conn, Gateway, calling, end_quietly};
use crate::{Random, alone};

const CLIENTS: usize = 64;
const SERVERS: usize = 8;
const BETWEEN_KILLS: Duration = Duration::from_millis(200);

/// One call as its client saw it.
struct Seen {
    token: String,
    server: usize,
    sent: Instant,
    answered: Instant,
    outcome: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Right,
    /// An answer that was another call's.
    Wrong(String),
    Failed(String),
}

// F2
#[test]
fn every_call_is_accounted_for_while_servers_are_killed() {
    let _alone = alone();
    let calls = if std::env::var_os("MANIFOLD_LONG").is_some() { 1_000_000 } else { 50_000 };
    let sandbox = Sandbox::new();
    let server = |at: usize| {
        let (log, pid) = (sandbox.path(&format!("{at}.log")), sandbox.path(&format!("{at}.pid")));
        (format!("s{at}"), fake(json!({"log": log, "pid": pid})))
    };
    let servers: serde_json::Map<String, Value> = (0..SERVERS).map(server).collect();
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": servers, "managerTools": false}), &[]);
    let port = gateway.port;
    let mut first = Conn::open(port);
    for at in 0..SERVERS {
        let seen = call(&mut first, at, format!("first {at}"));
        assert_eq!(seen.outcome, Outcome::Right);
    }

    let (left, over) = (AtomicUsize::new(calls), AtomicBool::new(false));
    let began = Instant::now();
    let (seen, kills) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let left = &left;
                scope.spawn(move || {
                    let mut connection = Conn::open(port);
                    connection.patience(Duration::from_secs(60));
                    let mut seen = Vec::new();
                    let mut random = Random(client as u64 + 1);
                    let take = |left: usize| left.checked_sub(1);
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                        let token = format!("{client} {}", seen.len());
                        seen.push(call(&mut connection, random.below(SERVERS), token));
                    }
                    seen
                })
            })
            .collect();
        let killer = scope.spawn(|| {
            let mut kills: Vec<(usize, Instant)> = Vec::new();
            let mut random = Random(7);
            while !over.load(Ordering::Relaxed) {
                thread::sleep(BETWEEN_KILLS);
                let at = random.below(SERVERS);
                let Some(pid) = last_pid(&sandbox, at) else { continue };
                let when = Instant::now();
                if kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok() {
                    kills.push((at, when));
                }
            }
            kills
        });
        let seen: Vec<Seen> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        (seen, killer.join().unwrap())
    });
    let took = began.elapsed();
    end_quietly(gateway.client);

    let ran = executions(&sandbox);
    let mut delays = Vec::new();
    let (mut right, mut failed) = (0, 0);
    for one in &seen {
        let runs = ran.get(one.token.as_str()).map_or(&[][..], Vec::as_slice);
        assert!(runs.len() <= 1, "{} ran {} times", one.token, runs.len());
        assert!(runs.iter().all(|server| *server == one.server), "{} ran on {runs:?}", one.token);
        match &one.outcome {
            Outcome::Right => {
                assert_eq!(runs.len(), 1, "{} was answered but never ran", one.token);
                right += 1;
            }
            Outcome::Wrong(text) => panic!("{} was answered with {text}", one.token),
            Outcome::Failed(why) => {
                failed += 1;
                // The kill that met it in flight: the last one before its answer.
                let mut met =
                    kills.iter().filter(|(server, at)| *server == one.server && *at <= one.answered);
                let (_, at) = met.next_back().unwrap_or_else(|| panic!("{}: {why}", one.token));
                delays.push(one.answered - (*at).max(one.sent));
            }
        }
    }
    delays.sort_unstable();
    let p99 = delays.get(delays.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default();
    println!(
        "F2: {} calls, {CLIENTS} clients, {SERVERS} servers, {} kills in {took:?}: {right} right, {failed} failed, \
         0 lost, 0 duplicated, 0 misrouted; error p99 {p99:?}, worst {:?}",
        seen.len(),
        kills.len(),
        delays.last().copied().unwrap_or_default()
    );
    assert_eq!(seen.len(), calls, "lost");
    assert!(right * 2 >= calls, "{right} of {calls}");
    figures::took("F2: p99 of the errors of calls met in flight", p99, Duration::from_millis(50));
}

fn call(connection: &mut Conn, server: usize, token: String) -> Seen {
    let body = json!({"name": format!("s{server}__echo"), "arguments": {"text": token}});
    let sent = Instant::now();
    connection.send("POST", "/api/default/mcp", &[], &calling(1, "tools/call", body));
    let answer = connection.answer().json();
    let answered = Instant::now();
    let outcome = match answer["result"]["content"][0]["text"].as_str() {
        Some(text) if text == token => Outcome::Right,
        Some(text) => Outcome::Wrong(text.to_owned()),
        None => Outcome::Failed(
            answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned(),
        ),
    };
    Seen { token, server, sent, answered, outcome }
}

fn last_pid(sandbox: &Sandbox, at: usize) -> Option<i32> {
    let pids = fs::read_to_string(sandbox.path(&format!("{at}.pid"))).ok()?;
    // A line without its end is being written.
    pids.strip_suffix('\n')?.lines().last()?.parse().ok()
}

/// Returns which servers each token reached, from what they wrote down themselves.
fn executions(sandbox: &Sandbox) -> HashMap<String, Vec<usize>> {
    let mut ran: HashMap<String, Vec<usize>> = HashMap::new();
    for at in 0..SERVERS {
        let log = BufReader::new(fs::File::open(sandbox.path(&format!("{at}.log"))).unwrap());
        for line in log.lines().map_while(Result::ok) {
            // The last line of a killed server may be cut.
            let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
            if line["msg"]["method"] == "tools/call"
                && let Some(token) = line["msg"]["params"]["arguments"]["text"].as_str()
            {
                ran.entry(token.to_owned()).or_default().push(at);
            }
        }
    }
    ran
}
