//! Twelve kinds of secrets, and every place where one could be seen: logs, arguments, variables, what verbs say, errors,
//! files, and what is left of a process that breaks.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use manifold_testkit::http::{Gateway, calling, http_command};
use manifold_testkit::issuer_fake::private_key;
use manifold_testkit::{Misbehaviour, OAuthFake, Sandbox, until, visit};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Login, PATIENCE};

/// 32 bytes, as a file holds them.
const KEY: &str = "Y2FuYXJ5LW9mLXRoZS1rZXktdGhhdC1zZWFscy1pdCE=";
const STATIC: &str = "canary-static-0123456789abcdef0123456789abcdef";

/// All that is to be seen of a home, gathered.
struct Seen<'s> {
    sandbox: &'s Sandbox,
    key_file: &'s str,
    text: String,
}

impl Seen<'_> {
    /// A command whose store has a key, and which logs whatever it can.
    fn command(&self) -> Command {
        let mut command = self.sandbox.manifold();
        command.env("MANIFOLD_LOG_LEVEL", "trace").env("MANIFOLD_KEY_FILE", self.key_file);
        command.stdin(Stdio::null());
        command
    }

    fn run(&mut self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        self.text.push_str(&stdout);
        self.text.push_str(&String::from_utf8_lossy(&output.stderr));
        stdout
    }

    /// Looks at the arguments and variables of whatever runs.
    fn look_at_processes(&mut self) {
        for pid in self.sandbox.processes() {
            for file in ["cmdline", "environ"] {
                let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                self.text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }

    /// Takes up how a login ended; the address to open is told, with its state, and to nobody else.
    fn ended(&mut self, login: Login, url: &str) {
        let ended = login.end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        self.text.push_str(&ended.stdout);
        self.text.push_str(&ended.stderr.replace(url, ""));
    }
}

/// Has a program leave a core, as far as it lets itself be looked at.
fn with_cores(command: &Command, sandbox: &Sandbox) -> Command {
    let mut shell = sandbox.command("/bin/sh");
    shell.args(["-c", "ulimit -c unlimited; exec \"$@\"", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

fn files_below(folder: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), visit),
            Ok(kind) if kind.is_file() => visit(&entry.path()),
            _ => {}
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

// Row 20 of signing in.
#[test]
fn none_of_twelve_secrets_is_seen_anywhere() {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    let pem = private_key();
    let key_file = sandbox.write_private("store.key", KEY);
    let given = [("machine.pem", pem.as_str()), ("door.token", STATIC)];
    let [pem_file, token_file] = given.map(|(name, text)| sandbox.write_private(name, text));
    let machine = json!({"grant": "client_credentials", "clientId": "machine", "privateKey": pem_file});
    let config = json!({
        "mcpServers": {
            "far": {"url": server.url()},
            "machine": {"url": server.url(), "oauth": machine},
        },
        "server": {"tokens": {"door": {"file": token_file}}},
    });
    sandbox.write_config(&config);
    let mut seen = Seen { sandbox: &sandbox, key_file: &key_file, text: String::new() };

    // By a browser, and by a device.
    let mut login = Login::start_as(seen.command(), &["--no-browser", "--verbose"]);
    let url = login.url();
    seen.look_at_processes();
    let back = visit(&url).unwrap().location.unwrap();
    assert_eq!(visit(&back.replace("iss=", "iss=x")).unwrap().status, 400);
    visit(&back).unwrap();
    seen.ended(login, &url);
    let mut login = Login::start_as(seen.command(), &["--device", "--account", "phone", "--verbose"]);
    login.line(|line| line == "WDJB-MJHT");
    seen.look_at_processes();
    server.approve_devices();
    seen.ended(login, "\0");
    let created = seen.command().args(["token", "create", "ci"]).output().unwrap();
    let created = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    assert!(created.starts_with("mfd_"), "{created}");

    // A gateway that has them all in use, and every reason to speak of them.
    let more = ["--log-level", "trace", "--key-file", &key_file];
    let command = with_cores(&http_command(&sandbox, &config, &more), &sandbox);
    let mut gateway: Gateway = crate::front_door::spawn(command);
    let call = |token: &str, tool: &str| {
        let bearer = format!("Bearer {token}");
        let body = calling(1, "tools/call", json!({"name": tool, "arguments": {}}));
        gateway.ask("POST", "/api/default/mcp", &[("Authorization", &bearer)], &body)
    };
    let whoami = |token: &str, tool: &str| -> Value {
        let answer = call(token, tool).json();
        answer["result"]["content"][0]["text"].clone()
    };
    assert!(until(PATIENCE, || whoami(&created, "far__whoami") == "somebody"));
    assert_eq!(whoami(STATIC, "machine__whoami"), "machine");
    seen.text.push_str(&call("wrong-token-of-somebody", "far__whoami").text());
    server.refuse_tokens();
    assert_eq!(whoami(STATIC, "far__whoami"), "somebody");
    server.misbehave(Some(Misbehaviour::Broken));
    server.refuse_tokens();
    for tool in ["far__whoami", "machine__whoami"] {
        seen.text.push_str(&call(STATIC, tool).text());
    }
    server.misbehave(None);
    server.forget_sign_ins();
    assert!(until(PATIENCE, || {
        let answer = call(STATIC, "far__whoami").text();
        seen.text.push_str(&answer);
        answer.contains("login expired")
    }));
    let authorized = format!("Bearer {STATIC}");
    seen.text.push_str(&gateway.ask("GET", "/api/status", &[("Authorization", &authorized)], "").text());
    seen.look_at_processes();
    for args in [
        &["status", "--json"][..],
        &["status"],
        &["list", "--json"],
        &["get", "far", "--json"],
        &["get", "machine", "--json"],
        &["token", "list", "--json"],
        &["secret", "list", "--json"],
        &["config", "show"],
        &["doctor", "--json"],
        &["logout", "far"],
    ] {
        assert!(!seen.run(args).is_empty(), "{args:?}");
    }
    // What breaks leaves nothing behind.
    gateway.signal(Signal::SIGABRT);
    let status = gateway.client.wait_exit(PATIENCE);
    assert!(status.signal().is_some() && !status.core_dumped(), "{status:?}");
    seen.text.push_str(&gateway.client.stderr());

    let mut canaries = server.secrets();
    for (kind, least) in [
        ("canary-access", 4),
        ("canary-refresh", 4),
        ("canary-id-token", 4),
        ("canary-code", 1),
        ("canary-client-secret", 1),
        ("canary-registration", 1),
        ("canary-device", 1),
        // Assertions.
        ("eyJ", 1),
    ] {
        let of_kind = canaries.iter().filter(|canary| canary.starts_with(kind)).count();
        assert!(of_kind >= least, "{kind}: {of_kind}");
    }
    let raw = canaries.iter().filter(|one| !one.starts_with("canary") && !one.starts_with("eyJ")).count();
    assert!(raw >= 2, "a state and a verifier");
    let pem_line = pem.lines().nth(1).unwrap().to_owned();
    canaries.extend([STATIC.to_owned(), created, KEY.trim_end_matches('=').to_owned(), pem_line]);
    canaries.extend(server.secrets().iter().filter_map(|one| Some(one.rsplit_once('.')?.1.to_owned())));
    canaries.retain(|canary| !canary.is_empty());
    let mut hits = Vec::new();
    for canary in &canaries {
        if seen.text.contains(canary.as_str()) {
            hits.push(format!("{canary} is shown"));
        }
    }
    let mut files = 0;
    files_below(sandbox.home(), &mut |path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ["store.key", "machine.pem", "door.token"].contains(&name.as_str()) {
            return;
        }
        files += 1;
        let bytes = fs::read(path).unwrap_or_default();
        let found = canaries.iter().filter(|canary| contains(&bytes, canary));
        hits.extend(found.map(|canary| format!("{canary} is in {}", path.display())));
    });
    assert!(hits.is_empty(), "{hits:#?}");
    assert!(files > 3 && seen.text.len() > 10_000, "{files} files, {} bytes", seen.text.len());
    println!("{} canaries, {files} files, {} bytes shown: 0 hits", canaries.len(), seen.text.len());
}
