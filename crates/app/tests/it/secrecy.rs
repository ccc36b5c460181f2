//! M10 and M11: what servers and onlookers learn of secrets.
#![expect(clippy::expect_used, clippy::print_stderr, reason = "helpers of tests fail and speak as tests do")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use manifold_testkit::http::Gateway;
use manifold_testkit::processes::descendants;
use manifold_testkit::{Client, Sandbox, bin, until};
use serde_json::{Value, json};

use crate::studio::{STUDIO, fake_with, json_of, studio, text_of};

const SOON: Duration = Duration::from_secs(60);
const TOKEN: &str = "tok-3c0ffee5afe9";
const SECRET: &str = "s3cr/t+of the other";
/// An ordinary user and group.
const NOBODY: u32 = 65534;

/// Gives a folder and all in it to the ordinary user.
fn give_away(folder: &Path) {
    chown(folder, Some(NOBODY), Some(NOBODY)).expect("root may give away");
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            give_away(&path);
        } else {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("root may give away");
        }
    }
}

/// Copies a program to where the ordinary user can run it.
fn copied(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let copy = sandbox.path(name);
    fs::copy(bin(name), &copy).expect("a program can be copied");
    copy
}

/// Starts the gateway as an ordinary user; none where that cannot be done.
fn as_nobody(sandbox: &Sandbox, config: &Value) -> Option<Client> {
    if !nix::unistd::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!(
            "SKIPPED: only root with setpriv can become an ordinary user, and only that proves anything"
        );
        return None;
    }
    let manifold = copied(sandbox, "manifold");
    let path = sandbox.write_config(config);
    give_away(sandbox.home());
    let mut command = sandbox.command("setpriv");
    let ordinary = NOBODY.to_string();
    command.args(["--reuid", &ordinary, "--regid", &ordinary, "--clear-groups"]).arg(manifold);
    command.args(["serve", "--stdio", "--config"]).arg(path).args(STUDIO);
    command.env("MANIFOLD_TOKEN", TOKEN).env("MANIFOLD_EXTRA", TOKEN).env("OUTER_KEY", TOKEN);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    Some(client)
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

// M10: neither by the environment, nor by memory or descriptors
#[test]
fn a_server_learns_nothing_from_gateway_guard_and_keepers() {
    let sandbox = Sandbox::new();
    let program = copied(&sandbox, "fake-server");
    let server = |tools: &[&str]| {
        let mut server = fake_with(tools, json!({}));
        server["command"] = json!(program);
        server
    };
    let (mut spy, mut other) = (server(&["spy", "env"]), server(&["env"]));
    spy["inheritEnv"] = json!(false);
    other["env"] = json!({"OTHER_SECRET": SECRET});
    let Some(mut client) = as_nobody(&sandbox, &json!({"mcpServers": {"spy": spy, "other": other}})) else {
        return;
    };
    assert_eq!(text_of(&client.call("other.env", json!({"name": "OTHER_SECRET"}))), SECRET);
    assert_eq!(text_of(&client.call("other.env", json!({"name": "OUTER_KEY"}))), TOKEN);
    assert_eq!(text_of(&client.call("spy.env", json!({"name": "MANIFOLD_TOKEN"}))), "unset");
    let all = descendants(client.pid());
    let (ours, servers): (Vec<u32>, Vec<u32>) =
        all.into_iter().partition(|pid| matches!(name_of(*pid).as_str(), "mcp-guard" | "mcp-keeper"));
    assert_eq!((ours.len(), servers.len()), (3, 2), "a guard, two keepers, two servers");
    let ours: Vec<u32> = ours.into_iter().chain([client.pid()]).collect();

    let texts = json!([TOKEN, SECRET]);
    let seen = json_of(&client.call("spy.spy", json!({"pids": ours, "texts": texts})));
    assert_eq!(seen, json!({"opened": [], "found": []}));
    // The test sees what there is to see: a server is as open to its equals as any process of theirs.
    let seen = json_of(&client.call("spy.spy", json!({"pids": servers, "texts": texts}))).to_string();
    for what in ["/environ", "/mem", "/fd/0"] {
        assert!(seen.contains(what), "{what} in {seen}");
    }
    assert!(seen.contains(&format!("/environ: {SECRET}")), "{seen}");
}

// M10: as root, who sees all, the block that the kernel shows is empty of what was meant for us
#[test]
fn our_own_variables_are_wiped_once_read() {
    let sandbox = Sandbox::new();
    let mut entry = fake_with(&["env"], json!({}));
    entry["inheritEnv"] = json!(["MANIFOLD_EXTRA"]);
    let path = sandbox.write_config(&json!({"mcpServers": {"alpha": entry}}));
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--config"]).arg(path).args(STUDIO);
    command.env("MANIFOLD_TOKEN", TOKEN).env("MANIFOLD_EXTRA", "extra-value").env("PLAIN", "plain-value");
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    // What a server is to have of it by name, it gets all the same.
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "MANIFOLD_EXTRA"}))), "extra-value");
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "MANIFOLD_TOKEN"}))), "unset");
    match fs::read(format!("/proc/{}/environ", client.pid())) {
        Ok(shown) => {
            let shown = String::from_utf8_lossy(&shown).into_owned();
            assert!(shown.contains("plain-value") && shown.contains("MANIFOLD_TREE="), "{shown}");
            assert!(!shown.contains(TOKEN) && !shown.contains("extra-value"), "{shown}");
        }
        Err(error) => eprintln!("not even we may look: {error}"),
    }
}

// M10: a variable that the config makes a secret of ours is ours alone, and names the same after a reload
#[test]
fn what_lets_in_at_the_door_is_passed_on_to_no_server() {
    const DOOR: [&str; 4] = ["CI_TOKEN", "DOOR_TOKEN", "CLIENT_SECRET", "ASKING_SECRET"];
    let sandbox = Sandbox::new();
    let plain = fake_with(&["env"], json!({}));
    let (mut named, mut inherited) = (plain.clone(), plain.clone());
    named["env"] = json!({"MINE": "${CI_TOKEN}"});
    inherited["inheritEnv"] = json!(["CI_TOKEN"]);
    let remote = json!({"url": "http://127.0.0.1:9/mcp", "oauth": {"clientId": "c", "clientSecret": "${CLIENT_SECRET}"}});
    let asked = json!({"url": "http://127.0.0.1:9/i", "clientId": "c", "clientSecret": "${ASKING_SECRET}"});
    let mut config = json!({
        "mcpServers": {"plain": plain, "named": named, "inherited": inherited, "far": remote},
        "server": {
            "token": "${DOOR_TOKEN}",
            "tokens": {"ci": {"env": "CI_TOKEN"}},
            "auth": {"issuer": "http://127.0.0.1:9", "introspection": asked}
        }
    });
    let path = sandbox.write_config(&config);
    let mut command = sandbox.manifold();
    command
        .args(["serve", "--stdio", "--config"])
        .arg(path)
        .args(STUDIO)
        .env("LATER", "later-value")
        .env("OTHER", "other-value");
    for name in DOOR {
        command.env(name, format!("{TOKEN}-{name}"));
    }
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    let seen = |client: &mut Client, server: &str, name: &str| {
        text_of(&client.call(&format!("{server}.env"), json!({"name": name}))).to_owned()
    };
    for name in DOOR {
        assert_eq!(seen(&mut client, "plain", name), "unset", "{name}");
    }
    assert_eq!(seen(&mut client, "plain", "OTHER"), "other-value");
    assert_eq!(seen(&mut client, "named", "MINE"), format!("{TOKEN}-CI_TOKEN"));
    assert_eq!(seen(&mut client, "named", "CI_TOKEN"), "unset");
    assert_eq!(seen(&mut client, "inherited", "CI_TOKEN"), format!("{TOKEN}-CI_TOKEN"));
    match fs::read(format!("/proc/{}/environ", client.pid())) {
        Ok(shown) => {
            let shown = String::from_utf8_lossy(&shown).into_owned();
            assert!(shown.contains("other-value") && !shown.contains(TOKEN), "{shown}");
        }
        Err(error) => eprintln!("not even we may look: {error}"),
    }
    // One that is named later is passed on no more, and those from before are still known.
    assert_eq!(seen(&mut client, "plain", "LATER"), "later-value");
    config["server"]["tokens"]["later"] = json!({"env": "LATER"});
    sandbox.write_config(&config);
    assert!(until(SOON, || seen(&mut client, "plain", "LATER") == "unset"), "{}", client.stderr());
    assert_eq!(seen(&mut client, "named", "MINE"), format!("{TOKEN}-CI_TOKEN"));
}

/// A server that says its secrets in every way and ends.
fn blabber() -> Value {
    let script = r#"
        echo "key $KEY, $(printf %s "user:$KEY" | base64 -w0), s3cr%2Ft%2Bof%20the%20other" >&2
        echo "in $FOLDER with $SHORT, $SEARCH_PATH" >&2
        exit 3
    "#;
    let env = json!({"KEY": SECRET, "FOLDER": "/usr/bin", "SHORT": "abcdefg", "SEARCH_PATH": "/opt/nowhere"});
    json!({"command": "/bin/sh", "args": ["-c", script], "env": env})
}

fn check_hidden(what: &str, text: &str) {
    let forms = [SECRET, "s3cr%2Ft", "c2VyOnMzY3IvdCtvZiB0aGUgb3RoZ", "zM2NyL3Qrb2YgdGhlIG90aGVy"];
    for form in forms {
        assert!(!text.contains(form), "{form} in {what}: {text}");
    }
    assert!(text.contains("key ***, "), "{what}: {text}");
    assert!(text.contains("in /usr/bin with abcdefg, /opt/nowhere"), "{what}: {text}");
}

// M11: the client's error, server_logs, servers_list, standard error and the log file
#[test]
fn what_we_repeat_of_a_server_has_no_secret_in_it() {
    let sandbox = Sandbox::new();
    let log = sandbox.write("logs/manifold.log", "old\n");
    fs::write(sandbox.path("logs/manifold.log.1"), "older\n").expect("a file");
    for name in ["logs/manifold.log", "logs/manifold.log.1"] {
        fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(0o644)).expect("a mode");
    }
    let config = json!({"mcpServers": {"blabber": blabber()}, "logging": {"file": log, "level": "debug"}});
    let mut client = studio(&sandbox, &config);
    let answer = client.call("blabber.any", json!({}));
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
    check_hidden("the message", answer["error"]["message"].as_str().unwrap_or_default());
    check_hidden("data.reason", answer["error"]["data"]["reason"].as_str().unwrap_or_default());
    let logs = client.call("mcp-studio.server_logs", json!({"server_id": "blabber"}));
    check_hidden("server_logs", text_of(&logs));
    let listed = client.call("mcp-studio.servers_list", json!({}));
    check_hidden("servers_list", text_of(&listed));
    let started = client.call("mcp-studio.servers_start", json!({"server_id": "blabber"})).to_string();
    check_hidden("servers_start", &started);
    assert!(until(SOON, || client.stderr().contains("failed to start")));
    check_hidden("standard error", &client.stderr());
    let written = || fs::read_to_string(&log).unwrap_or_default();
    assert!(until(SOON, || written().contains("failed to start")));
    check_hidden("the log file", &written());
    for name in ["logs/manifold.log", "logs/manifold.log.1"] {
        let mode = fs::metadata(sandbox.path(name)).expect("the log").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

// M11: the status that anybody may ask for
#[test]
fn the_status_has_no_secret_in_it() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &json!({"mcpServers": {"blabber": blabber()}}), &["--eager"]);
    let mut shown = String::new();
    let failed = until(SOON, || {
        shown = gateway.ask("GET", "/api/status", &[], "").text();
        shown.contains("failed to start")
    });
    assert!(failed, "{shown}");
    check_hidden("/api/status", &shown);
}

// M11: results, errors and notifications are the server's own
#[test]
fn what_a_server_answers_passes_unchanged() {
    let sandbox = Sandbox::new();
    let mut entry = fake_with(&["env", "rpcerror", "log", "fail"], json!({}));
    entry["env"] = json!({"KEY": SECRET});
    let mut client = studio(&sandbox, &json!({"mcpServers": {"alpha": entry}}));
    assert_eq!(text_of(&client.call("alpha.env", json!({"name": "KEY"}))), SECRET);
    let error = client.call("alpha.rpcerror", json!({"message": SECRET, "data": {"k": SECRET}}));
    assert_eq!((&error["error"]["message"], &error["error"]["data"]["k"]), (&json!(SECRET), &json!(SECRET)));
    assert_eq!(text_of(&client.call("alpha.fail", json!({"text": SECRET}))), SECRET);
    client.call("alpha.log", json!({"data": SECRET}));
    let told = client.wait_for_notification("notifications/message", SOON);
    assert_eq!(told["params"]["data"], SECRET);
}

// At the finest level of the log, and in what a server is started with.
#[test]
fn neither_a_stored_secret_nor_its_key_is_logged_or_handed_on() {
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let sandbox = Sandbox::new();
    let mut store = sandbox.manifold();
    store.args(["secret", "set", "STORED"]).env("MANIFOLD_KEY", KEY).stdin(std::process::Stdio::piped());
    let mut child = store.stdout(std::process::Stdio::null()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, SECRET.as_bytes()).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    let mut server = fake_with(&["env"], json!({}));
    server["env"] = json!({"STORED": "${secret:STORED}"});
    let log = sandbox.path("finest.log");
    let config = json!({"mcpServers": {"fx": server}, "logging": {"level": "trace", "file": log}});
    let path = sandbox.write_config(&config);
    let mut command = sandbox.manifold();
    command.args(["serve", "--stdio", "--log-level", "trace", "--config"]).arg(path).env("MANIFOLD_KEY", KEY);
    let mut client = Client::spawn(command);
    client.initialize("2025-06-18", json!({}));
    assert_eq!(text_of(&client.call("fx__env", json!({"name": "STORED"}))), SECRET);
    let key = client.call("fx__env", json!({"name": "MANIFOLD_KEY"})).to_string();
    assert!(!key.contains(KEY), "{key}");
    drop(client);
    let log = fs::read_to_string(log).expect("a log");
    assert!(!log.is_empty() && !log.contains(KEY) && !log.contains(SECRET), "{log}");
}
