//! Another program takes the daemon's place, and nobody waits.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::processes::command_line;
use manifold_testkit::{Client, Sandbox, bin, figures, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::home::{Home, copy_program, opened, signal, write_program, write_script};
use crate::{SOON, fake_with, figure, text_of};

const LOG: &str = "fx.log";
/// How often an upgrade is one to a newer version.
const NEWER_EVERY: usize = 5;
/// How many calls of a window are under way at any time.
const PIPELINED: usize = 8;

fn home() -> Home {
    let sandbox = Sandbox::new();
    let servers = json!({"fx": fake_with(&["pid", "sleep", "echo"], json!({"log": sandbox.path(LOG)}))});
    Home::within(sandbox, json!({"mcpServers": servers, "daemon": {"linger": 1000}}))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

fn pid_of(client: &mut Client) -> u32 {
    text_of(&client.call("fx__pid", json!({}))).parse().expect("a process")
}

fn epoch(home: &Home) -> Value {
    home.status().map_or(Value::Null, |status| status["epoch"].clone())
}

/// What came of a window's calls.
#[derive(Default)]
struct Called {
    answered: usize,
    /// For how long no answer came at the most.
    longest_gap: Duration,
}

/// Calls without a pause until it is told to stop. Each call must be answered, once.
fn call_on(client: &mut Client, window: usize, stop: &AtomicBool) -> Called {
    let mut open = BTreeMap::new();
    let (mut number, mut called) = (window * 1_000_000, Called::default());
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) || !open.is_empty() {
        while open.len() < PIPELINED && !stop.load(Ordering::Relaxed) {
            number += 1;
            let arguments = json!({"ms": number % 7, "n": number});
            let id = client.request("tools/call", json!({"name": "fx__sleep", "arguments": arguments}));
            open.insert(id, number);
        }
        let answer = client.recv(SOON);
        let Some(id) = answer["id"].as_u64() else { continue };
        assert!(open.remove(&id).is_some(), "an answer to nothing: {answer}");
        assert_eq!(text_of(&answer), "slept");
        called.answered += 1;
        called.longest_gap = called.longest_gap.max(last.elapsed());
        last = Instant::now();
    }
    called
}

/// Opens one window after the other until it is told to stop, and makes a call in each. Returns how many there were.
fn come_and_go(home: &Home, server: u32, stop: &AtomicBool) -> usize {
    let mut came = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut window = home.open();
        assert_eq!(pid_of(&mut window), server);
        window.leave();
        came += 1;
    }
    came
}

// A9
#[test]
fn under_load_no_call_is_lost_or_made_twice_and_servers_stay() {
    let home = home();
    let (program, first) = from_a_copy(&home);
    let mut windows: Vec<Client> = (0..3).map(|_| home.open()).collect();
    windows.push(first);
    let (server, daemon) = (pid_of(&mut windows[0]), home.daemon());
    let stop = &AtomicBool::new(false);
    let (answered, longest_gap) = thread::scope(|scope| {
        let calling: Vec<_> = windows
            .iter_mut()
            .enumerate()
            .map(|(number, window)| scope.spawn(move || call_on(window, number + 1, stop)))
            .collect();
        let coming = scope.spawn(|| come_and_go(&home, server, stop));
        let orders: Vec<Output> = (0..figure(10, 100))
            .map(|round| {
                // Else it is the same once more.
                if round % NEWER_EVERY == 0 {
                    install_newer(&program);
                }
                home.order(&["upgrade"])
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        let called: Vec<Called> =
            calling.into_iter().map(|one| one.join().expect("every call succeeds")).collect();
        assert!(coming.join().expect("nobody who comes is refused") > 0);
        for output in orders {
            assert_eq!(output.status.code(), Some(0), "{}\n{}", said(&output), home.log());
        }
        let longest = called.iter().map(|one| one.longest_gap).max().unwrap_or_default();
        (called.iter().map(|one| one.answered).sum::<usize>(), longest)
    });
    figures::took("A9: the longest time without an answer", longest_gap, Duration::from_millis(50));
    let version = home.status().map(|status| status["version"].clone());
    assert_eq!(
        version,
        Some(json!(newer(env!("CARGO_PKG_VERSION"), (figure(10, 100) / NEWER_EVERY) as isize)))
    );
    assert_eq!(home.daemon(), daemon, "it is the same process");
    assert!(windows.iter_mut().all(|window| pid_of(window) == server), "the server is the same process");
    let mut runs: BTreeMap<u64, usize> = BTreeMap::new();
    for call in home.sandbox.received(LOG, "tools/call") {
        if let Some(number) = call["params"]["arguments"]["n"].as_u64() {
            *runs.entry(number).or_default() += 1;
        }
    }
    assert!(runs.values().all(|times| *times == 1), "a call was made twice");
    assert_eq!(runs.len(), answered);
    windows.into_iter().for_each(Client::leave);
    home.wait_gone();
}

/// A home whose daemon was started from a copy of the program, which can be replaced.
fn from_a_copy(home: &Home) -> (PathBuf, Client) {
    let program = home.sandbox.path("manifold");
    copy_program(&program);
    let mut command = home.sandbox.daemon_of(&program);
    command.args(["serve", "--stdio", "--config"]).arg(&home.config);
    let window = opened(Client::spawn(command));
    (program, window)
}

/// Returns the version that comes so many after one, all of three digits.
pub(crate) fn newer(version: &str, by: isize) -> String {
    let number: isize = version.replace('.', "").parse().expect("three digits");
    let digits = format!("{:03}", number + by);
    digits.chars().map(String::from).collect::<Vec<_>>().join(".")
}

/// Installs a build of the next version, which differs in nothing else, as an installer does.
fn install_newer(program: &Path) {
    let version_of = |program: &Path| {
        let output = std::process::Command::new(program).arg("--version").output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("it is a text");
        text.trim().rsplit(' ').next().expect("a version").to_owned()
    };
    let old = version_of(program);
    let new = newer(&old, 1);
    let mut bytes = fs::read(program).expect("it is there");
    let found: Vec<usize> = memchr::memmem::find_iter(&bytes, old.as_bytes()).collect();
    for at in found {
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    let next = program.with_extension("next");
    write_program(&next, &bytes);
    assert_eq!(version_of(&next), new);
    fs::rename(next, program).expect("it can be replaced");
}

/// Puts another file in the place of a program that may be running.
fn replace(program: &Path, text: &str) {
    let new = program.with_extension("new");
    write_script(&new, text);
    fs::rename(new, program).expect("it can be replaced");
}

// A10
#[test]
fn a_program_that_cannot_take_over_changes_nothing() {
    let home = home();
    let (program, mut window) = from_a_copy(&home);
    let (server, daemon, before) = (pid_of(&mut window), home.daemon(), epoch(&home));
    let mut check = |what: &str, word: &str| {
        let output = home.order(&["upgrade"]);
        assert_eq!(output.status.code(), Some(1), "{what}: {}", said(&output));
        assert!(said(&output).contains(word), "{what}: {}", said(&output));
        assert_eq!((home.daemon(), epoch(&home)), (daemon, before.clone()), "{what}");
        assert_eq!(pid_of(&mut window), server, "{what}");
    };
    fs::set_permissions(&program, fs::Permissions::from_mode(0o777)).expect("the mode can be set");
    check("one that others may write", "can be written by others");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    fs::set_permissions(home.sandbox.home(), fs::Permissions::from_mode(0o777)).expect("the mode can be set");
    check("one that others may replace", "folder");
    fs::set_permissions(home.sandbox.home(), fs::Permissions::from_mode(0o700)).expect("the mode can be set");
    replace(&program, "#!/bin/sh\nexit 7\n");
    check("one that fails its self-check", "self-check");
    replace(&program, "#!/bin/sh\necho '{\"version\":\"0.0.1\",\"states\":[1,1]}'\n");
    check("an older one", "older");
    fs::remove_file(&program).expect("it can be removed");
    check("one that is gone", "manifold");
}

// A10
#[test]
fn a_program_that_ends_as_it_takes_over_is_like_a_crash() {
    let home = home();
    let (program, mut window) = from_a_copy(&home);
    let (server, daemon) = (pid_of(&mut window), home.daemon());
    let real = bin("manifold");
    let real = real.display();
    replace(
        &program,
        &format!("#!/bin/sh\ncase \"$*\" in *--resume*) exit 0 ;; esac\nexec '{real}' \"$@\"\n"),
    );
    let id = window.request("tools/call", json!({"name": "fx__sleep", "arguments": {"ms": 60_000}}));
    assert!(until(SOON, || home.sandbox.received(LOG, "tools/call").len() >= 2));
    home.order(&["upgrade"]);
    let answer = window.wait_for(id, SOON);
    assert_eq!(answer["error"]["data"]["mayHaveRun"], json!(true), "{answer}");
    assert_ne!(pid_of(&mut window), server);
    assert_ne!(home.daemon(), daemon);
}

/// A program may take its time over its self-check; nobody else waits for it.
#[test]
fn windows_are_served_while_a_self_check_hangs() {
    let home = home();
    let (program, mut window) = from_a_copy(&home);
    let daemon = home.daemon();
    replace(&program, "#!/bin/sh\nexec sleep 600\n");
    thread::scope(|scope| {
        let upgrading = scope.spawn(|| home.order(&["upgrade"]));
        let is_checking = || {
            let mut lines = home.sandbox.processes().into_iter().map(command_line);
            lines.any(|line| line.iter().any(|word| word == "600"))
        };
        assert!(until(SOON, is_checking));
        pid_of(&mut home.open());
        assert_eq!(home.daemon(), daemon);
        let output = upgrading.join().expect("it ends");
        assert!(said(&output).contains("in time"), "{}", said(&output));
    });
    pid_of(&mut window);
}

/// The file is looked at every few seconds.
#[test]
fn a_program_that_is_installed_anew_takes_over_by_itself() {
    let home = home();
    let (program, mut window) = from_a_copy(&home);
    let (server, daemon, before) = (pid_of(&mut window), home.daemon(), epoch(&home));
    let new = program.with_extension("new");
    copy_program(&new);
    fs::rename(new, &program).expect("it can be replaced");
    assert!(until(SOON, || ![&before, &Value::Null].contains(&&epoch(&home))), "{}", home.log());
    assert_eq!(home.daemon(), daemon);
    assert_eq!(pid_of(&mut window), server);
}

// A10
#[test]
fn an_installed_program_that_is_not_taken_over_is_told_of_until_it_is_fit() {
    let home = home();
    let (program, mut window) = from_a_copy(&home);
    let (server, before) = (pid_of(&mut window), epoch(&home));
    let new = program.with_extension("new");
    copy_program(&new);
    fs::set_permissions(&new, fs::Permissions::from_mode(0o777)).expect("the mode can be set");
    fs::rename(&new, &program).expect("it can be replaced");
    let told = || home.status().and_then(|status| Some(status["notUpgraded"]["why"].as_str()?.to_owned()));
    assert!(until(SOON, || told().is_some()), "{}", home.log());
    assert!(told().is_some_and(|why| why.contains("can be written by others")));
    assert!(said(&home.order(&["status"])).contains("not upgraded: "));
    let mut doctor = home.sandbox.daemon();
    doctor.args(["doctor", "--json", "--config"]).arg(&home.config);
    let checks: Value =
        serde_json::from_slice(&doctor.output().expect("it runs").stdout).expect("it is JSON");
    let check = checks["checks"].as_array().expect("checks").iter().find(|one| one["id"] == "daemon-upgrade");
    assert_eq!(check.expect("it is there")["status"], json!("warn"));
    assert_eq!(epoch(&home), before);
    // Nobody need install it once more.
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    assert!(until(SOON, || ![&before, &Value::Null].contains(&&epoch(&home))), "{}", home.log());
    assert_eq!(told(), None);
    assert_eq!(pid_of(&mut window), server);
}

#[test]
fn there_must_be_a_daemon_to_be_upgraded() {
    let home = home();
    let output = home.order(&["upgrade"]);
    assert_ne!(output.status.code(), Some(0), "{}", said(&output));
    assert!(home.sandbox.processes().is_empty());
}

#[test]
fn what_is_one_windows_own_stays_its_own() {
    let mut server = fake_with(&["pid"], json!({}));
    server["shared"] = json!(false);
    let home = Home::new(json!({"fx": server}));
    let mut windows = [home.open(), home.open()];
    let before = windows.each_mut().map(pid_of);
    assert_ne!(before[0], before[1]);
    for _ in 0..2 {
        let upgraded = home.order(&["upgrade"]);
        assert!(upgraded.status.success(), "{}", said(&upgraded));
        assert_eq!(windows.each_mut().map(pid_of), before);
    }
}

/// Nothing of a LiteMCP call is kept: it is answered all the same, once.
#[test]
fn a_litemcp_call_over_an_upgrade_is_answered() {
    let home = home();
    let mut command = home.sandbox.daemon();
    command.args(["litemcp", "--config"]).arg(&home.config).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    let data = json!({"version": [1, 0, 0], "tool": "manifold", "arguments": ["fx__sleep", {"ms": 600_000}]});
    let call = json!({"version": [1, 0, 0], "id": 2, "type": "call", "data": data});
    input.write_all(format!("{call}\n\n\n").as_bytes()).expect("it reads");
    assert!(until(SOON, || !home.sandbox.received(LOG, "tools/call").is_empty()));
    let upgraded = home.order(&["upgrade"]);
    assert!(upgraded.status.success(), "{}", said(&upgraded));
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.matches("It may have run").count(), 1, "{said}");
}

/// The window is asked anew, and its answer reaches the server.
#[test]
fn a_question_that_waits_for_its_user_is_asked_again() {
    let mut server = fake_with(&["ask"], json!({}));
    server["shared"] = json!(true);
    let home = Home::new(json!({"fx": server}));
    let mut window = home.window();
    window.initialize(crate::LEGACY, json!({"elicitation": {}}));
    let params = json!({"message": "?", "requestedSchema": {"type": "object"}});
    let arguments = json!({"method": "elicitation/create", "params": params});
    let id = window.request("tools/call", json!({"name": "fx__ask", "arguments": arguments}));
    let asked = |window: &mut Client| loop {
        let message = window.recv(SOON);
        if message["method"] == "elicitation/create" {
            break message["id"].clone();
        }
    };
    let first = asked(&mut window);
    let upgraded = home.order(&["upgrade"]);
    assert!(upgraded.status.success(), "{}", said(&upgraded));
    let again = asked(&mut window);
    assert_ne!(first, again);
    let answer =
        |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
    // The late answer to the first finds nobody.
    window.send(answer(&first));
    window.send(answer(&again));
    let answered = window.wait_for(id, SOON);
    assert!(text_of(&answered).contains("accept"), "{answered}");
}

#[test]
fn a_frozen_daemon_is_not_said_to_be_gone() {
    let home = home();
    let window = home.open();
    let daemon = home.daemon();
    signal(daemon, Signal::SIGSTOP);
    let output = home.order(&["upgrade"]);
    signal(daemon, Signal::SIGCONT);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("kill -9 {daemon}")), "{}", said(&output));
    window.leave();
}

/// The answer comes to the second program while the window is away, and the third has to bring it.
#[test]
fn an_answer_that_nobody_has_fetched_yet_outlives_another_upgrade() {
    let home = home();
    let mut windows = [home.open(), home.open()];
    pid_of(&mut windows[0]);
    let arguments = json!({"ms": 2000, "n": 1});
    let id = windows[0].request("tools/call", json!({"name": "fx__sleep", "arguments": arguments}));
    assert!(until(SOON, || home.sandbox.received(LOG, "tools/call").len() >= 2));
    signal(windows[0].pid(), Signal::SIGSTOP);
    let upgrade = || {
        let upgraded = home.order(&["upgrade"]);
        assert!(upgraded.status.success(), "{}", said(&upgraded));
    };
    upgrade();
    // Its server is done by then, and if it is not, it will be with the third.
    thread::sleep(Duration::from_millis(2500));
    upgrade();
    signal(windows[0].pid(), Signal::SIGCONT);
    assert_eq!(text_of(&windows[0].wait_for(id, SOON)), "slept");
    assert_eq!(home.sandbox.received(LOG, "tools/call").len(), 2);
    windows.into_iter().for_each(Client::leave);
}
