//! F16, F17, F25 to F28, S1-63: gateways that start and end in every way, and nothing that stays behind.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use manifold_engine::Lock as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use manifold_testkit::{Client, Sandbox, alive, figures, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::studio::fake_with;

const AT_ONCE: usize = 8;
const SOON: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
enum End {
    OfInput,
    Exit,
    Terminate,
    Interrupt,
    Kill,
}

const ENDS: [End; 5] = [End::OfInput, End::Exit, End::Terminate, End::Interrupt, End::Kill];

/// Servers whose descendants try to get away, and one that hears nothing.
fn escapists(sandbox: &Sandbox) -> Value {
    let server = |mut knobs: Value| {
        knobs["pid"] = json!(sandbox.path("servers"));
        knobs["pidFile"] = json!(sandbox.path("grandchildren"));
        fake_with(&["echo"], knobs)
    };
    json!({"mcpServers": {
        "daemon": server(json!({"grandchildren": "doublefork", "holdStdout": true})),
        "session": server(json!({"grandchildren": "setsid"})),
        "deaf": server(json!({"grandchildren": "setsid", "ignoreEof": true, "ignoreTerm": true})),
    }})
}

fn pids(sandbox: &Sandbox, file: &str) -> Vec<u32> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn end(client: &mut Client, how: End) {
    let signal = |signal| {
        let pid = Pid::from_raw(client.pid().cast_signed());
        assert_eq!(kill(pid, signal), Ok(()));
    };
    match how {
        End::OfInput => client.close_stdin(),
        End::Exit => client.notify("notifications/exit", json!({})),
        End::Terminate => signal(Signal::SIGTERM),
        End::Interrupt => signal(Signal::SIGINT),
        End::Kill => signal(Signal::SIGKILL),
    }
}

/// Starts a gateway with all its servers, ends it, and returns what stays alive.
fn round(number: usize) -> Vec<String> {
    let sandbox = Sandbox::new();
    let how = ENDS[number % ENDS.len()];
    // Every third cycle ends in the middle of the start.
    let early = number / ENDS.len() % 3 == 2;
    let mut client = sandbox.serve(&escapists(&sandbox), &["--profile", "mcp-studio"]);
    client.initialize("2025-06-18", json!({}));
    let list = client.request("tools/list", json!({}));
    let mut known = Vec::new();
    if early {
        until(SOON, || !pids(&sandbox, "servers").is_empty());
    } else {
        client.wait_for(list, SOON);
        // What is looked for afterwards can be seen now: gateway, guard, keepers, servers, grandchildren. A process
        // that is just becoming another is seen at the next look.
        let seen = until(SOON, || {
            known = sandbox.processes();
            let names: Vec<String> = known.iter().map(|pid| name_of(*pid)).collect();
            let count = |name: &str| names.iter().filter(|one| *one == name).count();
            ["mcp-guard", "mcp-keeper", "fake-server", "sleep"].map(count) == [1, 3, 3, 3]
        });
        assert!(seen, "{:?}", known.iter().map(|pid| name_of(*pid)).collect::<Vec<_>>());
    }
    end(&mut client, how);
    let status = client.wait_exit(SOON);
    assert_eq!(status.success(), !matches!(how, End::Kill), "round {number}: {how:?} gave {status}");
    let ended = Instant::now();
    until(SOON, || {
        known.extend(pids(&sandbox, "servers"));
        known.extend(pids(&sandbox, "grandchildren"));
        known.retain(|pid| alive(*pid));
        known.is_empty()
    });
    until(SOON, || sandbox.processes().is_empty());
    figures::took("F28: all gone after the gateway", ended.elapsed(), Duration::from_secs(1));
    known.extend(sandbox.processes());
    known.retain(|pid| alive(*pid));
    known.sort_unstable();
    known.dedup();
    known.into_iter().map(|pid| format!("round {number}, {how:?}: {pid} {}", name_of(pid))).collect()
}

#[test]
fn nothing_outlives_its_gateway() {
    let rounds = if env::var_os("MANIFOLD_LONG").is_some() { 1000 } else { 100 };
    let next = AtomicUsize::new(0);
    let survivors = Mutex::new(Vec::new());
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= rounds {
                        break;
                    }
                    let left = round(number);
                    survivors.locked().extend(left);
                }
            });
        }
    });
    let survivors = survivors.into_inner().unwrap_or_else(PoisonError::into_inner);
    eprintln!("F17, F28: {rounds} rounds, {} survivors, {:?}", survivors.len(), began.elapsed());
    assert!(survivors.is_empty(), "{survivors:#?}");
}

/// Leaves a sleeper that neither environment nor session tells of, and kills keeper and guard.
const TRAITOR: &str = r#"
    env -i setsid sh -c '(sleep $0 &)' $0
    guard=$(cut -d' ' -f4 /proc/$PPID/stat)
    kill -STOP $PPID; kill -KILL $guard; kill -KILL $PPID; sleep 60
"#;

// L15: what guard and keeper can no longer end falls to the gateway; also when it happens as the gateway leaves
#[test]
fn nothing_outlives_a_server_that_kills_its_keepers() {
    for at_the_end in [false, true] {
        let sandbox = Sandbox::new();
        let time = format!("100000.{}{}", std::process::id(), u8::from(at_the_end));
        // Where it waits for the end of its input, that is the sign.
        let script = if at_the_end { format!("cat >/dev/null; {TRAITOR}") } else { TRAITOR.to_owned() };
        let entry = json!({"command": "/bin/sh", "args": ["-c", script, time]});
        let config = json!({"drainTimeout": 1, "mcpServers": {"traitor": entry}});
        let mut client = sandbox.serve(&config, &["--profile", "mcp-studio"]);
        client.initialize("2025-06-18", json!({}));
        client.request("tools/list", json!({}));
        let sleeping = || manifold_testkit::processes_with_marker(&format!("sleep\0{time}"));
        if at_the_end {
            assert!(until(SOON, || !sandbox.processes().iter().all(|pid| name_of(*pid) != "cat")));
        } else {
            assert!(until(SOON, || client.stderr().contains("the guard died")), "{}", client.stderr());
            assert!(until(SOON, || sleeping().is_empty()), "{:?}", sleeping());
        }
        let gateway = client.pid();
        end(&mut client, End::OfInput);
        assert!(client.wait_exit(SOON).success());
        assert!(sleeping().is_empty(), "{:?}", sleeping());
        assert_eq!(cgroups_of(gateway), [""; 0]);
        assert!(until(SOON, || sandbox.processes().is_empty()));
    }
}

/// Returns the folders of a gateway's cgroups, wherever they are mounted.
fn cgroups_of(gateway: u32) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let points =
        mounts.lines().filter(|line| line.contains(" - cgroup2 ")).filter_map(|line| line.split(' ').nth(4));
    let entries = points.filter_map(|point| fs::read_dir(format!("{point}/{own}")).ok()).flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("manifold-{gateway}-"))).collect()
}

// F28: the guard itself may be killed, with or without the gateway
#[test]
fn nothing_outlives_a_killed_guard() {
    for with_gateway in [false, true] {
        let sandbox = Sandbox::new();
        let mut client = sandbox.serve(&escapists(&sandbox), &["--profile", "mcp-studio"]);
        client.initialize("2025-06-18", json!({}));
        client.tool_names();
        let all = sandbox.processes();
        let guard = all.iter().copied().find(|pid| name_of(*pid) == "mcp-guard").expect("a guard");
        let servers = [pids(&sandbox, "servers"), pids(&sandbox, "grandchildren")].concat();
        assert_eq!(kill(Pid::from_raw(guard.cast_signed()), Signal::SIGKILL), Ok(()));
        if with_gateway {
            end(&mut client, End::Kill);
            client.wait_exit(SOON);
        }
        let gone = until(SOON, || servers.iter().all(|pid| !alive(*pid)));
        assert!(gone, "servers outlived their guard, gateway killed: {with_gateway}");
        if with_gateway {
            assert!(until(SOON, || sandbox.processes().is_empty()));
        } else {
            // The gateway goes on with a new guard.
            let works = || client.call("session.echo", json!({"text": "x"}))["error"].is_null();
            assert!(until(SOON, works), "{}", client.stderr());
            client.close_stdin();
            assert!(client.wait_exit(SOON).success());
            assert!(until(SOON, || sandbox.processes().is_empty()));
        }
    }
}
