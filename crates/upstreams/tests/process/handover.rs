//! Servers that outlive the gateway's program: left by one, taken up by the next, in one process here. What is
//! suspended does nothing any more, so that both can be told apart by what they answer.

use std::fs;
use std::sync::Arc;

use manifold_engine::{Connector, Phase, Upstream};
use manifold_upstreams::Upstreams;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::eventually;
use super::handover_askers::{Askers, Surroundings, fake, resume, server, upstreams};
use super::proc_files::children;

/// Calls in flight when the program is replaced.
const CALLS: u64 = 20;

pub(crate) async fn ready(upstream: &dyn Upstream) -> u32 {
    upstream.discover().await;
    let status = upstream.status();
    assert_eq!(status.phase, Phase::Ready);
    status.pid.unwrap()
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

/// Leaves the servers to another program. Returns the state, and what must not be dropped before the test is over.
pub(crate) async fn suspend(first: &Upstreams) -> String {
    let handover = first.suspend().await.unwrap();
    assert!(!handover.descriptors().is_empty());
    handover.into_json().unwrap()
}

pub(crate) fn connect(upstreams: &Upstreams, server: &Arc<manifold_config::Server>) -> Arc<dyn Upstream> {
    upstreams.connect(server, Arc::new(Surroundings))
}

fn runs(path: &std::path::Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

pub(crate) async fn servers_of_every_dialect_outlive_the_program() {
    for era in ["legacy", "modern", "dual"] {
        let folder = tempfile::tempdir().unwrap();
        let (log, pids) = (folder.path().join("runs"), folder.path().join("pids"));
        let definition = fake(json!({"era": era, "runs": log, "pid": pids}), &json!({}));
        let (first, askers) = (upstreams(), Arc::<Askers>::default());
        let upstream = connect(&first, &definition);
        let pid = ready(&*upstream).await;
        let guards = children();
        assert_eq!(guards.len(), 1, "the guard is the only child");
        let starts = fs::read_to_string(&pids).unwrap();
        for id in 0..CALLS {
            askers.call(&*upstream, id, "sleep", &json!({"ms": 20}));
        }
        eventually("all are being worked on", || runs(&log) as u64 == CALLS).await;
        // Some may be answered by now; none goes on being worked on.
        signal(pid, Signal::SIGSTOP);
        let state = suspend(&first).await;
        let before = askers.answered();
        signal(pid, Signal::SIGCONT);

        let second = resume(&state, &askers);
        let upstream = connect(&second, &definition);
        assert!(upstream.listing().is_some(), "{era}: its lists came with it");
        eventually("all are answered", || askers.answered() as u64 == CALLS).await;
        for id in 0..CALLS {
            assert_eq!(askers.answers(id), ["slept"], "{era}");
        }
        assert_eq!(upstream.status().pid, Some(pid), "{era}: it is the same process");
        println!("{era}: {before} of {CALLS} were answered by the first program");

        askers.call(&*upstream, CALLS, "echo", &json!({"text": "new"}));
        eventually("a new call is answered", || askers.answered() as u64 > CALLS).await;
        assert_eq!(askers.answers(CALLS), ["new"]);
        assert_eq!(runs(&log) as u64, CALLS + 1, "{era}: none ran twice");
        assert_eq!(fs::read_to_string(&pids).unwrap(), starts, "{era}: nothing was started");

        // Others are started under the same guard.
        let other = fake(json!({"era": era, "name": "other"}), &json!({"args": []}));
        let mut other = (*other).clone();
        other.key.id = "other".to_owned();
        let other = connect(&second, &Arc::new(other));
        let other_pid = ready(&*other).await;
        assert_ne!(other_pid, pid);
        assert_eq!(children(), guards, "{era}: the guard is still the only child");

        second.processes().finish().await;
        eventually("all is gone", || children().is_empty() && !alive(pid) && !alive(other_pid)).await;
    }
}

pub(crate) fn alive(pid: u32) -> bool {
    // A zombie is none of ours: its keeper reaps it.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) async fn a_litemcp_server_outlives_the_program() {
    let script =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/litemcp/calculator.py");
    let definition = server(&json!({"type": "litemcp", "command": "python3", "args": ["-B", script],
        "env": {"PATH": std::env::var("PATH").unwrap()}}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    let listing = upstream.listing().unwrap();
    let arguments: Value = arguments_of(&listing.tools[0].raw);
    let tool = listing.tools[0].label.clone();
    signal(pid, Signal::SIGSTOP);
    for id in 0..3 {
        askers.call(&*upstream, id, &tool, &arguments);
    }
    let state = suspend(&first).await;
    assert_eq!(askers.answered(), 0);

    let second = resume(&state, &askers);
    let upstream = connect(&second, &definition);
    askers.call(&*upstream, 3, &tool, &arguments);
    signal(pid, Signal::SIGCONT);
    eventually("all are answered", || askers.answered() == 4).await;
    let answers: Vec<Vec<String>> = (0..4).map(|id| askers.answers(id)).collect();
    assert!(answers.iter().all(|one| *one == answers[0] && one.len() == 1), "{answers:?}");
    assert!(!answers[0][0].starts_with('-'), "{answers:?}");
    assert_eq!(upstream.status().pid, Some(pid));
    second.processes().finish().await;
}

fn arguments_of(tool: &manifold_protocol::Raw) -> Value {
    let tool: Value = serde_json::from_str(tool.as_str()).unwrap();
    let names = tool["inputSchema"]["properties"].as_object().unwrap().keys();
    names.map(|name| (name.clone(), if name == "operator" { json!("+") } else { json!("2") })).collect()
}
