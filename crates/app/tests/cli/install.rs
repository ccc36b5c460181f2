//! `install`, `uninstall` and `undo` in a home of their own: every client that can be written, and the files that may not be.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

use manifold_config::{Environment, Scope, Writing, client, clients};
use manifold_testkit::{Sandbox, http};
use serde_json::{Value, json};

use crate::fake::{Ran, ran};

/// Runs a command where no client's own command is on `PATH`.
pub(crate) fn run(sandbox: &Sandbox, line: &str) -> Ran {
    let mut command = sandbox.manifold();
    command.env("PATH", sandbox.path("bin")).args(line.split(' ')).stdin(Stdio::null());
    ran(command)
}

#[track_caller]
pub(crate) fn done(sandbox: &Sandbox, line: &str) -> String {
    let ran = run(sandbox, line);
    assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    ran.stdout
}

#[track_caller]
pub(crate) fn json_of(sandbox: &Sandbox, line: &str) -> Value {
    let text = done(sandbox, line);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
}

pub(crate) fn environment(sandbox: &Sandbox) -> Environment {
    let vars = [("XDG_CONFIG_HOME".to_owned(), sandbox.path(".config").display().to_string())].into();
    let home = sandbox.home().to_owned();
    Environment { vars, home: Some(home.clone()), cwd: home, ..Environment::default() }
}

/// Every file below a folder, with what stands in it; our own state is left out.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(&one).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("below it").display().to_string();
            if [".local", ".cache", ".run"].iter().any(|own| name.starts_with(own)) {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                folders.push(path);
            } else {
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

/// Starts what an entry says, as a client would, and returns how many tools it lists.
fn listed(sandbox: &Sandbox, argv: &[String]) -> usize {
    let mut command = sandbox.command(&argv[0]);
    command.args(&argv[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the entry can be started");
    let mut input = child.stdin.take().expect("its input");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").expect("it reads");
    }
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let answers = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let answer = answers.into_iter().find(|answer| answer["id"] == 2).expect("an answer");
    drop(input);
    child.wait().expect("it ends");
    answer["result"]["tools"].as_array().expect("tools").len()
}

/// Returns the command of an entry, however the client spells it.
fn argv(entry: &Value) -> Vec<String> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let command = entry.get("command").or_else(|| entry.get("cmd")).expect("a command");
    match command.as_str() {
        Some(command) => [vec![command.to_owned()], texts(&entry["args"])].concat(),
        None => texts(command),
    }
}

// In, seen by what was written, out, and back, for every client whose file is written.
#[test]
fn every_client_gets_our_entry_and_loses_it_again() {
    let sandbox = Sandbox::new();
    let config = sandbox.write_config(&json!({"mcpServers": {"time": {"builtin": "time"}}}));
    let config = fs::canonicalize(config).expect("the config");
    let mut seen = 0;
    for one in clients().iter().filter(|client| client.writing() == Writing::File) {
        let before = files(sandbox.home());
        let line = format!("install {} --config {} --json", one.id(), config.display());
        let row = json_of(&sandbox, &line);
        let file = one.files(Scope::User, &environment(&sandbox)).swap_remove(0);
        assert_eq!((&row["client"], &row["changed"]), (&json!(one.id()), &json!(true)), "{row}");
        assert_eq!(row["file"], json!(file.display().to_string()));
        assert!(Path::new(row["backup"].as_str().expect("a backup")).join("record.json").is_file());
        let installed = files(sandbox.home());
        let text = fs::read_to_string(&file).expect("it was made");
        let entry = one.entry_in(&text, &file, "manifold").expect("it is read").expect("an entry");
        let argv = argv(&serde_json::from_str(&entry).expect("JSON"));
        assert!(Path::new(&argv[0]).is_absolute(), "{argv:?}");
        assert!(listed(&sandbox, &argv) > 0, "{}", one.id());
        let again = json_of(&sandbox, &line);
        assert_eq!((&again["changed"], &again["backup"]), (&json!(false), &Value::Null), "{again}");
        let row = json_of(&sandbox, &format!("uninstall {} --json", one.id()));
        assert_eq!(row["changed"], json!(true), "{row}");
        assert!(files(sandbox.home()) == before, "{}: uninstall leaves something", one.id());
        let undone = json_of(&sandbox, "undo --json");
        assert_eq!(undone["restored"], json!([file]), "{undone}");
        assert!(files(sandbox.home()) == installed, "{}", one.id());
        let undone = json_of(&sandbox, "undo --json");
        assert_eq!((&undone["removed"], &undone["left"]), (&json!([file]), &json!([])));
        assert!(files(sandbox.home()) == before, "{}: undo leaves something", one.id());
        seen += 1;
    }
    assert!(seen >= 24, "only {seen} clients can be written");
    assert_eq!(run(&sandbox, "undo").code, Some(1));
}

pub(crate) const CURSOR: &str = "{\r\n  // mine\r\n  \"mcpServers\": {\r\n    \"git\": {\"command\": \"git\", \"env\": {\"KEY\": \"s3cr3t-of-git\"}}\r\n  }\r\n}\r\n";

// What people see: which file, which lines, what the client will see; and a run that writes nothing.
#[test]
fn it_is_told_what_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {"time": {"builtin": "time"}}}));
    let path = sandbox.write(".cursor/mcp.json", CURSOR);
    let dry = done(&sandbox, "install cursor --dry-run");
    assert!(dry.contains("would become\n") && dry.contains("+     \"manifold\": {"), "{dry}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), CURSOR);
    assert!(!sandbox.path(".local/state/manifold/backups").exists());
    let told = done(&sandbox, "install cursor");
    assert!(told.contains("Cursor will see ") && told.contains(" tools\n"), "{told}");
    assert!(!told.contains("s3cr3t") && !told.contains("git"), "{told}");
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.contains("// mine\r\n") && text.contains("\"git\": {\"command\": \"git\""), "{text}");
    let list = done(&sandbox, "undo --list");
    assert!(list.contains("install cursor"), "{list}");
    let told = done(&sandbox, "undo");
    assert!(told.starts_with("undone: install cursor\n  restored "), "{told}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), CURSOR);
}

#[test]
fn files_that_may_not_be_written_are_refused_with_nothing_written() {
    let sandbox = Sandbox::new();
    let outside = tempfile::tempdir().expect("a folder");
    let theirs = outside.path().join("theirs.json");
    fs::write(&theirs, "{}").expect("a file");
    let cursor = sandbox.path(".cursor/mcp.json");
    let cases: [(&str, &dyn Fn()); 6] = [
        ("outside of the home folder", &|| symlink(&theirs, &cursor).expect("a link")),
        ("belongs to the system", &|| symlink("/etc/passwd", &cursor).expect("a link")),
        ("keep us from writing", &|| {
            fs::write(&cursor, "{}").expect("a file");
            fs::set_permissions(&cursor, fs::Permissions::from_mode(0o444)).expect("a mode");
        }),
        ("no regular file", &|| fs::create_dir(&cursor).expect("a folder")),
        ("more than 64 MiB", &|| {
            fs::File::create(&cursor).and_then(|file| file.set_len(100 << 20)).expect("a large file");
        }),
        ("never closed", &|| fs::write(&cursor, "{\"mcpServers\": {").expect("a file")),
    ];
    for (why, make) in cases {
        fs::create_dir_all(sandbox.path(".cursor")).expect("a folder");
        make();
        let before = (files(&sandbox.path(".cursor")), fs::read_to_string(&theirs).expect("a file"));
        for line in ["install cursor", "install cursor --dry-run", "install cursor --json"] {
            let ran = run(&sandbox, line);
            assert!(ran.code != Some(0) && ran.stderr.contains(why), "{line}: {ran:?}");
        }
        assert!(
            (files(&sandbox.path(".cursor")), fs::read_to_string(&theirs).expect("a file")) == before,
            "{why}"
        );
        fs::remove_dir_all(sandbox.path(".cursor")).expect("it goes");
    }
    assert_eq!(run(&sandbox, "undo").code, Some(1), "nothing was written");
}

#[test]
fn an_entry_of_somebody_else_is_not_touched() {
    let sandbox = Sandbox::new();
    let text = "{\"mcpServers\": {\"manifold\": {\"command\": \"other\"}}}";
    let path = sandbox.write(".cursor/mcp.json", text);
    for line in ["install cursor", "uninstall cursor"] {
        let ran = run(&sandbox, line);
        assert!(ran.code == Some(1) && ran.stderr.contains("another server of the name"), "{ran:?}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), text);
    }
    done(&sandbox, "install cursor --name plug --json");
    let both = fs::read_to_string(&path).expect("the file");
    assert!(both.contains("\"other\"") && both.contains("\"plug\""), "{both}");
    for name in ["a_b", "much-too-long-a-name", ""] {
        assert_ne!(run(&sandbox, &format!("install cursor --name={name}")).code, Some(0), "{name}");
        assert_eq!(run(&sandbox, &format!("install cursor --dry-run --name={name}")).code, Some(2), "{name}");
    }
}

// A client that rewrites its own file: what it wrote since stays, ours goes.
#[test]
fn undo_takes_only_our_entry_out_of_a_file_that_has_moved_on() {
    let sandbox = Sandbox::new();
    let path = sandbox
        .write(".claude.json", "{\"numStartups\": 1, \"mcpServers\": {\"git\": {\"command\": \"git\"}}}\n");
    done(&sandbox, "install claude-code --force --json");
    let written = fs::read_to_string(&path).expect("the file");
    fs::write(&path, written.replace("\"numStartups\": 1", "\"numStartups\": 2")).expect("a file");
    assert_eq!(json_of(&sandbox, "undo --json")["restored"], json!([path]));
    let text = fs::read_to_string(&path).expect("the file");
    let now: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(now, json!({"numStartups": 2, "mcpServers": {"git": {"command": "git"}}}));
}

/// Puts a program into the folder on `PATH` that does as the own command of Claude Code does.
pub(crate) fn own_command(sandbox: &Sandbox, script: &str) {
    let path = sandbox.write("bin/claude", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn the_clients_own_command_is_used_and_a_broken_one_stood_in_for() {
    let sandbox = Sandbox::new();
    let path = sandbox.write(".claude.json", "{\"numStartups\": 1}");
    own_command(
        &sandbox,
        "/bin/echo \"$@\" > \"$HOME/said\"\n/bin/echo \"{\\\"numStartups\\\": 2, \\\"mcpServers\\\": {\\\"$5\\\": $6}}\" > \"$HOME/.claude.json\"",
    );
    let row = json_of(&sandbox, "install claude-code --json");
    assert_eq!(row["changed"], json!(true));
    let said = fs::read_to_string(sandbox.path("said")).expect("it ran");
    assert!(said.starts_with("mcp add-json --scope user manifold {\"type\""), "{said}");
    assert!(fs::read_to_string(&path).expect("the file").contains("\"numStartups\": 2"));
    done(&sandbox, "undo");
    assert_eq!(fs::read_to_string(&path).expect("the file"), "{\"numStartups\": 1}");
    own_command(&sandbox, "echo 'no \u{1b}[31muse' >&2; exit 1");
    let ran = run(&sandbox, "install claude-code --force");
    assert!(ran.code == Some(0) && ran.stderr.contains("own command was of no use"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    let text = fs::read_to_string(&path).expect("the file");
    assert!(
        client("claude-code").expect("a client").entry_in(&text, &path, "manifold").expect("read").is_some()
    );
}

// The command is killed while the client writes, and nobody saw what it wrote.
#[test]
fn what_a_crash_left_half_done_is_undone() {
    let sandbox = Sandbox::new();
    let before = json!({"numStartups": 1, "mcpServers": {"git": {"command": "git"}}});
    let path = sandbox.write(".claude.json", &before.to_string());
    own_command(
        &sandbox,
        "/bin/echo '{\"numStartups\": 2, \"mcpServers\": {\"git\": {\"command\": \"git\"}, \"manifold\": {\"command\": \"/m\"}}}' > \"$HOME/.claude.json\"\nkill -9 $PPID",
    );
    assert_eq!(run(&sandbox, "install claude-code").code, None, "it was killed");
    assert_eq!(json_of(&sandbox, "undo --json")["restored"], json!([path]));
    let now: Value = serde_json::from_str(&fs::read_to_string(&path).expect("the file")).expect("JSON");
    assert_eq!(now, json!({"numStartups": 2, "mcpServers": {"git": {"command": "git"}}}));
}

#[test]
fn clients_are_named_or_asked_for() {
    let sandbox = Sandbox::new();
    assert_eq!(run(&sandbox, "install").code, Some(7), "none is here");
    sandbox.write(".cursor/mcp.json", "{}");
    sandbox.write(".codex/config.toml", "");
    let ran = run(&sandbox, "install");
    assert!(ran.code == Some(2) && ran.stderr.contains("codex, cursor"), "{ran:?}");
    let ran = run(&sandbox, "install cursr");
    assert!(ran.code == Some(7) && ran.stderr.contains("did you mean `cursor`?"), "{ran:?}");
    let rows = json_of(&sandbox, "install --all --json");
    let ids: Vec<&str> =
        rows.as_array().expect("rows").iter().filter_map(|row| row["client"].as_str()).collect();
    assert_eq!(ids, ["codex", "cursor"]);
    let undone = json_of(&sandbox, "undo --json");
    assert_eq!(undone["restored"].as_array().expect("files").len(), 2, "one command, one undo: {undone}");
    let ran = run(&sandbox, "install jetbrains");
    assert!(ran.code == Some(1) && ran.stderr.contains("--print"), "{ran:?}");
    assert!(done(&sandbox, "install jetbrains --print").contains("\"mcpServers\""));
    let printed = done(&sandbox, "install cursor --print");
    assert!(
        printed.contains("cursor://anysphere.cursor-deeplink/mcp/install?name=manifold&config="),
        "{printed}"
    );
}

// The token itself is in no file: the client is told of the variable.
#[test]
fn a_url_and_the_name_of_a_variable() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({
        "mcpServers": {"time": {"builtin": "time"}},
        "server": {"port": 4321, "token": "s3cr3t-that-is-long-enough"},
    }));
    sandbox.write(".cursor/mcp.json", "{}");
    done(&sandbox, "install cursor --http --json");
    let text = fs::read_to_string(sandbox.path(".cursor/mcp.json")).expect("the file");
    assert!(
        text.contains("http://127.0.0.1:4321/mcp") && text.contains("Bearer ${env:MANIFOLD_TOKEN}"),
        "{text}"
    );
    assert!(!text.contains("s3cr3t"), "{text}");
    let ran = run(&sandbox, "install cursor --http");
    assert!(ran.stdout.contains("would not get through: nobody answers at 127.0.0.1:4321"), "{ran:?}");
}

#[test]
fn what_is_seen_by_a_url() {
    let sandbox = Sandbox::new();
    let token = "s3cr3t-that-is-long-enough";
    let config = |port: u16| json!({"mcpServers": {"time": {"builtin": "time"}}, "server": {"port": port, "token": token}});
    let gateway = http::Gateway::start(&sandbox, &config(1), &[]);
    sandbox.write("config.json", &config(gateway.port).to_string());
    let path = sandbox.path("config.json").display().to_string();
    for (variable, said) in [(token, "Cursor will see "), ("wrong", "it wants a token: set MANIFOLD_TOKEN")] {
        let mut command = sandbox.manifold();
        command.args(["install", "cursor", "--http", "--config", &path]).env("MANIFOLD_TOKEN", variable);
        let ran = ran(command);
        assert!(ran.code == Some(0) && ran.stdout.contains(said), "{ran:?}");
        assert!(!format!("{ran:?}").contains(token), "{ran:?}");
    }
}
