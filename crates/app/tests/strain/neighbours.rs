//! What a bad server costs the calls of others (F4, F8, F15), and a log that nobody reads everybody's (F39).
//!
//! Two gateways run side by side and only one of them meets the fault. Calls go to both in turns, so that whatever else
//! the machine does strikes both alike: what differs is the fault's doing.
#![allow(clippy::unwrap_used, reason = "this is a test")]
#![expect(clippy::disallowed_types, reason = "how long calls take is measured in real time")]

use std::fs::{self, OpenOptions};
use std::time::{Duration, Instant};

use manifold_testkit::{Client, Sandbox, Usage, fake, figures, until};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::{Value, json};

use crate::{alone, figure};

const SOON: Duration = Duration::from_secs(60);
const CALLS_A_ROUND: usize = 100;

fn echo(client: &mut Client, tool: &str) -> Duration {
    let asked = Instant::now();
    let answer = client.call(tool, json!({"text": "x"}));
    let took = asked.elapsed();
    assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
    took
}

fn middle<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

/// How calls of two gateways compare.
struct Compared {
    calm: Duration,
    beside: Duration,
    /// How much longer a call takes beside the fault, by the middle round; 0.01 is one in a hundred.
    longer: f64,
    /// The same of the time that 99 in 100 stay within.
    longer_p99: f64,
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { calm, beside, longer, longer_p99 } = self;
        write!(
            f,
            "a call takes {beside:?} instead of {calm:?}: {:+.1} %, p99 {:+.1} %",
            longer * 100.0,
            longer_p99 * 100.0
        )
    }
}

/// Calls a tool beside the fault: each call is answered. How much longer it takes is a figure, for those who want it.
#[expect(clippy::print_stdout, reason = "tests print their figures")]
fn call_beside(fault: &str, wanted: f64, calm: &mut Client, beside: &mut Client, tool: &str) {
    if figures::are_wanted() {
        let compared = compare(calm, beside, tool);
        println!("{fault}: {compared}");
        figures::ratio(&format!("{fault}: how much longer a call of {tool} takes"), compared.longer, wanted);
    } else {
        (0..CALLS_A_ROUND).for_each(|_| {
            echo(beside, tool);
        });
    }
}

/// Calls a tool of two gateways in turns.
fn compare(calm: &mut Client, beside: &mut Client, tool: &str) -> Compared {
    let (mut medians, mut tails) = (Vec::new(), Vec::new());
    let (mut all_calm, mut all_beside) = (Vec::new(), Vec::new());
    for round in 0..figure(40, 200) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for n in 0..CALLS_A_ROUND {
            // Whoever goes second finds the machine warm: they take turns at that, too.
            if (n + round) % 2 == 0 {
                first.push(echo(calm, tool));
                second.push(echo(beside, tool));
            } else {
                second.push(echo(beside, tool));
                first.push(echo(calm, tool));
            }
        }
        first.sort();
        second.sort();
        let longer = |at: usize| second[at].as_secs_f64() / first[at].as_secs_f64() - 1.0;
        medians.push(longer(CALLS_A_ROUND / 2));
        tails.push(longer(CALLS_A_ROUND * 99 / 100 - 1));
        all_calm.push(first[CALLS_A_ROUND / 2]);
        all_beside.push(second[CALLS_A_ROUND / 2]);
    }
    Compared {
        calm: middle(all_calm),
        beside: middle(all_beside),
        longer: middle(medians),
        longer_p99: middle(tails),
    }
}

/// Starts a gateway and has it meet its servers.
fn serve(sandbox: &Sandbox, config: &Value) -> Client {
    let mut client = sandbox.serve(config, &[]);
    client.initialize("2025-11-25", json!({}));
    for server in config["mcpServers"].as_object().unwrap().keys() {
        let known = until(SOON, || client.tool_names().iter().any(|tool| tool.starts_with(server.as_str())));
        assert!(known, "{server}");
    }
    client
}

// F4
#[test]
fn a_server_that_never_reads_costs_its_own_callers_alone() {
    const STUCK: usize = 300;
    const BYTES: usize = 200_000;
    let _alone = alone();
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let mut stuck = fake(json!({"stopReadingOn": "tools/call"}));
    stuck["timeout"] = json!(SOON.as_millis() as u64 / 2);
    let config = json!({"mcpServers": {"stuck": stuck, "good": fake(json!({}))}, "managerTools": false});
    let (mut calm, mut beside) = (serve(&here, &config), serve(&there, &config));
    echo(&mut beside, "good__echo");
    let usage = Usage::watch(beside.pid());
    let big = "x".repeat(BYTES);
    let ids: Vec<u64> = (0..STUCK)
        .map(|_| beside.request("tools/call", json!({"name": "stuck__echo", "arguments": {"text": big}})))
        .collect();
    // Those beyond what the server may be owed are refused at once; put aside, they would slow our own client down.
    let mut answers = Vec::new();
    while let Some(answer) = beside.try_recv(Duration::from_secs(1)) {
        answers.push(answer);
    }
    let refused = answers.len();
    call_beside("F4", 0.05, &mut calm, &mut beside, "good__echo");
    let grown = usage.most();
    answers.extend((refused..STUCK).map(|_| beside.recv(SOON)));
    let failed = |id: &u64| answers.iter().any(|answer| answer["id"] == *id && answer["error"].is_object());
    let answered = ids.iter().filter(|id| failed(id)).count();
    println!(
        "F4: {STUCK} calls of {BYTES} bytes to a server that never reads: {refused} refused at once, {answered} answered in all, {grown} KiB more at \
         the most"
    );
    assert_eq!(answered, STUCK);
    assert!(grown <= 16 << 10, "{grown} KiB");
}

// F8
#[test]
fn a_flood_on_stderr_costs_calls_little_and_the_disk_nothing() {
    const LOG_BYTES: u64 = 1 << 20;
    const LOG_FILES: u64 = 3;
    let _alone = alone();
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let config = |lines: u64| {
        let logging =
            json!({"file": "~/logs/m.log", "level": "debug", "maxSize": LOG_BYTES, "maxFiles": LOG_FILES});
        json!({"mcpServers": {"loud": fake(json!({"stderrFlood": lines})), "good": fake(json!({}))},
            "managerTools": false, "logging": logging})
    };
    let (mut calm, mut beside) = (serve(&here, &config(0)), serve(&there, &config(u64::MAX)));
    call_beside("F8", 0.10, &mut calm, &mut beside, "good__echo");
    call_beside("F8", 0.10, &mut calm, &mut beside, "loud__echo");
    let written: u64 =
        fs::read_dir(there.path("logs")).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    println!("F8: {written} bytes of log beside a flood on stderr");
    assert!(written <= LOG_FILES * (LOG_BYTES + 1000), "{written}");
}

// F15
#[test]
fn a_stopped_server_costs_others_nothing() {
    const STOPPED: usize = 20;
    let _alone = alone();
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let config = |sandbox: &Sandbox| {
        let mut frozen = fake(json!({"pid": sandbox.path("frozen.pid")}));
        frozen["timeout"] = json!(1000);
        json!({"mcpServers": {"frozen": frozen, "good": fake(json!({}))}})
    };
    let (mut calm, mut beside) = (serve(&here, &config(&here)), serve(&there, &config(&there)));
    echo(&mut beside, "frozen__echo");
    let pids = || fs::read_to_string(there.path("frozen.pid")).unwrap();
    let pid = Pid::from_raw(pids().trim().parse().unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    let ids: Vec<u64> = (0..STOPPED)
        .map(|n| beside.request("tools/call", json!({"name": "frozen__echo", "arguments": {"text": n}})))
        .collect();
    call_beside("F15", 0.05, &mut calm, &mut beside, "good__echo");
    let timed_out = ids.iter().filter(|id| beside.wait_for(**id, SOON)["error"].is_object()).count();
    let marked = until(SOON, || {
        let table = beside.call("manifold__servers_list", json!({}));
        table["result"]["content"][0]["text"].as_str().unwrap().contains(r#""state":"unresponsive""#)
    });
    kill(pid, Signal::SIGCONT).unwrap();
    let healing = Instant::now();
    echo(&mut beside, "frozen__echo");
    let (healed, starts) = (healing.elapsed(), pids().lines().count());
    println!(
        "F15: {timed_out} of {STOPPED} calls to a stopped server timed out, it was marked, and served {healed:?} after \
         it went on; {starts} start in all"
    );
    assert!(marked);
    assert_eq!((timed_out, starts), (STOPPED, 1));
}

// F39
#[test]
fn a_log_that_nobody_reads_slows_no_call() {
    let _alone = alone();
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let config = json!({"mcpServers": {"good": fake(json!({}))}, "managerTools": false, "logging": {"level": "debug"}});
    let mut calm = serve(&here, &config);
    let pipe = there.path("stderr");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    // Open at both ends, so that nobody waits for a reader, and never read.
    let _unread = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let path = there.write_config(&config);
    let mut command = there.command("sh");
    let redirect = format!("exec \"$@\" 2>{}", pipe.display());
    command.args(["-c", &redirect, "sh"]).arg(manifold_testkit::bin("manifold"));
    command.args(["serve", "--stdio", "--config"]).arg(path);
    let mut beside = Client::spawn(command);
    beside.initialize("2025-11-25", json!({}));
    // More than pipe and queue can hold: from here on every line is lost.
    for client in [&mut calm, &mut beside] {
        for _ in 0..20_000 {
            client.send_raw(b"this is no message\n");
            client.recv(SOON);
        }
    }
    call_beside("F39", 0.01, &mut calm, &mut beside, "good__echo");
}
