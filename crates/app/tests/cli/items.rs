//! `tools`, `tool`, `resources`, `prompts`.

use std::process::Stdio;
use std::time::Duration;

use expect_test::expect;
use manifold_testkit::until;
use serde_json::{Value, json};

use crate::fake::Gateway;

/// Nothing that is waited for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn item(name: &str, server: &str, description: &str) -> Value {
    let original = name.rsplit("__").next().unwrap_or_default();
    json!({"name": name, "server": server, "original": original, "description": description, "bytes": 300})
}

fn page(items: &[Value]) -> Value {
    json!({ "items": items })
}

#[test]
fn tools_are_shown_page_after_page() {
    let first = json!({"items": [item("git__log", "git", "Shows\n\tthe \u{202e}log")], "nextCursor": "a b"});
    let gateway = Gateway::new()
        .says("GET /v1/tools", &first)
        .says("GET /v1/tools?cursor=a%20b", &page(&[item("fs__read", "fs", "")]));
    expect![[r#"
        git__log  git  300  Shows the \u{202e}log
        fs__read  fs  300  -
    "#]]
    .assert_eq(&gateway.shown("tools"));
    assert_eq!(gateway.shown("tools -q"), "git__log\nfs__read\n");
    let expected = json!([
        {"name": "git__log", "server": "git", "original": "log", "description": "Shows\n\tthe \u{202e}log", "bytes": 300},
        {"name": "fs__read", "server": "fs", "original": "read", "description": "", "bytes": 300},
    ]);
    assert_eq!(gateway.json("tools --json"), expected);
}

#[test]
fn what_is_asked_for_is_asked_of_the_gateway() {
    let gateway = Gateway::new()
        .says("GET /v1/tools?namespace=work&server=git&q=lo%20g", &page(&[]))
        .says("GET /v1/resources", &page(&[item("file:///a", "fs", "A file")]))
        .says("GET /v1/resources?kind=templates", &page(&[item("file:///{path}", "fs", "Files")]))
        .says("GET /v1/prompts?q=re", &page(&[item("git__review", "git", "Reviews")]));
    let mut command = gateway.command("tools --server git --namespace work");
    command.arg("lo g");
    assert_eq!(crate::fake::ran(command).stdout, "");
    assert_eq!(gateway.shown("resources"), "file:///a  fs  300  A file\n");
    assert_eq!(gateway.shown("resources --templates"), "file:///{path}  fs  300  Files\n");
    assert_eq!(gateway.shown("prompts re"), "git__review  git  300  Reviews\n");
    assert_eq!(gateway.json("prompts re --json")[0]["server"], "git");
    assert_eq!(gateway.json("resources --json")[0]["name"], "file:///a");
}

#[test]
fn what_is_missing_is_said_beside_the_list() {
    let mut found = page(&[item("git__log", "git", "")]);
    found["failed"] = json!([{"server": "fs", "message": "no such program"}]);
    found["starting"] = json!(["slow", "slower"]);
    let gateway = Gateway::new().says("GET /v1/tools", &found);
    let ran = gateway.run("tools --timeout 1");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "git__log  git  300  -\n"));
    assert!(ran.stderr.contains("nothing is known of 'fs': no such program"), "{ran:?}");
    assert!(ran.stderr.contains("still starting: slow, slower"), "{ran:?}");

    let nothing = json!({"items": [], "failed": [{"server": "fs", "message": "no such program"}]});
    let gateway = Gateway::new().says("GET /v1/tools?server=fs", &nothing).refuses(
        "GET /v1/tools?server=gti",
        404,
        "unknown-server",
        "there is no server 'gti'",
    );
    assert_eq!(gateway.fails("tools --server fs", 4, "'fs': no such program"), "failed-to-start");
    assert_eq!(gateway.fails("tools --server gti", 7, "there is no server 'gti'"), "unknown-server");
}

// A gateway's answer does not wait long for a slow server; a person wants to know what there is.
#[test]
fn servers_that_are_starting_are_waited_for() {
    let mut first = page(&[item("git__log", "git", "")]);
    first["starting"] = json!(["slow"]);
    let whole = page(&[item("git__log", "git", ""), item("slow__run", "slow", "")]);
    for (line, code, shown) in [("tools -q", 0, "git__log\nslow__run\n"), ("tool other", 7, "")] {
        let nothing = json!({"items": [], "starting": ["slow"]});
        let by_name = "GET /v1/tools?name=other&full=1";
        let gateway = Gateway::new().says("GET /v1/tools", &first).says(by_name, &nothing);
        let mut command = gateway.command(line);
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        assert!(until(PATIENCE, || !gateway.asked().is_empty()), "{line}");
        let gateway = gateway.says("GET /v1/tools", &whole);
        let gateway = gateway.refuses(by_name, 404, "unknown-item", "there is no tool 'other'");
        let output = running.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
        assert!(gateway.asked().len() > 1, "{:?}", gateway.asked());
    }
}

fn tools() -> Gateway {
    let mut full = item("git__log", "git", "");
    full["item"] = json!({"name": "git__log", "title": "Log", "description": "Shows the \u{1b}[31mlog.\nOf a repo.",
        "inputSchema": {"type": "object", "required": ["repo"], "properties": {
            "repo": {"type": "string", "description": "Where it is"},
            "order": {"enum": ["old", "new"], "default": "new"},
            "count": {"type": ["integer", "null"]}}},
        "annotations": {"readOnlyHint": true}});
    let names = ["git__log", "git.log", "git%2Flog", "log"];
    names.iter().fold(Gateway::new(), |gateway, name| {
        gateway.says(&format!("GET /v1/tools?name={name}&full=1"), &page(&[full.clone()]))
    })
}

#[test]
fn a_tool_is_found_by_any_of_its_names() {
    let gateway = tools();
    let shown = gateway.shown("tool git__log");
    expect![[r#"
        git__log (Log)
        server: git, there `log`

        Shows the \u{1b}[31mlog.
        Of a repo.

        arguments:
          count ([integer,null])
          order (any, one of "old", "new", default "new")
          repo (string, required): Where it is

        annotations: readOnlyHint: true
    "#]]
    .assert_eq(&shown);
    for name in ["git.log", "git/log", "log"] {
        assert_eq!(gateway.shown(&format!("tool {name}")), shown, "{name}");
    }
    let json = gateway.json("tool log --json");
    assert_eq!((&json["name"], &json["title"]), (&json!("git__log"), &json!("Log")), "as a client sees it");
}

#[test]
fn a_tool_that_is_not_there_is_never_corrected() {
    let refused = |name: &str, status, code, message: &str| {
        Gateway::new().refuses(&format!("GET /v1/tools?name={name}&full=1"), status, code, message)
    };
    let gateway = refused("git__lgo", 404, "unknown-item", "there is no tool 'git__lgo'");
    assert_eq!(
        gateway.fails(
            "tool git__lgo",
            7,
            "there is no tool 'git__lgo'; `manifold tools` shows those there are"
        ),
        "unknown-item"
    );
    let gateway = refused("read", 409, "ambiguous-item", "several servers have a tool 'read'");
    assert_eq!(gateway.fails("tool read", 2, "several servers have a tool 'read'"), "ambiguous-item");
    let gateway =
        refused("git.push", 403, "denied", "tool 'git.push' may not be used: `deniedTools` names it");
    assert_eq!(gateway.fails("tool git.push", 8, "tool 'git.push' may not be used: `deniedTools`"), "denied");
    let gateway = Gateway::new().refuses(
        "GET /v1/tools?namespace=no&name=x&full=1",
        404,
        "unknown-namespace",
        "there is no namespace 'no'",
    );
    assert_eq!(gateway.fails("tool x --namespace no", 7, "there is no namespace 'no'"), "unknown-namespace");
}
