//! Many operators who order at once: no instance has two processes, and every order has its line in the audit.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_admin::ErrorCode;
use manifold_testkit::processes::{command_line, descendants};
use manifold_testkit::{Client, Sandbox, until};
use serde_json::{Value, json};

use crate::home::Home;
use crate::operator::{Desk, run};
use crate::{Random, SOON, fake_with, figure, text_of};

const CLIENTS: u64 = 64;
const ORDERS_EACH: u64 = 10;
/// Two that all windows share, and one that each folder has for itself.
const SERVERS: [&str; 3] = ["one", "two", "own"];
const FOLDERS: [&str; 2] = ["here", "there"];

fn home() -> Home {
    let sandbox = Sandbox::new();
    let server = |name: &str| {
        let mut server =
            fake_with(&["pid"], json!({"name": format!("the {name} of {}", sandbox.home().display())}));
        if name != "own" {
            server["shared"] = json!(true);
        }
        (name.to_owned(), server)
    };
    let servers: serde_json::Map<String, Value> = SERVERS.iter().map(|name| server(name)).collect();
    let config = json!({"mcpServers": servers, "daemon": {"linger": 1000}});
    Home::within(sandbox, config)
}

fn windows(home: &Home) -> Vec<Client> {
    let open = |name: &&str| {
        let folder = home.sandbox.path(name);
        fs::create_dir_all(&folder).expect("it can be made");
        home.open_as(&[], &folder)
    };
    FOLDERS.iter().map(open).collect()
}

/// Returns how many processes of each server the daemon has.
fn processes(daemon: u32) -> BTreeMap<&'static str, usize> {
    let mut count = BTreeMap::new();
    for pid in descendants(daemon) {
        let words = command_line(pid);
        let is_server = words.first().is_some_and(|word| word.ends_with("fake-server"));
        let name = SERVERS
            .into_iter()
            .find(|name| words.get(1).is_some_and(|knobs| knobs.contains(&format!("the {name} of "))));
        if let (true, Some(name)) = (is_server, name) {
            *count.entry(name).or_insert(0) += 1;
        }
    }
    count
}

/// Checks that no instance has two processes.
fn check_processes(daemon: u32) {
    for (server, count) in processes(daemon) {
        let instances = if server == "own" { FOLDERS.len() } else { 1 };
        assert!(count <= instances, "{count} processes of {server}");
    }
}

/// Returns the lines of the audit, and forgets them: files have an end.
fn take_audit(home: &Home, desk: &Desk) -> Vec<Value> {
    // It is written before it is read.
    desk.get("/v1/audit?lines=1");
    let folder: PathBuf = home.sandbox.path(".local/state/manifold/audit");
    let files = fs::read_dir(folder).expect("there is an audit").flatten().map(|entry| entry.path());
    let mut lines = Vec::new();
    for file in files.filter(|file| file.to_string_lossy().contains(".jsonl")) {
        let text = fs::read_to_string(&file).expect("it can be read");
        lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line")));
        fs::remove_file(file).expect("it can be removed");
    }
    lines
}

/// Makes one order of many; returns whether it was done.
fn order_something(desk: &Desk, random: &mut Random) -> bool {
    let server = SERVERS[random.below(3) as usize];
    let order = ["start", "stop", "restart"][random.below(3) as usize];
    match random.below(16) {
        0 => {
            let refused = desk.order(&format!("/v1/servers/nobody/{order}"));
            assert_eq!(refused, Err((404, ErrorCode::UnknownServer)));
            false
        }
        1 => {
            let refused = desk.write_config("{}", "an-earlier-one");
            assert_eq!(refused, Err((412, ErrorCode::Stale)));
            false
        }
        _ => match desk.order(&format!("/v1/servers/{server}/{order}")) {
            Ok(_) => true,
            // Others had it stopped before it was up.
            Err((502, ErrorCode::FailedToStart)) => false,
            Err(other) => panic!("{order} {server}: {other:?}"),
        },
    }
}

/// Lets all clients order at random, and returns how many orders were done and how many refused.
fn storm(home: &Home, round: u64) -> [usize; 2] {
    let daemon = home.daemon();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                check_processes(daemon);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let client = |client: u64| {
            let desk = Desk::of(home);
            let mut random = Random((round * CLIENTS + client + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (0..ORDERS_EACH).filter(|_| order_something(&desk, &mut random)).count()
        };
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        let ended: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        let done = ended.into_iter().map(|done| done.expect("a client")).sum::<usize>();
        [done, (CLIENTS * ORDERS_EACH) as usize - done]
    })
}

// B7
#[test]
fn operators_who_order_at_once_leave_one_process_an_instance_and_a_line_an_order() {
    let home = home();
    let mut windows = windows(&home);
    let (daemon, desk) = (home.daemon(), Desk::of(&home));
    let length = Duration::from_secs(figure(5, 600) as u64);
    let (begun, mut round) = (Instant::now(), 0);
    while round == 0 || begun.elapsed() < length {
        let told = storm(&home, round);
        check_processes(daemon);
        let lines = take_audit(&home, &desk);
        let outcomes =
            ["done", "refused"].map(|outcome| lines.iter().filter(|line| line["outcome"] == outcome).count());
        assert_eq!(outcomes, told, "round {round}: an order without its line, or a line without its order");
        assert_eq!(lines.len(), told.iter().sum::<usize>());
        round += 1;
    }
    for server in SERVERS {
        desk.order(&format!("/v1/servers/{server}/stop")).expect("it is stopped");
    }
    assert!(until(SOON, || processes(daemon).is_empty()), "{:?}", processes(daemon));
    for server in SERVERS {
        desk.order(&format!("/v1/servers/{server}/start")).expect("it is started");
        for window in &mut windows {
            text_of(&window.call(&format!("{server}__pid"), json!({})));
        }
    }
    assert_eq!(processes(daemon), BTreeMap::from([("one", 1), ("two", 1), ("own", 2)]));
    assert_eq!((home.daemon(), take_audit(&home, &desk).len()), (daemon, 6));
    println!("{round} rounds of {} orders", CLIENTS * ORDERS_EACH);
}

// B7
#[test]
fn of_two_who_change_the_same_config_one_is_refused() {
    let home = home();
    let _window = home.open();
    let desk = Desk::of(&home);
    for round in 0..figure(3, 50) {
        let config = desk.get("/v1/config");
        let revision = config["revision"].as_str().expect("it has one");
        let text = config["text"].as_str().expect("it has one");
        let answers: Vec<_> = thread::scope(|scope| {
            let write = |writer: usize| {
                let changed = text.replacen('{', &format!("{{ // {round} {writer}\n"), 1);
                Desk::of(&home).write_config(&changed, revision)
            };
            let writers: Vec<_> = (0..8).map(|writer| scope.spawn(move || write(writer))).collect();
            writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
        });
        let written = answers.iter().filter(|answer| answer.is_ok()).count();
        let stale = answers.iter().filter(|answer| **answer == Err((412, ErrorCode::Stale))).count();
        assert_eq!((written, stale), (1, 7), "{answers:?}");
        let lines = take_audit(&home, &desk);
        let done: Vec<&Value> = lines.iter().filter(|line| line["outcome"] == "done").collect();
        assert_eq!((lines.len(), done.len()), (8, 1), "{lines:?}");
        assert_eq!((&done[0]["before"], &done[0]["verb"]), (&json!(revision), &json!("config edit")));
        assert_eq!(done[0]["after"], desk.get("/v1/config")["revision"]);
    }
}

#[test]
fn commands_that_change_the_config_at_once_leave_a_line_each() {
    const COMMANDS: usize = 12;
    for runs in [true, false] {
        let home = home();
        if runs {
            assert!(home.order(&["start"]).status.success());
        }
        thread::scope(|scope| {
            for number in 0..COMMANDS {
                let home = &home;
                scope.spawn(move || {
                    let ran = run(&home.sandbox, &["add", &format!("s{number}"), "--", "cat"]);
                    assert_eq!(ran.code, Some(0), "{ran:?}");
                });
            }
        });
        let audit = home.sandbox.path(".local/state/manifold/audit/audit.jsonl");
        let lines = || fs::read_to_string(&audit).unwrap_or_default();
        assert!(until(SOON, || lines().lines().count() >= COMMANDS), "{}", lines());
        let text = lines();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let added = lines.iter().filter(|line| line["verb"] == "add").count();
        assert_eq!((lines.len(), added), (COMMANDS, COMMANDS), "{text}");
        assert!(lines.iter().all(|line| line["outcome"] == "done"), "{text}");
    }
}
