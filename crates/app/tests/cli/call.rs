//! `call`, `read`, `prompt` and `complete`: what they send and how they end.

use std::io::{Read, Write};
use std::process::Stdio;

use manifold_testkit::Sandbox;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fake::{Gateway, alone};

fn with_tool() -> Gateway {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}, "required": ["n"]});
    let item = json!({"name": "git__log", "inputSchema": schema});
    let listed = json!({"name": "git__log", "server": "git", "original": "log", "bytes": 1, "item": item});
    Gateway::new()
        .says("GET /v1/tools?full=1&name=git.log", &json!({"items": [listed]}))
        .says("GET /v1/tools?full=1&name=lgo", &json!({"items": []}))
        .says("GET /v1/tools", &json!({"items": [listed]}))
}

fn answering(result: &Value) -> Gateway {
    with_tool().streams("POST /v1/call", &[("result", json!({"result": result}))], false)
}

fn text(text: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

#[test]
fn a_call_sends_what_the_schema_says_and_prints_text() {
    let gateway = answering(&text("done", false));
    assert_eq!(gateway.shown("call git.log n=3 t=012"), "done\n");
    let asked = gateway.asked();
    let call = asked.last().expect("a call");
    assert_eq!((call.line.as_str(), call.face.as_deref()), ("POST /v1/call", Some("cli")));
    let body = json!({"name": "git__log", "arguments": {"n": 3, "t": "012"}, "answersQuestions": false});
    let mut sent = call.body.clone();
    // Whose variables and folder it is asked with is the gateway's to use.
    sent.as_object_mut().expect("an object").remove("client");
    assert_eq!(sent, body);
    assert_eq!(gateway.json("call git.log n=3 --json"), text("done", false));
}

#[test]
fn every_end_has_its_code() {
    let ran = answering(&text("broken", true)).run("call git.log n=1");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), "broken\n"), "{ran:?}");
    let ran = with_tool().run("call git.log n=x --json");
    let line: Value = serde_json::from_str(&ran.stderr).expect("one line of JSON");
    assert_eq!((ran.code, &line["error"]["code"]), (Some(2), &json!("usage")), "{ran:?}");
    assert_eq!(line["error"]["message"], "`n` takes an integer, and `x` is none");
    for (code, exit) in
        [("denied", 8), ("timed-out", 124), ("failed-to-start", 4), ("sign-in", 6), ("server-error", 1)]
    {
        let error = json!({"error": {"code": code, "message": "because"}});
        let ran = with_tool().streams("POST /v1/call", &[("error", error)], false).run("call git.log n=1");
        assert_eq!(ran.code, Some(exit), "{ran:?}");
    }
    let ran =
        with_tool().refuses("POST /v1/call", 404, "unknown-item", "there is no tool `lgo`").run("call lgo");
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.stderr.contains("did you mean `log`?"), "{ran:?}");
    let ran = with_tool().streams("POST /v1/call", &[], false).run("call git.log n=1");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

/// The gateway sees the connection end, which is how it knows to cancel.
#[test]
fn an_interrupt_ends_a_call_with_130() {
    let progress = ("progress", json!({"params": {"progress": 1}}));
    let gateway = with_tool().streams("POST /v1/call", &[progress], true);
    let mut command = gateway.command("call git.log n=1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    while !gateway.asked().iter().any(|asked| asked.line == "POST /v1/call") {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a small number"));
    kill(pid, Signal::SIGINT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(said, "manifold: interrupted; what was asked is cancelled at its server\n");
}

/// Returns what came to the screen once it has this text.
fn shown_until(screen: &mut std::fs::File, seen: &mut String, text: &str) {
    let mut chunk = [0; 1024];
    while !seen.contains(text) {
        let count = screen.read(&mut chunk).expect("the terminal is there");
        seen.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
}

#[test]
fn a_terminal_is_asked_field_by_field() {
    let schema = json!({"properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7},
        "key": {"type": "string", "format": "password"}}, "required": ["name"]});
    let params = json!({"message": "who\u{1b}[2J?", "requestedSchema": schema});
    let question = json!({"id": "q1", "server": "git", "method": "elicitation/create", "params": params});
    let gateway = with_tool().streams("POST /v1/call", &[("question", question)], true);
    let gateway = gateway.says("POST /v1/questions/q1", &json!({}));
    let pty = nix::pty::openpty(None, None).expect("a terminal");
    let line = || Stdio::from(pty.slave.try_clone().expect("a terminal"));
    let mut command = gateway.command("call git.log n=1");
    let mut child = command.stdin(line()).stderr(line()).stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut screen, mut seen) = (std::fs::File::from(pty.master), String::new());
    let script = [
        ("[7] ", "\n"),
        ("  key: (a text) ", "s3cret\n"),
        ("  name: (a text, required) ", "\n"),
        ("is required; Ctrl-D declines", "Ann\n"),
    ];
    for (asked, typed) in script {
        shown_until(&mut screen, &mut seen, asked);
        screen.write_all(typed.as_bytes()).expect("the terminal is there");
    }
    while !gateway.asked().iter().any(|asked| asked.line == "POST /v1/questions/q1") {
        std::thread::yield_now();
    }
    let answer =
        json!({"result": {"action": "accept", "content": {"name": "Ann", "age": 7, "key": "s3cret"}}});
    assert_eq!(gateway.asked().last().expect("an answer").body, answer);
    let call = gateway.asked().into_iter().find(|asked| asked.line == "POST /v1/call").expect("a call");
    assert_eq!(call.body["answersQuestions"], true);
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a small number")), Signal::SIGINT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    shown_until(&mut screen, &mut seen, "interrupted");
    assert!(seen.contains("git asks: who\\u{1b}[2J?"), "{seen}");
    assert!(!seen.contains("s3cret"), "{seen}");
}

/// Nobody is there to answer.
#[test]
fn questions_are_declined_without_a_terminal() {
    let question =
        json!({"id": "q 1", "server": "git", "method": "elicitation/create", "params": {"message": "?"}});
    let events = [("question", question), ("result", json!({"result": text("fine", false)}))];
    let gateway =
        with_tool().streams("POST /v1/call", &events, false).says("POST /v1/questions/q%201", &json!({}));
    assert_eq!(gateway.shown("call git.log n=1"), "fine\n");
    let asked = gateway.asked();
    assert_eq!(
        asked.last().map(|asked| (asked.line.as_str(), &asked.body)),
        Some(("POST /v1/questions/q%201", &json!({})))
    );
}

/// Whoever names something that is not there is told where to look.
#[test]
fn what_is_not_there_comes_with_where_to_look() {
    for (path, line, verb) in [
        ("POST /v1/read", "read a:b", "resources"),
        ("POST /v1/complete", "complete uri a:b x=y", "resources"),
        ("POST /v1/complete", "complete prompt p x=y", "prompts"),
    ] {
        let gateway = Gateway::new().refuses(path, 404, "unknown-item", "there is none");
        let said = format!("there is none; `manifold {verb}` shows those there are");
        assert_eq!(gateway.fails(line, 7, &said), "unknown-item", "{line}");
    }
}

#[test]
fn the_other_verbs_print_by_the_same_rules() {
    let read = json!({"result": {"contents": [{"uri": "a:b", "text": "x"}]}});
    let gateway = Gateway::new().streams("POST /v1/read", &[("result", read)], false);
    assert_eq!(gateway.shown("read a:b"), "x\n");
    let complete = json!({"result": {"completion": {"values": ["rust", "ruby"]}}});
    let gateway = Gateway::new().streams("POST /v1/complete", &[("result", complete)], false);
    assert_eq!(gateway.shown("complete prompt review language=ru"), "rust\nruby\n");
    let item = json!({"name": "d__review", "arguments": [{"name": "language"}]});
    let listed = json!({"name": "d__review", "server": "d", "original": "review", "bytes": 1, "item": item});
    let prompt =
        json!({"result": {"messages": [{"role": "user", "content": {"type": "text", "text": "look"}}]}});
    let gateway = Gateway::new()
        .says("GET /v1/prompts?full=1&name=review", &json!({"items": [listed]}))
        .streams("POST /v1/prompt", &[("result", prompt)], false);
    assert_eq!(gateway.shown("prompt review language=rust"), "look\n");
}

/// There is no config, no daemon, and nothing is remembered.
#[test]
fn on_a_fresh_machine_there_is_a_tool_to_call_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    let tools = alone(&sandbox, "tools");
    assert_eq!(tools.code, Some(0), "{tools:?}");
    assert!(tools.stdout.contains("time__get_current_time"), "{tools:?}");
    let ran = alone(&sandbox, "call time__get_current_time timezone=UTC");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("+00:00"), "{ran:?}");
    assert!(sandbox.processes().is_empty());
    assert!(!sandbox.path(".config/manifold/config.json").exists());
    let mut left = std::fs::read_dir(sandbox.path(".run/manifold")).into_iter().flatten().flatten();
    assert!(left.all(|entry| !entry.path().to_string_lossy().ends_with(".sock")));
}
