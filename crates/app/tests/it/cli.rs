//! The command line: streams, exit codes, log levels; and what must never be said on any stream.
#![expect(clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use manifold_testkit::client::PATIENCE;
use manifold_testkit::{Client, Sandbox, bin, fake, until};
use serde_json::{Value, json};

/// A client's whole visit: it asks for nothing but a sign of life.
pub(crate) const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command with no input to its end.
pub(crate) fn run(command: Command) -> Ran {
    run_with(command, "")
}

/// Runs a command with this input to its end.
pub(crate) fn run_with(mut command: Command, input: &str) -> Ran {
    let (mut stdout, mut stderr) = (scratch(), scratch());
    command.stdin(Stdio::piped());
    command.stdout(stdout.try_clone().expect("a file can be shared"));
    command.stderr(stderr.try_clone().expect("a file can be shared"));
    let mut child = command.spawn().expect("the program starts");
    // One that ends without reading is no failure here.
    let _ = child.stdin.take().expect("stdin is piped").write_all(input.as_bytes());
    let mut status = None;
    until(PATIENCE, || {
        status = child.try_wait().expect("a child can be waited for");
        status.is_some()
    });
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let (stdout, stderr) = (content(&mut stdout), content(&mut stderr));
    let status = status.unwrap_or_else(|| panic!("{command:?} did not end; it said {stderr}"));
    Ran { code: status.code(), stdout, stderr }
}

/// Returns the path of our program under another name.
pub(crate) fn named(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.path(&format!("bin/{name}"));
    std::fs::create_dir_all(sandbox.path("bin")).expect("the folder can be made");
    symlink(bin("manifold"), &path).expect("a link can be made");
    path
}

/// Returns log lines without the time each begins with, which every log takes for itself.
pub(crate) fn without_times(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect()
}

/// Returns what was logged until service began: all about the config is in it.
pub(crate) fn logged_at_start(client: &Client) -> String {
    // An answer on stdout may be read before the log lines written earlier.
    assert!(until(PATIENCE, || client.stderr().contains("serving on stdio")), "{}", client.stderr());
    client.stderr()
}

fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

fn content(file: &mut File) -> String {
    let mut text = String::new();
    file.rewind().expect("a file can be read again");
    file.read_to_string(&mut text).expect("the output is UTF-8");
    text
}

fn manifold(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.manifold();
    command.args(args);
    run(command)
}

// Section 2.1: help shows modes and schema
#[test]
fn help_goes_to_stdout_and_shows_the_modes() {
    let sandbox = Sandbox::new();
    for args in [&["--help"][..], &["-h"], &["http", "--help"], &["serve", "--http", "--help"]] {
        let ran = manifold(&sandbox, args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        // `http` has chosen its mode: the help of a command lists what acts there (D10).
        let modes = if args[0] == "http" { &[][..] } else { &["--stdio", "--http"] };
        for word in ["--config", "--namespace", "--log-level"].iter().chain(modes) {
            assert!(ran.stdout.contains(word), "{args:?}: no {word} in {}", ran.stdout);
        }
    }
    let help = manifold(&sandbox, &["--help"]).stdout;
    assert!(help.contains("--schema=workspace"), "{help}");
    for command in ["serve", "stdio", "http", "status", "config", "tui"] {
        let names = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == command);
        assert!(help.lines().any(|line| line.starts_with("  ") && names(line)), "no {command} in {help}");
    }
}

// S1-9
#[test]
fn help_and_errors_stay_off_stdout_in_stdio_mode() {
    let sandbox = Sandbox::new();
    for args in
        [&["serve", "--help"][..], &["--stdio", "--help"], &["stdio", "-h"], &["--stdio", "--version"]]
    {
        let ran = manifold(&sandbox, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{args:?}");
        assert!(ran.stderr.contains("manifold"), "{args:?}: {}", ran.stderr);
    }
    let wrong = [
        &["serve", "--nonsense"][..],
        &["--stdio", "--nonsense"],
        &["serve", "--log-level", "loud"],
        &["serve", "--framing", "morse"],
        &["stdio", "--http"],
        &["--stdio", "--port", "1"],
        &["serve", "--config"],
        &["serve", "--profile", "mcps"],
    ];
    for args in wrong {
        let ran = manifold(&sandbox, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains("error"), "{args:?}: {}", ran.stderr);
    }
}

// S1-8
#[test]
fn the_version_is_the_builds() {
    let sandbox = Sandbox::new();
    for flag in ["--version", "-V"] {
        let ran = manifold(&sandbox, &[flag]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(ran.stdout, concat!("manifold ", env!("CARGO_PKG_VERSION"), "\n"));
    }
}

// Section 3: exit code 2 for usage; section 2.1: unknown option -> error
#[test]
fn what_is_wrong_with_the_line_is_named() {
    let sandbox = Sandbox::new();
    let cases = [
        (&["--nonsense"][..], "--nonsense"),
        (&["dance"], "dance"),
        (&["--profile", "mcps"], "mcps-proxy"),
        (&["--log-level", "loud"], "loud"),
        (&["--port", "70000"], "70000"),
        (&["http", "--stdio"], "--stdio"),
        (&["config"], "check"),
        // Decision 4
        (&["--profile", "mcps-proxy", "--http", "--schema", "x"], "--schema"),
    ];
    for (args, named) in cases {
        let ran = manifold(&sandbox, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains(named), "{args:?}: {}", ran.stderr);
    }
}

// S1-1
#[test]
fn the_terminal_interface_wants_a_terminal_and_starts_nothing_without_one() {
    let sandbox = Sandbox::new();
    let ran = manifold(&sandbox, &["tui"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("`tui` needs a terminal"), "{}", ran.stderr);
}

// S1-62
#[test]
fn the_end_of_input_is_a_clean_end() {
    let sandbox = Sandbox::new();
    for args in [&["serve"][..], &["serve", "--stdio"], &["stdio"], &["--stdio"]] {
        let mut command = sandbox.manifold();
        command.args(args);
        let ran = run_with(command, PING);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), PONG), "{args:?}: {}", ran.stderr);
    }
}

// Exit code 1: a failure that is nobody's mistake in writing. Section 2.1 (g): the port asked for is the real one
#[test]
fn a_port_that_is_taken_is_named() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    sandbox.write_config(&json!({"server": {"port": port}, "mcpServers": {}}));
    let by_config = manifold(&sandbox, &[]);
    sandbox.write_config(&json!({"server": {"port": 0}, "mcpServers": {}}));
    let by_flag = manifold(&sandbox, &["--http", "--port", &port.to_string()]);
    for ran in [by_config, by_flag] {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(ran.stderr.contains(&format!("127.0.0.1:{port}")), "{}", ran.stderr);
        assert!(ran.stderr.contains("--port"), "{}", ran.stderr);
    }
}

// Decision 24
#[test]
fn other_machines_are_not_served_without_a_token() {
    let sandbox = Sandbox::new();
    let ran = manifold(&sandbox, &["http", "--host", "0.0.0.0", "--port", "0"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("token"), "{}", ran.stderr);
}

/// Has every level said once, and returns those that were heard.
fn levels(command: impl FnOnce(&Sandbox) -> Command, logging: Value) -> Vec<&'static str> {
    let sandbox = Sandbox::new();
    // The unknown key is worth a warning.
    sandbox.write_config(&json!({"mcpServers": {}, "surprise": 1, "logging": logging}));
    let ran = run_with(command(&sandbox), PING);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), PONG), "{}", ran.stderr);
    let heard = |level: &&'static str| ran.stderr.lines().any(|line| line.contains(&format!(" {level} ")));
    ["WARN", "INFO", "DEBUG"].into_iter().filter(heard).collect()
}

fn serve<'a>(args: &'a [&'a str], variables: &'a [(&'a str, &'a str)]) -> impl FnOnce(&Sandbox) -> Command {
    move |sandbox| {
        let mut command = sandbox.manifold();
        command.arg("serve").args(args).envs(variables.iter().copied());
        command
    }
}

// S1-6
#[test]
fn the_log_level_comes_from_flag_then_environment_then_config() {
    let unset = json!({});
    assert_eq!(levels(serve(&[], &[]), unset.clone()), ["WARN", "INFO"]);
    for (level, heard) in [
        ("error", &[][..]),
        ("warn", &["WARN"]),
        ("info", &["WARN", "INFO"]),
        ("debug", &["WARN", "INFO", "DEBUG"]),
        ("trace", &["WARN", "INFO", "DEBUG"]),
    ] {
        assert_eq!(levels(serve(&["--log-level", level], &[]), unset.clone()), heard);
        assert_eq!(levels(serve(&["-l", level], &[]), unset.clone()), heard);
        assert_eq!(levels(serve(&[], &[("MANIFOLD_LOG_LEVEL", level)]), unset.clone()), heard);
        assert_eq!(levels(serve(&[], &[("MCP_LOG_LEVEL", level)]), unset.clone()), heard);
        assert_eq!(levels(serve(&[], &[]), json!({"level": level})), heard);
    }
    let both = [("MANIFOLD_LOG_LEVEL", "warn"), ("MCP_LOG_LEVEL", "debug")];
    assert_eq!(levels(serve(&["--log-level", "error"], &both), json!({"level": "debug"})), [""; 0]);
    assert_eq!(levels(serve(&[], &both), json!({"level": "debug"})), ["WARN"]);
    // What is no level changes nothing where it cannot be refused.
    assert_eq!(
        levels(serve(&[], &[("MANIFOLD_LOG_LEVEL", "loud")]), json!({"level": "loud"})),
        ["WARN", "INFO"]
    );
}

// Section 2.3: `-s`, `MCP_SILENT`; S2-20: `logging.console`
#[test]
fn silence_can_be_asked_for() {
    let unset = json!({});
    for flag in ["-s", "--silent"] {
        assert_eq!(levels(serve(&[flag], &[]), unset.clone()), [""; 0]);
    }
    assert_eq!(levels(serve(&[], &[("MCP_SILENT", "1")]), unset.clone()), [""; 0]);
    assert_eq!(levels(serve(&[], &[("MCP_SILENT", "true")]), unset.clone()), [""; 0]);
    assert_eq!(levels(serve(&[], &[("MCP_SILENT", "0")]), unset), ["WARN", "INFO"]);
    assert_eq!(levels(serve(&[], &[]), json!({"console": false})), [""; 0]);
}

// S1-58, decision 23
#[test]
fn at_debug_each_requests_method_is_logged() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.manifold();
    command.args(["serve", "--log-level", "debug"]);
    let ran = run_with(command, &PING.replace("ping", "some/method"));
    let logged = ran.stderr.lines().any(|line| line.contains("DEBUG") && line.contains("some/method"));
    assert!(logged, "{}", ran.stderr);
}

// S1-57
#[test]
fn json_logs_are_json_on_every_line() {
    for by_flag in [true, false] {
        let sandbox = Sandbox::new();
        let logging = if by_flag { json!({}) } else { json!({"format": "json"}) };
        let path = sandbox.write_config(&json!({"mcpServers": {}, "surprise": 1, "logging": logging}));
        let mut command = sandbox.manifold();
        command.args(["serve", "--log-level", "debug", "--config"]).arg(path);
        command.args(if by_flag { &["--log-format", "json"][..] } else { &[] });
        let ran = run_with(command, PING);
        let lines: Vec<Value> = ran
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
            .collect();
        for level in ["WARN", "INFO", "DEBUG"] {
            assert!(lines.iter().any(|line| line["level"] == level), "no {level}: {lines:#?}");
        }
        assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["message"].is_string()));
        assert!(lines.iter().any(|line| line["method"] == "ping"), "{lines:#?}");
    }
}

// S2-20: a log file where configured, in a folder that is made for it
#[test]
fn a_log_file_gets_what_stderr_gets() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&json!({"mcpServers": {}, "surprise": 1, "logging": {"file": "~/logs/deep/m.log"}}));
    let ran = run_with(serve(&[], &[])(&sandbox), PING);
    let file = std::fs::read_to_string(sandbox.path("logs/deep/m.log")).unwrap();
    assert_eq!(without_times(&file), without_times(&ran.stderr));
    assert!(file.contains("surprise"), "{file}");
}

// Trap (j): rotation was configured but never done
#[test]
fn a_log_file_is_rotated() {
    let sandbox = Sandbox::new();
    let logging = json!({"file": "~/logs/m.log", "maxSize": "2KB", "maxFiles": 3, "console": false});
    sandbox.write_config(&json!({"mcpServers": {}, "logging": logging}));
    let mut sizes = Vec::new();
    // A machine that is busy leaves lines out rather than have anybody wait, so it may take more than one run.
    for _ in 0..50 {
        let ran = run_with(serve(&["--log-level", "debug"], &[])(&sandbox), &PING.repeat(300));
        assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 300), "{}", ran.stderr);
        let files = std::fs::read_dir(sandbox.path("logs")).unwrap();
        sizes = files.map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
        if sizes.len() == 3 {
            break;
        }
    }
    assert_eq!(sizes.len(), 3, "{sizes:?}");
    // A line is never cut, so a file may be one line longer.
    assert!(sizes.iter().all(|size| *size < 2048 + 200), "{sizes:?}");
}

// Section 2.3: a logging failure must never disturb service
#[test]
fn a_log_file_that_cannot_be_written_disturbs_nobody() {
    let sandbox = Sandbox::new();
    sandbox.write("plain", "a file, not a folder");
    sandbox.write_config(&json!({"mcpServers": {}, "logging": {"file": "~/plain/m.log"}}));
    let ran = run_with(serve(&[], &[])(&sandbox), PING);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), PONG));
    assert!(ran.stderr.contains("log file cannot be written"), "{}", ran.stderr);
}

/// Returns a config with something secret wherever a secret may stand, and mistakes beside them.
fn secretive() -> Value {
    let mut good = fake(json!({"tools": [{"name": "fail"}, {"name": "echo"}]}));
    good["args"].as_array_mut().expect("args are a list").push(json!("--password=s3cr3t-argument"));
    good["env"] = json!({"KEY": "s3cr3t-literal", "TOKEN": "${HIDDEN}", "PORT": 5});
    json!({
        "server": {"token": "s3cr3t-token"},
        "surprise": "s3cr3t-unknown-key",
        "mcpServers": {
            "good": good,
            "crashing": {"command": "false", "args": ["s3cr3t-argument"], "env": {"K": "s3cr3t-literal"}},
            "gone": {"command": "no-such-program", "args": ["s3cr3t-argument", "${HIDDEN}"]},
            "remote": {"url": "https://me:s3cr3t-password@h.invalid/${HIDDEN}?key=s3cr3t-query",
                       "headers": {"Authorization": "Bearer s3cr3t-header", "X-Key": "${HIDDEN}"}},
            "split": {"url": "https://h.invalid/x", "headers": {"Authorization": "Bearer s3cr3t\nheader"}},
            "pasted": {"url": "https://h.invalid/x", "bearer_token_env_var": "s3cr3t pasted"},
            "address": {"url": "s3cr3t no address"},
            "wrong": {"command": "x", "env": {"A": ["s3cr3t-list"]}, "args": "s3cr3t-text"},
            "timed": {"builtin": "time", "timeout": "s3cr3t-wrong-type"},
            "half": {"url": "https://h.invalid/${UNSET}", "headers": {"X": "s3cr3t-${UNSET}"}},
        },
    })
}

// A secret of the config is in no log, however much is logged, and in no other output either
#[test]
fn secrets_are_never_said() {
    for format in ["text", "json"] {
        let sandbox = Sandbox::new();
        let path = sandbox.write_config(&secretive());
        let mut command = sandbox.manifold();
        command.env("HIDDEN", "s3cr3t-variable").args(["serve", "--log-level", "debug"]);
        command.args(["--log-format", format, "--config"]).arg(path);
        let mut client = Client::spawn(command);
        client.initialize("2025-06-18", json!({}));
        let mut said = client.ask("tools/list", json!({})).to_string();
        for server in ["good", "crashing", "gone", "remote", "split", "pasted", "address", "wrong", "half"] {
            said += &client.call(&format!("{server}__fail"), json!({"text": "no"})).to_string();
        }
        for tool in ["servers_list", "namespaces_list", "config_reload"] {
            said += &client.call(&format!("manifold__{tool}"), json!({})).to_string();
        }
        said += &client.call("manifold__server_logs", json!({"server_id": "crashing"})).to_string();
        client.close_stdin();
        assert!(client.wait_exit(PATIENCE).success());
        assert!(until(PATIENCE, || client.stderr().contains("stopped")), "{}", client.stderr());
        said += &client.stderr();
        assert!(said.contains("gone") && said.contains("starting"), "{said}");
        assert!(!said.contains("s3cr3t"), "{said}");
    }
}

#[test]
fn secrets_are_not_shown_by_commands_either() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&secretive());
    let commands = [
        &["status"][..],
        &["status", "--json"],
        &["list", "--json"],
        &["config", "check"],
        &["config", "check", "--json"],
        &["config", "show"],
    ];
    for args in commands {
        let mut command = sandbox.manifold();
        command.env("HIDDEN", "s3cr3t-variable").args(args);
        let ran = run(command);
        assert!(ran.stdout.contains("remote") || ran.stdout.contains("split"), "{args:?}: {ran:?}");
        assert!(!format!("{ran:?}").contains("s3cr3t"), "{args:?}: {ran:?}");
    }
}
