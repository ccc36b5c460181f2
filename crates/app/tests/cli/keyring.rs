//! A real keyring on a bus of its own: GNOME Keyring, as desktops have it. Left out where it is not installed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use manifold_testkit::{Client, OAuthFake, Sandbox, visit};
use serde_json::{Value, json};

use crate::fake::Ran;

const VALUE: &str = "hunter2-hunter2";
/// How often a bus or a keyring is looked for that comes up, 20 ms apart: a minute.
const TRIES: usize = 3000;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A desktop: a bus, and a home for the keyring's files.
struct Desktop {
    folder: tempfile::TempDir,
    _bus: Running,
}

impl Desktop {
    /// Starts one; none where it cannot be had.
    fn start() -> Option<Self> {
        for program in ["dbus-daemon", "dbus-send", "gnome-keyring-daemon"] {
            if Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_err()
            {
                return None;
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let bus = folder.path().join("bus");
        // No folder of services: nothing is started that the test did not start.
        let config = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
             <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>",
            bus.display()
        );
        std::fs::write(folder.path().join("bus.conf"), config).expect("it is written");
        let mut command = Command::new("dbus-daemon");
        command
            .arg(format!("--config-file={}", folder.path().join("bus.conf").display()))
            .args(["--nofork", "--nopidfile"]);
        let running = Running(command.stderr(Stdio::null()).spawn().expect("a bus"));
        let desktop = Self { folder, _bus: running };
        desktop.await_that("a bus", |desktop| {
            desktop.asked("org.freedesktop.DBus", "/", "org.freedesktop.DBus.GetId", &[]).is_some()
        });
        Some(desktop)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> String {
        format!("unix:path={}", self.path("bus").display())
    }

    /// Starts the keyring: with the password of its owner it is unlocked, and made if need be.
    fn keyring(&self, password: Option<&str>) -> Running {
        std::fs::create_dir_all(self.path("run")).expect("a folder");
        let mut command = Command::new("gnome-keyring-daemon");
        command.args(["--foreground", "--components=secrets"]);
        command.arg(format!("--control-directory={}", self.path("run").display()));
        command.args(password.map(|_| "--unlock"));
        command.env("DBUS_SESSION_BUS_ADDRESS", self.address()).env("XDG_RUNTIME_DIR", self.path("run"));
        command.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("home"));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a keyring");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(password.unwrap_or_default().as_bytes()).expect("it reads");
        drop(input);
        let running = Running(child);
        let expected = if password.is_some() { "boolean false" } else { "" };
        self.await_that("a keyring", |desktop| {
            let locked = desktop.asked(
                "org.freedesktop.secrets",
                "/org/freedesktop/secrets/aliases/default",
                "org.freedesktop.DBus.Properties.Get",
                &["string:org.freedesktop.Secret.Collection", "string:Locked"],
            );
            match password {
                Some(_) => locked.is_some_and(|answer| answer.contains(expected)),
                None => desktop.owns_name(),
            }
        });
        running
    }

    fn owns_name(&self) -> bool {
        let bus = "org.freedesktop.DBus";
        let answer =
            self.asked(bus, "/", "org.freedesktop.DBus.NameHasOwner", &["string:org.freedesktop.secrets"]);
        answer.is_some_and(|answer| answer.contains("boolean true"))
    }

    fn await_that(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..TRIES {
            if holds(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{what} has not come up");
    }

    fn asked(&self, whom: &str, path: &str, method: &str, more: &[&str]) -> Option<String> {
        let mut command = Command::new("dbus-send");
        command.arg(format!("--bus={}", self.address())).args([
            "--print-reply",
            &format!("--dest={whom}"),
            path,
            method,
        ]);
        let output = command.args(more).stderr(Stdio::null()).output().expect("it ends");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a verb in this desktop.
    fn run(&self, sandbox: &Sandbox, line: &str, input: &str) -> Ran {
        let mut command = sandbox.daemon();
        command.args(line.split(' ')).env("DBUS_SESSION_BUS_ADDRESS", self.address());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Signs in within this desktop, as somebody with a browser; something happens after the consent and before the
    /// answer comes. Nobody consents where it ends before.
    fn login(&self, sandbox: &Sandbox, meanwhile: impl FnOnce()) -> Ran {
        let mut command = sandbox.daemon();
        command.args(["login", "far", "--no-browser"]).env("DBUS_SESSION_BUS_ADDRESS", self.address());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut stderr, mut meanwhile) = (String::new(), Some(meanwhile));
        loop {
            let from = stderr.len();
            if said.read_line(&mut stderr).expect("it is read") == 0 {
                break;
            }
            let line = stderr[from..].trim();
            if line.starts_with("http")
                && let Some(meanwhile) = meanwhile.take()
            {
                let back = visit(line).expect("it answers").location.expect("an address");
                meanwhile();
                visit(&back).expect("it answers");
            }
        }
        let mut stdout = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("it is read");
        Ran { code: child.wait().expect("it ends").code(), stdout, stderr }
    }

    /// Starts a gateway in this desktop.
    fn gateway(&self, sandbox: &Sandbox) -> Client {
        let mut command = sandbox.manifold();
        command.args(["serve", "--stdio"]).env("DBUS_SESSION_BUS_ADDRESS", self.address());
        let mut client = Client::spawn(command);
        client.initialize("2025-11-25", json!({}));
        client
    }

    fn status(&self, sandbox: &Sandbox) -> Value {
        let ran = self.run(sandbox, "status --json", "");
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["secrets"].clone()
    }
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let server = json!({"command": "/bin/sh", "env": {"TOKEN": "${secret:TOKEN}"}});
    sandbox.write_config(&json!({"mcpServers": {"fx": server}}));
    sandbox
}

fn files(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.path(".local/share/manifold/credentials").read_dir();
    folder
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

/// Unlocked, dying, locked, and unlocked again: what was stored is there, and nothing else came in its place.
#[test]
fn the_key_is_in_the_keyring_and_a_keyring_that_fails_is_told_of() {
    let Some(desktop) = Desktop::start() else {
        return println!("skipped: there is no keyring to be had here");
    };
    let sandbox = sandbox();
    let keyring = desktop.keyring(Some("password"));
    let set = desktop.run(&sandbox, "secret set TOKEN --json", VALUE);
    assert_eq!(serde_json::from_str::<Value>(&set.stdout).expect("JSON")["key"], "keyring", "{set:?}");
    assert!(!set.stderr.contains("in clear"), "{set:?}");
    let stored =
        std::fs::read(sandbox.path(".local/share/manifold/credentials/secret.TOKEN")).expect("a file");
    assert!(!stored.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()));
    assert_eq!(
        desktop.status(&sandbox),
        json!({"stored": 1, "logins": 0, "key": "keyring", "protected": true})
    );
    assert!(desktop.run(&sandbox, "list", "").stdout.contains("fx  idle"));
    let rekeyed = desktop.run(&sandbox, "secret rekey --json", "");
    let said: Value = serde_json::from_str(&rekeyed.stdout).expect("JSON");
    assert_eq!(said, json!({"from": "keyring", "to": "keyring", "files": 1}), "{rekeyed:?}");
    assert!(desktop.run(&sandbox, "list", "").stdout.contains("fx  idle"));

    drop(keyring);
    check_unusable(&desktop, &sandbox, "there is no keyring here");
    let locked = desktop.keyring(None);
    check_unusable(&desktop, &sandbox, "the keyring is locked");
    // A store that is yet to be made waits for it, too: there is a keyring, so nothing is stored in clear.
    let other = self::sandbox();
    let refused = desktop.run(&other, "secret set TOKEN", VALUE);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the keyring is locked"), "{refused:?}");
    assert!(!files(&other).iter().any(|name| name.starts_with("secret.")));
    drop(locked);

    let _keyring = desktop.keyring(Some("password"));
    assert!(desktop.run(&sandbox, "list", "").stdout.contains("fx  idle"));
    assert_eq!(desktop.status(&sandbox)["problem"], Value::Null);
}

fn check_unusable(desktop: &Desktop, sandbox: &Sandbox, why: &str) {
    let before = files(sandbox);
    let status = desktop.status(sandbox);
    assert_eq!(status["key"], "keyring");
    assert!(status["problem"].as_str().is_some_and(|problem| problem.contains(why)), "{status}");
    for verb in ["secret set TOKEN", "secret set NEW", "secret rekey --to plain"] {
        let ran = desktop.run(sandbox, verb, "another-value");
        assert_eq!(ran.code, Some(1), "{verb}: {ran:?}");
        assert!(ran.stderr.contains(why), "{verb}: {ran:?}");
    }
    let listed = desktop.run(sandbox, "list", "");
    assert!(listed.stdout.contains("fx  failed") && listed.stdout.contains(why), "{listed:?}");
    assert_eq!(files(sandbox), before, "no second store");
}

#[test]
fn a_keyring_that_forgets_with_the_session_or_is_not_there_is_none() {
    let Some(desktop) = Desktop::start() else {
        return println!("skipped: there is no keyring to be had here");
    };
    let absent = sandbox();
    let set = desktop.run(&absent, "secret set TOKEN", VALUE);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(set.stderr.contains("in clear") && set.stderr.contains("there is no keyring here"), "{set:?}");
    let _keyring = desktop.keyring(None);
    let volatile = sandbox();
    let set = desktop.run(&volatile, "secret set TOKEN", VALUE);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(
        set.stderr.contains("in clear") && set.stderr.contains("forgets everything with the session"),
        "{set:?}"
    );
    for sandbox in [absent, volatile] {
        assert_eq!(desktop.status(&sandbox)["key"], "plain");
    }
}

/// A home with a server that one signs in to.
fn far() -> (Sandbox, OAuthFake) {
    let (sandbox, server) = (Sandbox::new(), OAuthFake::start());
    sandbox.write_config(&json!({"mcpServers": {"far": {"url": server.url()}}}));
    (sandbox, server)
}

fn whoami(client: &mut Client) -> Value {
    client.call("far__whoami", json!({}))["result"]["content"][0]["text"].clone()
}

/// Nobody is sent to a browser for what could not be kept; what somebody has consented to is kept; and what runs goes on.
#[test]
fn a_login_is_kept_whatever_becomes_of_the_keyring() {
    let Some(desktop) = Desktop::start() else {
        return println!("skipped: there is no keyring to be had here");
    };
    let (sandbox, server) = far();
    let keyring = desktop.keyring(Some("password"));
    // It dies after the consent, before there is anything in the store.
    let mut dying = Some(keyring);
    let ran = desktop.login(&sandbox, || drop(dying.take()));
    assert_eq!((ran.code, server.count("code")), (Some(0), 1), "{ran:?}");
    let stored = || {
        let mut names = files(&sandbox);
        names.retain(|name| name.starts_with("oauth.") && !name.ends_with(".lock"));
        names
    };
    assert_eq!(stored().len(), 1, "{:?}", files(&sandbox));
    let folder = sandbox.path(".local/share/manifold/credentials");
    let file = || std::fs::read(folder.join(&stored()[0])).expect("a file");
    for secret in server.secrets().iter().filter(|secret| !secret.is_empty()) {
        assert!(!file().windows(secret.len()).any(|part| part == secret.as_bytes()), "it is in clear");
    }
    // Without a keyring: said, and nobody is asked to consent to what would be lost.
    let before = (file(), files(&sandbox), server.count("authorize"));
    let status = desktop.status(&sandbox);
    assert_eq!((&status["key"], &status["logins"]), (&json!("keyring"), &json!(1)));
    assert!(status["problem"].as_str().is_some_and(|why| why.contains("no keyring here")), "{status}");
    let refused = desktop.login(&sandbox, || panic!("nobody consents"));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("there is no keyring here"), "{refused:?}");
    let mut client = desktop.gateway(&sandbox);
    let told = client.call("far__whoami", json!({}));
    assert_eq!(told["error"]["data"]["state"], "store failed", "{told}");
    drop(client);
    // Locked, as well.
    let locked = desktop.keyring(None);
    let refused = desktop.login(&sandbox, || panic!("nobody consents"));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the keyring is locked"), "{refused:?}");
    assert_eq!((file(), files(&sandbox), server.count("authorize")), before, "no second store");
    drop(locked);
    // Unlocked, it is there again; and a gateway that has its key renews and keeps what it gets, keyring or not.
    let keyring = desktop.keyring(Some("password"));
    let mut client = desktop.gateway(&sandbox);
    assert_eq!(whoami(&mut client), "somebody");
    drop(keyring);
    server.refuse_tokens();
    assert_eq!(whoami(&mut client), "somebody");
    assert_eq!((server.count("refresh"), server.count("reuse")), (1, 0));
    drop(client);
    let _keyring = desktop.keyring(Some("password"));
    let mut client = desktop.gateway(&sandbox);
    assert_eq!(whoami(&mut client), "somebody", "what was renewed is in the store");
    assert_eq!((server.count("refresh"), server.count("reuse"), server.count("code")), (1, 0, 1));
}

/// Where there is none, or one that forgets with the session, a login lies in clear, once said, and `status` says it.
#[test]
fn without_a_keyring_a_login_is_in_clear_and_said_to_be() {
    let Some(desktop) = Desktop::start() else {
        return println!("skipped: there is no keyring to be had here");
    };
    let absent = far();
    let mut volatile = None;
    for why in ["there is no keyring here", "forgets everything with the session"] {
        let (sandbox, server) = if volatile.is_none() { &absent } else { &far() };
        let ran = desktop.login(sandbox, || {});
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("in clear") && ran.stderr.contains(why), "{ran:?}");
        let status = desktop.status(sandbox);
        assert_eq!((&status["key"], &status["logins"]), (&json!("plain"), &json!(1)), "{status}");
        let again = desktop.login(sandbox, || {});
        assert!(!again.stderr.contains("in clear"), "once is enough: {again:?}");
        assert_eq!(server.count("code"), 2);
        volatile.get_or_insert_with(|| desktop.keyring(None));
    }
    // A keyring that comes later makes no second store beside the first.
    drop(volatile);
    let _keyring = desktop.keyring(Some("password"));
    let (sandbox, _) = &absent;
    assert_eq!(desktop.login(sandbox, || {}).code, Some(0));
    assert_eq!(desktop.status(sandbox)["key"], "plain");
    assert!(desktop.run(sandbox, "status", "").stdout.contains("plain"), "people are told as well");
}
