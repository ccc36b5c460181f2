//! `install --take-over`: a client's servers move behind us, and one `undo` brings all of it back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use manifold_config::client;
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::install::{done, files, json_of, own_command, run};

const CONFIG: &str = ".config/manifold/config.json";

const CLAUDE: &str = r#"{
  "numStartups": 7,
  "mcpServers": {
    "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]},
    "docs": {"type": "http", "url": "https://docs.example/mcp"}
  },
  "projects": {"/srv/shop": {"mcpServers": {"shop": {"command": "shop-server"}}}}
}
"#;
const CURSOR: &str = "{\r\n  // mine\r\n  \"mcpServers\": {\r\n    // of git\r\n    \"git\": {\"command\": \"uvx\", \"args\": [\"mcp-server-git\"]},\r\n    \"env\": {\"command\": \"acme\", \"env\": {\"A\": \"${env:ACME}\"}}, // the last\r\n  },\r\n  \"other\": true\r\n}\r\n";
const CODEX: &str = "# my model\nmodel = \"o9\"\n\n# of git\n[mcp_servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\"]\n\n[mcp_servers.off]\ncommand = \"off-server\"\nenabled = false\n\n[tui]\ntheme = \"dark\" # dark\n";
const GOOSE: &str = "# my goose\nGOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n  # of git\n  git:\n    type: stdio\n    name: git\n    cmd: uvx\n    args: [mcp-server-git]\n    enabled: true\n";

fn config(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&fs::read_to_string(sandbox.path(CONFIG)).expect("a config")).expect("JSON")
}

#[track_caller]
fn names_in(sandbox: &Sandbox, id: &str, file: &str) -> Vec<String> {
    let path = sandbox.path(file);
    let text = fs::read_to_string(&path).expect("the file");
    client(id).expect("a client").names_in(&text, &path).expect("it is read")
}

#[test]
fn the_servers_of_a_file_move_and_come_back_byte_for_byte() {
    for (id, file, text, moved, kept) in [
        (
            "claude-code",
            ".claude.json",
            CLAUDE,
            &["git", "docs"][..],
            "\"shop\": {\"command\": \"shop-server\"}",
        ),
        ("cursor", ".cursor/mcp.json", CURSOR, &["git", "env"], "  // mine\r\n"),
        ("codex", ".codex/config.toml", CODEX, &["git", "off"], "theme = \"dark\" # dark\n"),
        ("goose", ".config/goose/config.yaml", GOOSE, &["git"], "    type: builtin\n"),
    ] {
        let sandbox = Sandbox::new();
        let path = sandbox.write(file, text);
        let before = files(sandbox.home());
        let dry = done(&sandbox, &format!("install {id} --take-over --dry-run"));
        assert!(
            dry.contains("would move behind Manifold: ") && files(sandbox.home()) == before,
            "{id}: {dry}"
        );
        let row = json_of(&sandbox, &format!("install {id} --take-over --json"));
        assert_eq!((&row["taken"], &row["changed"]), (&json!(moved), &json!(true)), "{row}");
        assert_eq!(names_in(&sandbox, id, file), ["manifold"], "{id}");
        let now = fs::read_to_string(&path).expect("the file");
        assert!(now.contains(kept), "{id}: {now}");
        let config = config(&sandbox);
        let servers = config["mcpServers"].as_object().expect("servers");
        assert_eq!(servers.keys().collect::<Vec<_>>().len(), moved.len(), "{id}: {config}");
        assert!(moved.iter().all(|id| servers.contains_key(*id)), "{id}: {config}");
        let off: Vec<&String> =
            servers.iter().filter(|(_, one)| one["disabled"] == json!(true)).map(|(id, _)| id).collect();
        assert_eq!(off, if id == "codex" { vec!["off"] } else { Vec::new() }, "{id}");
        let again = json_of(&sandbox, &format!("install {id} --take-over --json"));
        assert_eq!((&again["changed"], &again["taken"]), (&json!(false), &Value::Null), "{again}");
        let undone = json_of(&sandbox, "undo --json");
        assert_eq!(undone["left"], json!([]), "{undone}");
        assert!(files(sandbox.home()) == before, "{id}: undo leaves something");
        assert_eq!(run(&sandbox, "undo").code, Some(1), "one record for all of it");
    }
}

#[test]
fn several_clients_share_what_is_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write(".cursor/mcp.json", CURSOR);
    sandbox.write(".codex/config.toml", CODEX);
    let before = files(sandbox.home());
    let rows = json_of(&sandbox, "install --all --take-over --json");
    assert_eq!(
        (&rows[0]["taken"], &rows[1]["taken"]),
        (&json!(["git", "off"]), &json!(["git", "env"])),
        "{rows}"
    );
    assert_eq!(config(&sandbox)["mcpServers"].as_object().expect("servers").len(), 3);
    done(&sandbox, "undo");
    assert!(files(sandbox.home()) == before);
}

#[test]
fn what_we_do_not_serve_stays_in_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {
        "mine": {"command": "uvx", "args": ["mcp-server-git"], "disabled": true},
        "acme": {"command": "acme", "env": {"A": "${ACME}"}},
    }}));
    let text = CURSOR.replace("\"git\": {", "\"none\": {\"note\": \"nothing to start\"},\r\n    \"git\": {");
    let path = sandbox.write(".cursor/mcp.json", &text);
    let row = json_of(&sandbox, "install cursor --take-over --json");
    assert_eq!(row["taken"], json!(["env"]), "{row}");
    let left: Vec<&str> =
        row["left"].as_array().expect("those left").iter().filter_map(|left| left["id"].as_str()).collect();
    assert_eq!(left, ["none", "git"], "{row}");
    assert!(row["left"][1]["why"].as_str().is_some_and(|why| why.contains("manifold enable mine")), "{row}");
    assert_eq!(names_in(&sandbox, "cursor", ".cursor/mcp.json"), ["none", "git", "manifold"]);
    done(&sandbox, "undo");
    assert_eq!(fs::read_to_string(&path).expect("the file"), text);
}

// Nothing is lost where the file cannot be written any more when its servers are in our config.
#[test]
fn a_file_that_cannot_be_written_keeps_its_servers() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(".claude.json", CLAUDE);
    let before = files(sandbox.home());
    own_command(&sandbox, "/bin/chmod 444 \"$HOME/.claude.json\"; exit 1");
    let ran = run(&sandbox, "install claude-code --take-over --force");
    assert!(ran.code == Some(1) && ran.stderr.contains("`manifold undo` takes the import back"), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), CLAUDE);
    assert_eq!(config(&sandbox)["mcpServers"].as_object().expect("servers").len(), 2);
    done(&sandbox, "undo");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
    fs::remove_dir_all(sandbox.path("bin")).expect("it goes");
    assert!(files(sandbox.home()) == before);
    // One that cannot be written from the start has nothing imported.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("a mode");
    assert_eq!(run(&sandbox, "install claude-code --take-over --force").code, Some(1));
    assert!(!sandbox.path(CONFIG).exists());
}

#[test]
fn a_projects_servers_are_not_taken() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(".mcp.json", "{\"mcpServers\": {\"build\": {\"command\": \"make\"}}}");
    let ran = run(&sandbox, "install claude-code --scope project --take-over");
    assert!(ran.code == Some(2) && ran.stderr.contains("manifold import"), "{ran:?}");
    let row = json_of(&sandbox, "install claude-code --scope project --json");
    assert_eq!(row["file"], json!(fs::canonicalize(&path).expect("the file")), "{row}");
    assert_eq!(names_in(&sandbox, "claude-code", ".mcp.json"), ["build", "manifold"]);
    assert!(!sandbox.path(".claude.json").exists());
    done(&sandbox, "uninstall claude-code --scope project");
    assert_eq!(names_in(&sandbox, "claude-code", ".mcp.json"), ["build"]);
}
