//! What passes through the daemon, kept in files, and what is done with them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use manifold_testkit::processes::alive;
use manifold_testkit::{Client, HttpFake, Sandbox, Style, until};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::home::{Home, kill_hard, opened};
use crate::operator::Desk;
use crate::{SOON, figure, planted, text_of};

const SECRET: &str = "hunter2-planted-0815";

fn servers(more: &Value) -> Value {
    let read_only = json!({"readOnlyHint": true});
    let mut knobs = json!({"tools": [
        {"name": "echo", "annotations": read_only},
        {"name": "env", "annotations": read_only},
        {"name": "pid"},
        {"name": "sleep", "annotations": read_only},
    ]});
    for (name, value) in more.as_object().into_iter().flatten() {
        knobs[name] = value.clone();
    }
    let mut server = manifold_testkit::fake(knobs);
    server["env"] = json!({"FX_TOKEN": SECRET});
    json!({ "fx": server })
}

fn home() -> Home {
    Home::with(json!({"mcpServers": servers(&json!({})), "daemon": {"linger": 1000}}))
}

fn verb(home: &Home, words: &[&str]) -> Command {
    let mut command = home.sandbox.daemon();
    command.args(words).arg("--config").arg(&home.config);
    command
}

fn ran(home: &Home, words: &[&str]) -> Output {
    verb(home, words).output().expect("the command runs")
}

/// Runs a command that must succeed, and returns what it wrote.
fn done(home: &Home, words: &[&str]) -> String {
    let output = ran(home, words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).expect("it is text")
}

fn file(home: &Home, name: &str) -> PathBuf {
    let found: Value = serde_json::from_str(&done(home, &["record", "list", "--json"])).expect("it is JSON");
    let found = found.as_array().into_iter().flatten().find(|recording| recording["name"] == name);
    let found = found.unwrap_or_else(|| panic!("there is no recording {name}"));
    PathBuf::from(found["file"].as_str().expect("it has a file"))
}

fn lines(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the file can be read");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Records what a client asks, with a listing.
fn recorded(home: &Home, name: &str) -> (PathBuf, Vec<Value>) {
    let _daemon = home.open();
    done(home, &["record", "start", name]);
    let mut client = home.open();
    client.ask("tools/list", json!({}));
    let answers = ["a", "b", "a"].map(|text| client.call("fx__echo", json!({ "text": text })));
    done(home, &["record", "stop", name]);
    (file(home, name), answers.to_vec())
}

fn replayed(sandbox: &Sandbox, file: &PathBuf, more: &[&str]) -> Client {
    let mut command = sandbox.manifold();
    command.arg("replay").arg(file).arg("--serve").args(more);
    Client::spawn(command)
}

#[test]
fn a_recording_holds_both_hops_of_its_calls_and_is_served_back_in_both_eras() {
    let home = home();
    let (file, answers) = recorded(&home, "one");
    let frames = lines(&file);
    assert_eq!(frames[0]["format"], "manifold-recording");
    assert_eq!(frames.last().expect("a footer")["footer"]["why"], "stopped");
    let calls = frames.iter().filter(|frame| frame["method"] == "tools/call" && frame["kind"] == "request");
    let calls: Vec<(&Value, &Value, &Value)> =
        calls.map(|frame| (&frame["call"], &frame["hop"], &frame["tool"])).collect();
    let of =
        |hop: &str| calls.iter().filter(|(_, on, _)| *on == hop).map(|(call, ..)| *call).collect::<Vec<_>>();
    assert_eq!(of("client").len(), 3, "{calls:?}");
    assert_eq!(of("client"), of("server"), "one number through both");

    let mut legacy = opened(replayed(&home.sandbox, &file, &[]));
    assert!(legacy.tool_names().contains(&"fx__echo".to_owned()));
    for (text, answer) in ["a", "b", "a"].into_iter().zip(&answers) {
        assert_eq!(legacy.call("fx__echo", json!({ "text": text }))["result"], answer["result"]);
    }
    let missing = legacy.ask("tools/call", json!({"name": "fx__echo", "arguments": {"text": "c"}}));
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    assert!(
        missing["error"]["message"].as_str().is_some_and(|said| said.contains(r#"{"text":"a"}"#)),
        "{missing}"
    );
    legacy.leave();

    let mut modern = replayed(&home.sandbox, &file, &[]);
    modern.speak_modern(json!({}));
    assert!(modern.ask("server/discover", json!({}))["result"]["supportedVersions"].is_array());
    let answer = modern.call("fx__echo", json!({"text": "b"}));
    assert_eq!(answer["result"]["content"], answers[1]["result"]["content"]);
    assert_eq!(answer["result"]["resultType"], "complete");
    modern.leave();
}

#[test]
fn a_recording_is_a_server_of_the_config() {
    let recording_home = home();
    let (file, answers) = recorded(&recording_home, "one");
    let sandbox = Sandbox::new();
    sandbox.write(".config/manifold/fx.mfr", &fs::read_to_string(&file).expect("it can be read"));
    let mut client = opened(sandbox.serve(&json!({"mcpServers": {"old": {"replay": "fx.mfr"}}}), &[]));
    assert!(client.tool_names().contains(&"old__echo".to_owned()));
    assert_eq!(
        client.call("old__echo", json!({"text": "b"}))["result"]["content"],
        answers[1]["result"]["content"]
    );
    client.leave();
}

#[test]
fn a_filter_keeps_whole_calls_and_a_bad_one_begins_nothing() {
    let home = home();
    let mut client = home.open();
    let refused = ran(&home, &["record", "start", "bad", "tool:echo toool:x"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("column 11"), "{refused:?}");
    assert_eq!(done(&home, &["record", "list", "-q"]), "");
    done(&home, &["record", "start", "all"]);
    done(&home, &["record", "start", "echoes", "tool:echo"]);
    assert_eq!(ran(&home, &["record", "start", "echoes"]).status.code(), Some(1), "it runs already");
    client.call("fx__echo", json!({"text": "kept"}));
    client.call("fx__pid", json!({}));
    // It is in its file while it runs.
    let all = file(&home, "all");
    assert!(until(SOON, || lines(&all).iter().any(|frame| frame["tool"] == "pid")), "it is in its file");
    let shown = done(&home, &["record", "show", "all"]);
    assert!(shown.contains("no footer"), "{shown}");
    done(&home, &["record", "stop", "all"]);
    done(&home, &["record", "stop", "echoes"]);
    let kept = lines(&file(&home, "echoes"));
    assert_eq!(kept.len(), 2 + 4, "header, footer and both ends of both hops: {kept:#?}");
    assert_eq!(ran(&home, &["record", "stop", "echoes"]).status.code(), Some(7));
    let shown = done(&home, &["record", "show", "all"]);
    assert!(!shown.contains("no footer") && shown.contains("fx__pid"), "{shown}");
}

#[test]
fn no_file_and_no_export_has_a_secret() {
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "secrets"]);
    assert_eq!(text_of(&client.call("fx__env", json!({"name": "FX_TOKEN"}))), SECRET);
    client.call("fx__echo", json!({"text": SECRET}));
    done(&home, &["record", "stop", "secrets"]);
    let text = fs::read_to_string(file(&home, "secrets")).expect("it can be read");
    assert!(text.contains("fx__env") && !text.contains(SECRET), "{text}");
    for format in ["har", "text", "json"] {
        let exported = done(&home, &["record", "export", "secrets", "--format", format]);
        assert!(exported.contains("fx__env") && !exported.contains(SECRET), "{format}: {exported}");
    }
    let refused = ran(&home, &["replay", "secrets", "--serve"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--allow-redacted"), "{refused:?}");
}

/// What a line of a file says of a call.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    hop: String,
    dir: String,
    method: String,
    call: Option<u64>,
}

/// Returns the calls whose answer reached the client, and how many of their four messages are in the files of a recording.
/// Only the last line of the last may be no whole one.
fn answered_calls(last: &Path) -> Vec<usize> {
    let part = |n: usize| last.with_extension(format!("{n}.mfr"));
    let mut files: Vec<PathBuf> = (1..).map(part).take_while(|path| path.exists()).collect();
    files.push(last.to_owned());
    let mut seen: HashMap<u64, HashSet<(String, String)>> = HashMap::new();
    for path in &files {
        let mut reader = BufReader::new(fs::File::open(path).expect("the file can be read"));
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text).expect("it can be read to its end") > 0 {
            let line: Result<Line, _> = serde_json::from_slice(&text);
            let line = match line {
                Err(_) if !text.ends_with(b"\n") && path == last => break,
                line => line.expect("every whole line is JSON"),
            };
            if let Some(call) = line.call.filter(|_| line.method == "tools/call") {
                seen.entry(call).or_default().insert((line.hop, line.dir));
            }
            text.clear();
        }
    }
    let is_answered = |seen: &&HashSet<(String, String)>| seen.contains(&("client".into(), "out".into()));
    seen.values().filter(is_answered).map(HashSet::len).collect()
}

// E4
#[test]
fn none_of_twelve_secrets_is_in_a_file_an_export_a_log_or_the_audit() {
    let remote = HttpFake::start(Style::Json, &["echo"]);
    let home = planted::home(&remote);
    let mut client = home.open();
    done(&home, &["record", "start", "twelve"]);
    planted::pass(&mut client);
    done(&home, &["record", "stop", "twelve"]);
    let text = fs::read_to_string(file(&home, "twelve")).expect("it can be read");
    assert!(text.contains(planted::LAST) && text.contains("far__echo"), "{text}");
    planted::are_not_in("the file", &text);
    for format in ["har", "text", "json"] {
        planted::are_not_in(format, &done(&home, &["record", "export", "twelve", "--format", format]));
    }
    planted::are_not_in("`record show`", &done(&home, &["record", "show", "twelve", "--json"]));
    planted::are_not_in("the audit", &Desk::of(&home).get("/v1/audit").to_string());
    planted::are_not_in("the log", &home.log());
}

// E3: half of a million calls before the end, where there is time for them.
#[test]
fn a_daemon_killed_in_the_midst_leaves_a_file_that_can_be_read() {
    const AT_ONCE: usize = 100;
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "cut"]);
    let path = file(&home, "cut");
    let desk = Desk::of(&home);
    let calls = figure(2_000, 500_000);
    let ask = |client: &mut Client, n: usize| {
        let arguments = json!({"text": format!("the call {n}")});
        client.request("tools/call", json!({"name": "fx__echo", "arguments": arguments}))
    };
    for first in (0..calls).step_by(AT_ONCE) {
        let asked: Vec<u64> = (first..first + AT_ONCE).map(|n| ask(&mut client, n)).collect();
        asked.into_iter().for_each(|id| _ = client.wait_for(id, SOON));
        // However slow the disk is, no more is owed to the file than a few of these.
        let frames = || desk.get("/v1/recordings")[0]["frames"].as_u64().unwrap_or_default() as usize;
        assert!(until(SOON, || frames() >= first * 4), "it is written");
    }
    // Some are under way when it ends.
    (0..AT_ONCE).for_each(|n| _ = ask(&mut client, n));
    kill_hard(home.daemon());
    let answered = answered_calls(&path);
    assert!(answered.len() > calls / 2, "{} calls are in the file", answered.len());
    assert!(answered.iter().all(|messages| *messages == 4), "both ends of both hops have one number");
    let shown = done(&home, &["record", "show", &path.to_string_lossy()]);
    assert!(shown.contains("no footer") && shown.contains("fx__echo"), "{shown}");
    assert!(done(&home, &["record", "list"]).contains("broken off"));
}

#[test]
fn who_watches_the_gateway_is_told_of_recordings() {
    let home = home();
    let _window = home.open();
    let (mut events, _) = Desk::of(&home).follow("/v1/events?topics=recording");
    done(&home, &["record", "start", "told", "tool:echo"]);
    done(&home, &["record", "stop", "told"]);
    for (change, is_running) in [("started", true), ("stopped", false)] {
        let event = events.next().expect("the stream goes on").expect("an event");
        let data: Value = serde_json::from_str(&event.data).expect("it is JSON");
        assert_eq!((event.event.as_str(), data["change"].as_str()), ("recording", Some(change)), "{data}");
        let recording = &data["recording"];
        assert_eq!((&recording["name"], &recording["filter"]), (&json!("told"), &json!("tool:echo")));
        assert_eq!((&recording["isRunning"], recording.get("problem")), (&json!(is_running), None));
    }
}

#[test]
fn a_recording_goes_on_across_an_upgrade() {
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "on", "tool:echo"]);
    client.call("fx__echo", json!({"text": "before"}));
    let upgraded = home.order(&["upgrade"]);
    assert!(upgraded.status.success(), "{upgraded:?}");
    client.call("fx__echo", json!({"text": "after"}));
    done(&home, &["record", "stop", "on"]);
    let text = fs::read_to_string(file(&home, "on")).expect("it can be read");
    assert!(text.contains("before") && text.contains("after"), "{text}");
    assert_eq!(text.matches("\"footer\"").count(), 1);
    // Numbers and times go on where they were.
    let frames: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let frames: Vec<&Value> = frames.iter().filter(|frame| frame["n"].is_u64()).collect();
    let rises = |key: &str| frames.is_sorted_by_key(|frame| frame[key].as_u64());
    assert!(rises("n") && rises("t") && rises("call"), "{text}");
    let calls: std::collections::BTreeSet<_> = frames.iter().map(|frame| frame["call"].as_u64()).collect();
    assert_eq!(calls.len(), 2, "{text}");
}

// E6
#[test]
fn verify_tells_an_unchanged_server_from_a_changed_one() {
    let home = home();
    let (file, _) = recorded(&home, "one");
    let file = file.to_string_lossy().into_owned();
    done(&home, &["replay", &file, "--verify"]);
    // A call that gave something else then.
    let text = fs::read_to_string(&file).expect("it can be read");
    let lines = text.lines().map(|line| match line.contains(r#""kind":"response""#) {
        true => line.replace(r#""text":"a""#, r#""text":"old""#),
        false => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    let changed = home.sandbox.write("changed.mfr", &text).to_string_lossy().into_owned();
    let differs = ran(&home, &["replay", &changed, "--verify"]);
    assert_eq!(differs.status.code(), Some(1), "{differs:?}");
    let said = String::from_utf8_lossy(&differs.stdout);
    assert!(said.contains("fx__echo") && said.contains("$.content[0].text"), "{said}");
    done(&home, &["replay", &changed, "--verify", "--ignore", "$..text"]);
    assert_eq!(done(&home, &["replay", "diff", &file, &file]), "");
    let diff = ran(&home, &["replay", "diff", &file, &changed, "--json"]);
    assert_eq!(diff.status.code(), Some(1));
    let diff: Value = serde_json::from_slice(&diff.stdout).expect("it is JSON");
    assert_eq!(diff["calls"][0]["paths"], json!(["$.content[0].text"]), "{diff}");
}

#[test]
fn a_call_is_made_again_if_it_only_reads_or_somebody_says_yes() {
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "one"]);
    client.call("fx__echo", json!({"text": "again"}));
    client.call("fx__pid", json!({}));
    done(&home, &["record", "stop", "one"]);
    let number = |tool: &str| call_number(&home, "one", tool);
    assert!(done(&home, &["replay", "one", "--call", &number("fx__echo")]).contains("again"));
    let refused = ran(&home, &["replay", "one", "--call", &number("fx__pid")]);
    assert_eq!(refused.status.code(), Some(8), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--yes"), "{refused:?}");
    done(&home, &["replay", "one", "--call", &number("fx__pid"), "--yes"]);
    assert_eq!(ran(&home, &["replay", "one", "--call", "999999"]).status.code(), Some(7));
}

#[test]
fn a_call_is_made_again_by_a_server_that_is_started_for_it() {
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "one"]);
    let running = text_of(&client.call("fx__pid", json!({}))).to_owned();
    done(&home, &["record", "stop", "one"]);
    let number = call_number(&home, "one", "fx__pid");
    let told = done(&home, &["replay", "one", "--call", &number, "--yes", "--fresh"]);
    let told: Value = serde_json::from_str(&told).expect("it is JSON");
    let fresh: u32 = told["content"][0]["text"].as_str().and_then(|pid| pid.parse().ok()).expect("a process");
    assert_ne!(fresh.to_string(), running);
    assert!(until(SOON, || !alive(fresh)), "it has ended with the command");
    assert_eq!(text_of(&client.call("fx__pid", json!({}))), running);
    let mixed = ran(&home, &["replay", "one", "--serve", "--fresh"]);
    assert_eq!(mixed.status.code(), Some(2), "{mixed:?}");
}

/// Returns our number of the first call of a tool in a recording.
fn call_number(home: &Home, name: &str, tool: &str) -> String {
    let shown: Value = serde_json::from_str(&done(home, &["record", "show", name, "--json"])).expect("JSON");
    let call = shown["calls"].as_array().into_iter().flatten().find(|call| call["tool"] == tool);
    call.and_then(|call| call["call"].as_u64()).unwrap_or_else(|| panic!("{tool} in {shown}")).to_string()
}

#[test]
fn exports_stay_json_whatever_servers_say() {
    let home = home();
    let mut client = home.open();
    done(&home, &["record", "start", "turned"]);
    client.call("fx__echo", json!({"text": "turned \u{202e}around\u{7f}, a tag \u{e0041}"}));
    done(&home, &["record", "stop", "turned"]);
    for format in ["har", "json"] {
        let text = done(&home, &["record", "export", "turned", "--format", format]);
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{format}: {error}: {text}"));
        assert!(text.contains(r"\u202earound\u007f, a tag \udb40\udc41"), "{format}: {text}");
    }
}
