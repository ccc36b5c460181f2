//! Verbs in the less usual moments: a daemon that hangs, a config that is gone, names as people write them.

use std::fs;
use std::process::Stdio;

use manifold_testkit::{Sandbox, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::home::{Home, signal};
use crate::operator::{Desk, Ran, run};
use crate::{SOON, fake_with};

fn home() -> Home {
    let prompt = json!({"name": "plan", "arguments": [{"name": "topic"}]});
    let fx = fake_with(&["pid", "echo", "sleep"], json!({"prompts": [prompt]}));
    Home::new(json!({"fx": fx, "time": {"builtin": "time"}}))
}

fn error_code(ran: &Ran) -> Value {
    let line = ran.stderr.lines().last().unwrap_or_default();
    let said: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {ran:?}"));
    said["error"]["code"].clone()
}

#[test]
fn a_namespace_that_is_not_there_is_none_to_any_verb() {
    let servers = json!({"a": fake_with(&["pid"], json!({})), "b": fake_with(&["pid"], json!({}))});
    let home = Home::with(json!({"mcpServers": servers, "namespaces": {"one": {"serverIds": ["a"]}}}));
    assert!(home.order(&["start"]).status.success());
    for words in [&["list"][..], &["clients"], &["record", "start", "x"], &["watch"]] {
        let ran = run(&home.sandbox, &[words, &["--namespace", "nope", "--json"]].concat());
        assert_eq!((ran.code, error_code(&ran)), (Some(7), json!("unknown-namespace")), "{words:?}: {ran:?}");
    }
    let ran = run(&home.sandbox, &["list", "--namespace", "one", "--json"]);
    let rows: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let ids: Vec<&Value> = rows.as_array().expect("a list").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!("a")], "{ran:?}");
}

#[test]
fn a_daemon_that_hangs_does_not_outlast_the_time_a_verb_was_given() {
    let home = home();
    assert!(home.order(&["start"]).status.success());
    assert_eq!(run(&home.sandbox, &["call", "fx.echo", "text=here"]).stdout, "here\n");
    signal(home.daemon(), Signal::SIGSTOP);
    for words in [
        &["call", "fx.echo", "text=x", "--timeout", "700", "--json"][..],
        &["prompt", "fx.plan", "--timeout", "700", "--json"],
        &["wait", "fx", "--timeout", "700", "--json"],
    ] {
        let ran = run(&home.sandbox, words);
        assert_eq!((ran.code, error_code(&ran)), (Some(124), json!("timed-out")), "{words:?}: {ran:?}");
    }
    // One that asks nothing of servers has a time of its own, and names the process.
    let ran = run(&home.sandbox, &["list", "--json"]);
    assert_eq!((ran.code, error_code(&ran)), (Some(1), json!("unreachable")), "{ran:?}");
}

#[test]
fn a_config_that_is_gone_is_told_until_it_is_back() {
    let home = home();
    assert!(home.order(&["start"]).status.success());
    let away = home.config.with_extension("away");
    fs::rename(&home.config, &away).expect("it can be moved");
    let is_told = || {
        let told = |words: &[&str]| {
            let ran = run(&home.sandbox, words);
            assert!(matches!(ran.code, Some(0 | 1)), "{words:?}: {ran:?}");
            ran.stderr.contains("is gone") || ran.stdout.contains("is gone")
        };
        [
            told(&["status"]),
            told(&["list"]),
            told(&["get", "time"]),
            told(&["tools", "--server", "time"]),
            told(&["daemon", "status"]),
        ]
    };
    assert!(until(SOON, || Desk::of(&home).get("/v1/about")["refused"].is_string()), "{}", home.log());
    assert_eq!(is_told(), [true; 5]);
    assert_eq!(Desk::of(&home).get("/v1/snapshot")["servers"].as_array().map(Vec::len), Some(2));
    fs::rename(&away, &home.config).expect("it can be moved");
    assert!(until(SOON, || Desk::of(&home).get("/v1/about")["refused"].is_null()), "{}", home.log());
    assert_eq!(is_told(), [false; 5]);
}

#[test]
fn tools_of_the_gateway_itself_have_as_many_names_as_others() {
    let home = home();
    for runs in [false, true] {
        if runs {
            assert!(home.order(&["start"]).status.success());
        }
        for name in
            ["manifold__servers_list", "manifold.servers_list", "manifold/servers_list", "servers_list"]
        {
            let ran = run(&home.sandbox, &["call", name]);
            assert!(ran.code == Some(0) && ran.stdout.contains("\"time\""), "{name}: {ran:?}");
            assert_eq!(run(&home.sandbox, &["tool", name]).code, Some(0), "{name}");
        }
    }
}

#[test]
fn a_prompt_is_completed_by_any_of_its_names() {
    let home = home();
    for name in ["fx__plan", "fx.plan", "fx/plan", "plan"] {
        let of = |verb: &[&str]| run(&home.sandbox, &[verb, &[name, "topic=x"]].concat());
        let (asked, completed) = (of(&["prompt"]), of(&["complete", "prompt"]));
        assert_eq!((asked.code, completed.code), (Some(0), Some(0)), "{name}: {completed:?}");
    }
    let unknown = run(&home.sandbox, &["complete", "prompt", "fx.plam", "topic=x"]);
    assert!(unknown.code == Some(7) && unknown.stderr.contains("plan"), "{unknown:?}");
}

#[test]
fn a_rule_by_a_pattern_holds_and_one_for_nothing_is_refused() {
    let fx = fake_with(&["pid", "echo", "sleep"], json!({}));
    let home = Home::with(json!({"mcpServers": {"fx": fx}, "daemon": {"linger": 1000},
        "namespaces": {"work": {"serverIds": ["fx"]}}}));
    let tools = || run(&home.sandbox, &["tools", "--namespace", "work", "--server", "fx", "-q"]).stdout;
    for runs in [false, true] {
        if runs {
            assert!(home.order(&["start"]).status.success());
        }
        assert_eq!(tools(), "fx__pid\nfx__echo\nfx__sleep\n");
        let ran = run(&home.sandbox, &["ns", "deny", "work", "fx.*"]);
        assert_eq!(ran.stdout, "fx.* is denied in work\n", "{ran:?}");
        assert_eq!(tools(), "");
        assert_eq!(run(&home.sandbox, &["ns", "allow", "work", "fx.echo"]).code, Some(0));
        assert_eq!(tools(), "fx__echo\n");
        let denied = run(&home.sandbox, &["call", "fx.pid", "--namespace", "work"]);
        assert_eq!(denied.code, Some(8), "{denied:?}");
        let ran = run(&home.sandbox, &["ns", "deny", "work", "fx.ecko", "--json"]);
        assert_eq!((ran.code, error_code(&ran)), (Some(7), json!("unknown-item")), "{ran:?}");
        for item in ["fx.*", "fx.echo"] {
            assert_eq!(run(&home.sandbox, &["ns", "allow", "work", item, "--unset"]).code, Some(0));
        }
    }
}

#[test]
fn verbs_that_ask_no_server_say_that_they_used_the_files() {
    let home = home();
    for words in [&["disable", "fx", "-v"][..], &["enable", "fx", "-v"], &["audit", "-v"]] {
        let ran = run(&home.sandbox, words);
        assert!(ran.stderr.contains("asked the files, as nothing runs"), "{ran:?}");
    }
}

#[test]
fn enabling_says_that_and_no_more() {
    let home = home();
    for runs in [false, true] {
        if runs {
            assert!(home.order(&["start"]).status.success());
        }
        for server in ["time", "fx"] {
            let said = |verb: &str| run(&home.sandbox, &[verb, server]).stdout;
            assert_eq!(said("disable"), format!("{server} is disabled\n"));
            assert_eq!(said("enable"), format!("{server} is enabled\n"));
        }
    }
}

/// Whoever reads JSON is told why none came.
#[test]
fn an_interrupted_verb_says_so_to_programs() {
    let home = home();
    assert!(home.order(&["start"]).status.success());
    for (words, says) in [(&["wait", "fx", "--json"][..], true), (&["wait", "fx"], false)] {
        let mut command = home.sandbox.daemon();
        let child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("it starts");
        // It waits once it has a thread for signals beside itself.
        let tasks = format!("/proc/{}/task", child.id());
        assert!(until(SOON, || fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() > 1)));
        signal(child.id(), Signal::SIGINT);
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let ran = Ran { code: output.status.code(), stdout: String::new(), stderr };
        assert_eq!(ran.code, Some(130), "{ran:?}");
        match says {
            true => assert_eq!(error_code(&ran), json!("interrupted")),
            false => assert_eq!(ran.stderr, ""),
        }
    }
}

/// A new daemon knows as much of servers that have not been started yet as the files do.
#[test]
fn a_new_daemon_remembers_how_many_tools_there_were() {
    let sandbox = Sandbox::new();
    let home = Home::within(
        sandbox,
        json!({"mcpServers": {"fx": fake_with(&["pid", "echo"], json!({}))}, "daemon": {"linger": 1000}}),
    );
    assert_eq!(run(&home.sandbox, &["tools", "--server", "fx", "-q"]).stdout.lines().count(), 2);
    let row = || {
        let listed = run(&home.sandbox, &["list", "--json"]);
        let rows: Value = serde_json::from_str(&listed.stdout).expect("JSON");
        (rows[0]["state"].clone(), rows[0]["tools"].clone())
    };
    assert_eq!(row(), (json!("idle"), json!(2)), "by the files");
    assert!(home.order(&["start"]).status.success());
    assert_eq!(row(), (json!("idle"), json!(2)), "by the daemon");
    assert!(run(&home.sandbox, &["get", "fx"]).stdout.contains("tools: 2"));
}

/// What is built in has no process that clients could have each their own of, and its calls count as others do.
#[test]
fn what_is_built_in_is_there_once() {
    let home = home();
    let mut window = home.open();
    assert!(window.tool_names().contains(&"time__get_current_time".to_owned()));
    for _ in 0..2 {
        let ran = run(&home.sandbox, &["call", "time.get_current_time", "timezone=UTC"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_ne!(run(&home.sandbox, &["call", "time.get_current_time", "timezone=Nowhere"]).code, Some(0));
    let got = run(&home.sandbox, &["get", "time", "--json"]);
    let got: Value = serde_json::from_str(&got.stdout).unwrap_or_else(|_| panic!("no JSON: {got:?}"));
    assert_eq!(got["instances"].as_array().map(Vec::len), Some(1), "{got}");
    assert_eq!((&got["calls"], &got["clients"]), (&json!(3), &json!(1)), "{got}");
}
