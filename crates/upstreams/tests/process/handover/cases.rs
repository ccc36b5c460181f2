//! What may happen to a server, or to a call, while one program takes another's place.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Order, Phase};
use manifold_protocol::Raw;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::eventually;
use super::handover::{alive, connect, ready, signal, suspend};
use super::handover_askers::{Askers, fake, resume, server, upstreams};
use super::{cycles, kill_hard, proc_files};

const SLEPT: &str = "slept";

fn half(file: &Path) -> Arc<manifold_config::Server> {
    server(&json!({"command": std::env::current_exe().unwrap(), "args": ["half", file], "era": "legacy"}))
}

/// A long message is half written and an answer half read when the program is replaced.
pub(crate) async fn halves_of_messages_are_completed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("go");
    let definition = half(&file);
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    askers.call(&*upstream, 1, "echo", &json!({"text": "x"}));
    eventually("half an answer is there", || folder.path().join("go.half").exists()).await;
    // Longer than the pipe, whose reader waits for the file.
    let long = "y".repeat(3 << 20);
    askers.call(&*upstream, 2, "echo", &json!({"text": long}));
    askers.call(&*upstream, 3, "echo", &json!({"text": "zz"}));
    eventually("the pipe is full", || askers.dispatched() == [1, 2, 3]).await;
    let state = suspend(&first).await;
    assert!(state.len() > 2 << 20, "most of it is still to be written");
    let saved: Value = serde_json::from_str(&state).unwrap();
    println!("unread: {}", saved["servers"][0]["process"]["unread"]);

    let second = resume(&state, &askers);
    let upstream = connect(&second, &definition);
    fs::write(&file, "").unwrap();
    eventually("all are answered", || askers.answered() == 3).await;
    assert_eq!([1, 2, 3].map(|id| askers.answers(id)), [["1"], ["3145728"], ["2"]]);
    assert_eq!(upstream.status().pid, Some(pid));
    second.processes().finish().await;
}

pub(crate) async fn a_server_that_ends_in_between_is_dead_for_its_calls() {
    let definition = fake(json!({}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    signal(pid, Signal::SIGSTOP);
    askers.call(&*upstream, 1, "echo", &json!({}));
    let state = suspend(&first).await;
    kill_hard(pid);
    eventually("it is gone", || !alive(pid)).await;
    assert_eq!(askers.answered(), 0);

    let second = resume(&state, &askers);
    let upstream = connect(&second, &definition);
    eventually("its call fails", || askers.answered() == 1).await;
    let [answer] = &askers.answers(1)[..] else { panic!("one answer") };
    assert!(answer.contains("'s'") && answer.contains("signal 9"), "{answer}");
    askers.call(&*upstream, 2, "echo", &json!({"text": "again"}));
    eventually("it is there again", || askers.answered() == 2).await;
    assert_eq!(askers.answers(2), ["again"]);
    second.processes().finish().await;
}

pub(crate) async fn a_changed_definition_ends_the_server_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let definition = fake(json!({"log": log}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    askers.call(&*upstream, 1, "sleep", &json!({"ms": 600_000}));
    let state = suspend(&first).await;

    let second = resume(&state, &askers);
    let changed = fake(json!({"log": log, "name": "changed"}), &json!({}));
    let upstream = connect(&second, &changed);
    eventually("the old one is gone", || !alive(pid)).await;
    let [answer] = &askers.answers(1)[..] else { panic!("one answer") };
    assert!(answer.contains("definition changed"), "{answer}");
    eventually("its input had ended", || fs::read_to_string(&log).unwrap().contains(r#""dir":"eof""#)).await;
    let next = ready(&*upstream).await;
    assert_ne!(next, pid);
    second.processes().finish().await;
}

pub(crate) async fn what_nobody_takes_up_is_ended() {
    let definition = fake(json!({}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    askers.call(&*upstream, 1, "sleep", &json!({"ms": 600_000}));
    let state = suspend(&first).await;
    let second = resume(&state, &askers);
    assert!(alive(pid));
    second.stop_unclaimed();
    eventually("it is gone", || !alive(pid)).await;
    assert_eq!(askers.answers(1).len(), 1);
    second.processes().finish().await;
}

/// A question that is open at the client is asked again by the next program, and its answer reaches the server.
pub(crate) async fn a_question_is_asked_again() {
    for era in ["legacy", "modern"] {
        let definition = fake(json!({"era": era}), &json!({}));
        let (first, askers) = (upstreams(), Arc::<Askers>::default());
        let upstream = connect(&first, &definition);
        ready(&*upstream).await;
        let asked = json!({"method": "elicitation/create", "params": {"message": "name?"}});
        askers.call(&*upstream, 1, "ask", &asked);
        let open = askers.question().await;
        let state = suspend(&first).await;
        let second = resume(&state, &askers);
        let _upstream = connect(&second, &definition);
        let again = askers.question().await;
        // An answer to the first program finds nobody.
        let answer =
            |text: &str| Raw::parse(format!(r#"{{"action":"accept","content":{{"name":"{text}"}}}}"#));
        open.finish(Ok(answer("late").unwrap()));
        again.finish(Ok(answer("ada").unwrap()));
        eventually("the call is answered", || askers.answered() == 1).await;
        let [said] = &askers.answers(1)[..] else { panic!("one answer") };
        assert!(said.contains("ada") && !said.contains("late"), "{era}: {said}");
        second.processes().finish().await;
    }
}

pub(crate) async fn a_call_can_be_taken_back_after_the_handover() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let definition = fake(json!({"log": log}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    ready(&*upstream).await;
    askers.call(&*upstream, 1, "sleep", &json!({"ms": 600_000}));
    let state = suspend(&first).await;
    let second = resume(&state, &askers);
    let _upstream = connect(&second, &definition);
    askers.cancel(1);
    eventually("the server hears of it", || {
        fs::read_to_string(&log).unwrap().contains("notifications/cancelled")
    })
    .await;
    assert_eq!(askers.answered(), 0);
    second.processes().finish().await;
}

/// What was not handed to the server is asked again by whoever took it: nobody answers it here.
pub(crate) async fn calls_that_wait_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("runs");
    let definition = fake(json!({"runs": log}), &json!({"maxConcurrency": 1}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    signal(pid, Signal::SIGSTOP);
    askers.call(&*upstream, 1, "sleep", &json!({"ms": 1}));
    askers.call(&*upstream, 2, "echo", &json!({"text": "waits"}));
    let handover = first.suspend().await.unwrap();
    assert_eq!(askers.dispatched(), [1]);
    assert_eq!(handover.addresses().len(), 1);
    // And so is what comes after.
    askers.call(&*upstream, 3, "echo", &json!({"text": "late"}));
    signal(pid, Signal::SIGCONT);

    let second = resume(&handover.into_json().unwrap(), &askers);
    let upstream = connect(&second, &definition);
    eventually("the first is answered", || askers.answered() == 1).await;
    assert_eq!(askers.answers(1), [SLEPT]);
    askers.call(&*upstream, 2, "echo", &json!({"text": "asked again"}));
    eventually("the second is answered", || askers.answered() == 2).await;
    assert_eq!(askers.answers(2), ["asked again"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "sleep run\necho run\n");
    second.processes().finish().await;
}

pub(crate) async fn a_stopped_server_stays_stopped() {
    let definition = fake(json!({}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    ready(&*upstream).await;
    upstream.order(Order::Stop).await.unwrap();
    let second = resume(&suspend(&first).await, &askers);
    let upstream = connect(&second, &definition);
    eventually("it is stopped", || upstream.status().phase == Phase::Stopped).await;
    assert_eq!(upstream.reports()[0].history.lives, Some(1));
    second.processes().finish().await;
}

/// Another release writes members that this one does not know, and leaves out some that it does.
pub(crate) async fn a_state_of_another_release_is_read() {
    let definition = fake(json!({"era": "modern"}), &json!({}));
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &definition);
    let pid = ready(&*upstream).await;
    signal(pid, Signal::SIGSTOP);
    askers.call(&*upstream, 1, "sleep", &json!({"ms": 1}));
    let mut state: Value = serde_json::from_str(&suspend(&first).await).unwrap();
    add_unknown(&mut state);
    let process = &mut state["servers"][0]["process"];
    for optional in ["listing", "freshness", "log", "runningMs", "unread", "unreadLog"] {
        assert!(process.as_object_mut().unwrap().remove(optional).is_some(), "{optional}");
    }
    for optional in ["questions", "listening", "areListsStale", "hasAnswered", "abandoned", "isShared"] {
        assert!(process["connection"].as_object_mut().unwrap().remove(optional).is_some(), "{optional}");
    }
    let steps = json!([{"do": "something new"}]);
    let mut strange = process["connection"]["calls"][0].clone();
    strange["id"] = json!((1_u64 << 40) | 7);
    strange["address"]["steps"] = steps;
    process["connection"]["calls"].as_array_mut().unwrap().push(strange);
    state["version"] = json!(2);

    let mut unreadable = state.clone();
    unreadable["readableSince"] = json!(2);
    let refused = manifold_upstreams::Handover::from_json(&unreadable.to_string()).unwrap_err();
    assert_eq!(refused.to_string(), "the state is of version 2, which this program cannot read");

    let second = resume(&state.to_string(), &askers);
    let upstream = connect(&second, &definition);
    signal(pid, Signal::SIGCONT);
    eventually("it is answered", || askers.answered() == 1).await;
    assert_eq!(askers.answers(1), [SLEPT]);
    assert_eq!(ready(&*upstream).await, pid);
    second.processes().finish().await;
}

/// Adds members nobody knows wherever there are members.
fn add_unknown(state: &mut Value) {
    match state {
        Value::Object(members) => {
            members.values_mut().for_each(add_unknown);
            members.insert("ofALaterRelease".to_owned(), json!({"a": [1]}));
        }
        Value::Array(elements) => elements.iter_mut().for_each(add_unknown),
        _ => {}
    }
}

/// The real thing: a program replaces itself with another, by its number the same process.
pub(crate) async fn servers_outlive_an_exec() {
    let folder = tempfile::tempdir().unwrap();
    let run = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["first", folder.path().to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(said.lines().last(), Some("taken over"), "{said}");
    let runs = fs::read_to_string(folder.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 11, "{runs}");
}

fn in_folder(folder: &str) -> Arc<manifold_config::Server> {
    fake(json!({"runs": Path::new(folder).join("runs")}), &json!({}))
}

/// Starts a server, gives it calls, and replaces itself.
pub(crate) async fn first_program(folder: &str) {
    // Whoever started us may have left us more than the three streams.
    let mut kept = kept_across_exec();
    let (first, askers) = (upstreams(), Arc::<Askers>::default());
    let upstream = connect(&first, &in_folder(folder));
    let pid = ready(&*upstream).await;
    signal(pid, Signal::SIGSTOP);
    for id in 0..10 {
        askers.call(&*upstream, id, "sleep", &json!({"ms": 1}));
    }
    let handover = first.suspend().await.unwrap();
    handover.keep_across_exec().unwrap();
    kept.extend(handover.descriptors());
    kept.sort_unstable();
    assert_eq!(kept_across_exec(), kept, "these and no others");
    let state = json!({"pid": pid, "us": std::process::id(), "handover": handover.to_json().unwrap()});
    let file = Path::new(folder).join("state");
    fs::write(&file, state.to_string()).unwrap();
    let program = CString::new(std::env::current_exe().unwrap().as_os_str().as_bytes()).unwrap();
    let args = [program.clone(), c"second".to_owned(), CString::new(folder).unwrap()];
    nix::unistd::execv(&program, &args).unwrap();
}

fn kept_across_exec() -> Vec<i32> {
    let mut numbers = proc_files::open_descriptors();
    numbers.retain(|number| !proc_files::closes_on_exec(*number));
    numbers.sort_unstable();
    numbers
}

/// Takes up what the first program left.
pub(crate) async fn second_program(folder: &str) {
    let state = fs::read(Path::new(folder).join("state")).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    assert_eq!(state["us"], json!(std::process::id()), "it is the same process");
    let pid = u32::try_from(state["pid"].as_u64().unwrap()).unwrap();
    let askers = Arc::<Askers>::default();
    let second = resume(state["handover"].as_str().unwrap(), &askers);
    let upstream = connect(&second, &in_folder(folder));
    signal(pid, Signal::SIGCONT);
    eventually("all are answered", || askers.answered() == 10).await;
    assert!((0..10).all(|id| askers.answers(id) == [SLEPT]));
    askers.call(&*upstream, 10, "echo", &json!({}));
    eventually("a new call is answered", || askers.answered() == 11).await;
    assert_eq!(upstream.status().pid, Some(pid));
    assert_eq!(proc_files::children().len(), 1, "the guard is the only child");
    second.processes().finish().await;
    eventually("all is gone", || proc_files::children().is_empty() && !alive(pid)).await;
    println!("taken over");
}

/// Programs take each other's place while calls come in all the time. Whoever took a call asks again where it was not
/// handed to the server, and never where it was.
pub(crate) async fn no_call_is_lost_or_doubled_under_load() {
    const EACH: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("runs");
    let definition = fake(json!({"runs": log}), &json!({"maxConcurrency": 8}));
    let askers = Arc::<Askers>::default();
    let mut present = upstreams();
    let mut upstream = connect(&present, &definition);
    let pid = ready(&*upstream).await;
    let (mut carried, mut again) = (0, 0);
    let rounds = u64::from(cycles(20));
    for round in 0..rounds {
        let ids = round * EACH..(round + 1) * EACH;
        ids.clone().for_each(|id| askers.call(&*upstream, id, "echo", &json!({"text": id.to_string()})));
        // Each round stops at another moment of the work.
        let enough = round * EACH + round * EACH / rounds;
        let working = async {
            while askers.answered() as u64 <= enough {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), working).await.unwrap();
        let handover = present.suspend().await.unwrap();
        let in_flight: Vec<u64> =
            handover.addresses().iter().map(|address| address.id.u64().unwrap()).collect();
        let dispatched = askers.dispatched();
        present = resume(&handover.into_json().unwrap(), &askers);
        upstream = connect(&present, &definition);
        carried += in_flight.len();
        for id in ids.filter(|id| !dispatched.contains(id)) {
            again += 1;
            askers.call(&*upstream, id, "echo", &json!({"text": id.to_string()}));
        }
        eventually("all are answered", || askers.answered() as u64 == (round + 1) * EACH).await;
    }
    for id in 0..rounds * EACH {
        assert_eq!(askers.answers(id), [id.to_string()]);
    }
    let runs = fs::read_to_string(&log).unwrap().lines().count() as u64;
    assert_eq!((runs, upstream.status().pid), (rounds * EACH, Some(pid)));
    println!("{rounds} rounds: {carried} calls were carried over, {again} asked again");
    present.processes().finish().await;
}
