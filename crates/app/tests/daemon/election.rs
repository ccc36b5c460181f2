//! Who becomes the daemon, and what of those who come as it begins or ends.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::{Client, alive, figures, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::home::{Home, opened, signal};
use crate::{ALONE, LEGACY, Random, SOON, fake_with, figure};

const CROWD: usize = 20;

fn home() -> Home {
    Home::new(json!({"one": fake_with(&["pid"], json!({}))}))
}

/// Starts clients all at once. Returns each with the answer to its `initialize`, and how long the slowest took.
fn crowd(home: &Home) -> (Vec<(Client, Value)>, Duration) {
    let start = Barrier::new(CROWD);
    let come = || {
        start.wait();
        let begun = Instant::now();
        let mut client = home.window();
        let answer = client.initialize(LEGACY, json!({}));
        (client, answer, begun.elapsed())
    };
    let came: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CROWD).map(|_| scope.spawn(come)).collect();
        threads.into_iter().map(|one| one.join().expect("each is answered")).collect()
    });
    let slowest = came.iter().map(|(_, _, took)| *took).max().unwrap_or_default();
    (came.into_iter().map(|(client, answer, _)| (client, answer)).collect(), slowest)
}

// A2
#[test]
fn of_twenty_who_come_at_once_one_starts_the_daemon() {
    let mut slowest = Duration::ZERO;
    for round in 0..figure(20, 200) {
        let home = home();
        let (windows, took) = crowd(&home);
        slowest = slowest.max(took);
        for (window, answer) in &windows {
            assert!(answer["result"].is_object(), "round {round}: {answer}");
            assert!(!window.stderr().contains(ALONE), "round {round}: {}", window.stderr());
        }
        assert_eq!(home.daemons().len(), 1, "round {round}");
        assert_eq!(home.started(), 1, "round {round}: {}", home.log());
        let status = home.status().expect("it runs");
        assert_eq!(status["clients"], json!(CROWD), "round {round}");
    }
    figures::took("A2: the slowest `initialize` of 20 at once, cold", slowest, Duration::from_millis(250));
}

/// Returns the files of the daemon and which they are.
fn files(home: &Home) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(home.run_folder()).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.ino()))).collect();
    files.sort();
    files
}

// A3
#[test]
fn a_daemon_that_is_held_up_as_it_starts_is_still_the_only_one() {
    for round in 0..figure(2, 20) {
        let home = home();
        let held = thread::scope(|scope| {
            let holding = scope.spawn(|| {
                let mut daemon = None;
                assert!(until(SOON, || {
                    daemon = home.daemons().first().copied();
                    daemon.is_some()
                }));
                let daemon = daemon.expect("it was seen");
                signal(daemon, Signal::SIGSTOP);
                let before = files(&home);
                thread::sleep(Duration::from_millis(figure(1000, 3000) as u64));
                let after = files(&home);
                signal(daemon, Signal::SIGCONT);
                // Whoever waits may have made its own lock meanwhile; nothing of the daemon's may be gone or replaced.
                assert!(before.iter().all(|file| after.contains(file)), "{before:?} {after:?}");
                daemon
            });
            let (windows, _) = crowd(&home);
            for (window, answer) in &windows {
                assert!(answer["result"].is_object(), "round {round}: {answer}");
                assert!(!window.stderr().contains(ALONE), "round {round}: {}", window.stderr());
            }
            let status = home.status().expect("it runs");
            assert_eq!(status["clients"], json!(CROWD), "round {round}");
            let daemon = holding.join().expect("it was held up");
            assert_eq!(home.daemon(), daemon, "round {round}");
            daemon
        });
        assert_eq!(home.started(), 1, "round {round}: {}", home.log());
        assert!(until(SOON, || !alive(held)), "it ends when its windows are gone");
    }
}

// A18
#[test]
fn whoever_comes_as_the_daemon_ends_is_served() {
    let lanes = 10;
    let rounds = figure(100, 1000) / lanes;
    let starts: usize = thread::scope(|scope| {
        let lane = |number: u64| {
            let home = home();
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (number + 1));
            opened(home.window()).leave();
            for round in 0..rounds {
                if round % 2 == 0 {
                    // About when it decides.
                    thread::sleep(Duration::from_millis(960 + random.below(60)));
                } else {
                    // Once it has begun to go.
                    assert!(until(SOON, || home.run_file("mcp.sock").is_none()), "{}", home.log());
                }
                home.open().leave();
            }
            home.wait_gone();
            home.started()
        };
        let threads: Vec<_> = (0..lanes as u64).map(|number| scope.spawn(move || lane(number))).collect();
        threads.into_iter().map(|one| one.join().expect("each round is served")).sum()
    });
    assert!(starts > lanes * rounds / 2, "most rounds saw one daemon end and another begin: {starts}");
}
