//! `kill -9` of the daemon with calls in flight.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, figures, until};
use serde_json::{Value, json};

use crate::home::{Home, kill_hard};
use crate::{SOON, fake_with, figure, text_of};

/// How many reads, and how many calls, are in flight when the daemon is killed.
const EACH: u64 = 50;

const LOG: &str = "fx.log";

/// A home with one server that takes a moment for each answer and writes down what it is asked.
fn home() -> Home {
    let sandbox = Sandbox::new();
    let more = json!({
        "log": sandbox.path(LOG),
        "resources": [{"uri": "note://1", "name": "note"}],
        "delayMs": {"resources/read": 20},
    });
    let servers = json!({"fx": fake_with(&["sleep", "echo"], more)});
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 1000}}))
}

/// How often each call reached a server, by the number in its arguments.
#[derive(Default)]
struct Runs(BTreeMap<u64, usize>);

impl Runs {
    /// Adds what servers have written down since this was last done, and takes their log away: they begin another.
    fn read(&mut self, home: &Home) {
        let taken = "taken.log";
        if fs::rename(home.sandbox.path(LOG), home.sandbox.path(taken)).is_err() {
            return;
        }
        for call in home.sandbox.received(taken, "tools/call") {
            if let Some(number) = call["params"]["arguments"]["n"].as_u64() {
                *self.0.entry(number).or_default() += 1;
            }
        }
    }
}

/// When the daemon is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// As soon as all is written.
    AtOnce,
    /// When a server has one of the calls, or all.
    Reached(usize),
    /// When one is answered.
    Answered,
}

const MOMENTS: [Moment; 4] =
    [Moment::AtOnce, Moment::Reached(1), Moment::Reached(EACH as usize), Moment::Answered];

struct Round {
    reads: BTreeSet<u64>,
    /// The calls by their ids, with the numbers they bear.
    calls: BTreeMap<u64, u64>,
    answers: BTreeMap<u64, Value>,
}

/// Asks for everything at once.
fn ask(client: &mut Client, numbers: &mut u64) -> Round {
    let mut round = Round { reads: BTreeSet::new(), calls: BTreeMap::new(), answers: BTreeMap::new() };
    for _ in 0..EACH {
        round.reads.insert(client.request("resources/read", json!({"uri": "note://1"})));
        *numbers += 1;
        let arguments = json!({"ms": 20, "n": *numbers});
        let id = client.request("tools/call", json!({"name": "fx__sleep", "arguments": arguments}));
        round.calls.insert(id, *numbers);
    }
    round
}

impl Round {
    fn take(&mut self, message: Value) {
        let Some(id) = message["id"].as_u64() else { return };
        let asked = self.reads.contains(&id) || self.calls.contains_key(&id);
        assert!(asked, "an answer to nothing: {message}");
        let before = self.answers.insert(id, message);
        assert!(before.is_none(), "{id} is answered twice: {before:?}");
    }

    fn is_over(&self) -> bool {
        self.answers.len() as u64 == 2 * EACH
    }

    fn check(&self, runs: &Runs, what: &str) {
        for id in &self.reads {
            assert!(self.answers[id]["result"].is_object(), "{what}: a read failed: {}", self.answers[id]);
        }
        for (id, number) in &self.calls {
            let answer = &self.answers[id];
            let ran = runs.0.get(number).copied().unwrap_or(0);
            assert!(ran <= 1, "{what}: call {number} ran {ran} times");
            if answer["result"].is_object() {
                assert_eq!(ran, 1, "{what}: {answer}");
            } else {
                assert_eq!(answer["error"]["data"]["mayHaveRun"], json!(true), "{what}: {answer}");
            }
        }
    }
}

// A6, A7
#[test]
fn every_call_is_answered_once_and_none_runs_twice() {
    let home = home();
    let mut client = home.open();
    let mut numbers = 0;
    let mut failed = 0;
    let mut runs = Runs::default();
    let mut longest = Duration::ZERO;
    assert_eq!(text_of(&client.call("fx__echo", json!({"text": "warm"}))), "warm");
    for number in 0..figure(50, 500) {
        let moment = MOMENTS[number % MOMENTS.len()];
        let what = format!("round {number}, {moment:?}");
        let daemon = home.daemon();
        runs.read(&home);
        let mut round = ask(&mut client, &mut numbers);
        match moment {
            Moment::AtOnce => {}
            Moment::Reached(calls) => {
                let reached = || home.sandbox.received(LOG, "tools/call").len() >= calls;
                assert!(until(SOON, reached), "{what}");
            }
            Moment::Answered => round.take(client.recv(SOON)),
        }
        kill_hard(daemon);
        let killed = Instant::now();
        let probe = client.request("tools/call", json!({"name": "fx__echo", "arguments": {"text": "new"}}));
        let answer = client.wait_for(probe, SOON);
        longest = longest.max(killed.elapsed());
        assert_eq!(text_of(&answer), "new", "{what}");
        while !round.is_over() {
            round.take(client.recv(SOON));
        }
        // What was said twice would be here by now: answers keep their order on the pipe.
        assert_eq!(client.ask("ping", Value::Null)["result"], json!({}), "{what}");
        while let Some(message) = client.try_recv(Duration::ZERO) {
            round.take(message);
        }
        runs.read(&home);
        round.check(&runs, &what);
        failed += round.answers.values().filter(|answer| answer["error"].is_object()).count();
    }
    let doubled: Vec<_> = runs.0.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    assert!(failed > 0, "some calls were with the server when the daemon was killed");
    // The server's own start is in it.
    figures::took("A7: from the kill to the answer of a new call", longest, Duration::from_millis(150));
    client.leave();
    home.wait_gone();
}

/// A call that nobody had begun when the daemon died is made by the next, for a window that had only just come.
#[test]
fn windows_that_are_idle_go_on_as_well() {
    let home = home();
    let mut windows: Vec<Client> = (0..5).map(|_| home.open()).collect();
    for _ in 0..figure(3, 30) {
        kill_hard(home.daemon());
        assert!(until(SOON, || home.status().is_some_and(|status| status["clients"] == json!(5))));
        for window in &mut windows {
            assert_eq!(text_of(&window.call("fx__echo", json!({"text": "on"}))), "on");
        }
        assert_eq!(home.daemons().len(), 1);
    }
}
