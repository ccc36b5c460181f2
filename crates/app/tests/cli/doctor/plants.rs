//! Problems, each with how it comes about.

use std::fs::{File, Permissions, create_dir_all, set_permissions};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use manifold_testkit::{Sandbox, bin, fake};
use serde_json::{Value, json};

use super::healthy;
use crate::fake::Gateway;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// No process has this number.
const NOBODY: u32 = 999_999_999;

pub(super) struct Plant {
    pub(super) id: &'static str,
    pub(super) home: fn() -> Sandbox,
    pub(super) plant: fn(&Sandbox) -> Planted,
    /// `--fix` mends it.
    pub(super) is_mended: bool,
}

/// What a planted problem needs to stay, and what `doctor` is run with.
#[derive(Default)]
pub(super) struct Planted {
    pub(super) variables: Vec<(String, String)>,
    pub(super) arguments: Vec<String>,
    _listener: Option<TcpListener>,
    _process: Option<Running>,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn plant(id: &'static str, plant: fn(&Sandbox) -> Planted) -> Plant {
    Plant { id, home: healthy, plant, is_mended: false }
}

fn mended(id: &'static str, plant: fn(&Sandbox) -> Planted) -> Plant {
    Plant { id, home: healthy, plant, is_mended: true }
}

fn config(sandbox: &Sandbox, config: Value) -> Planted {
    sandbox.write_config(&config);
    Planted::default()
}

fn server(sandbox: &Sandbox, server: Value) -> Planted {
    config(sandbox, json!({"mcpServers": {"x": server}}))
}

fn mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

/// Makes a folder of ours, closed to others.
fn folder(sandbox: &Sandbox, relative: &str) {
    create_dir_all(sandbox.path(relative)).expect("a folder");
    mode(&sandbox.path(relative), 0o700);
}

/// Stores a secret with a key that is given.
fn stored(sandbox: &Sandbox) -> Planted {
    store(sandbox, &[("MANIFOLD_KEY", KEY)]);
    Planted { variables: vec![("MANIFOLD_KEY".to_owned(), KEY.to_owned())], ..Planted::default() }
}

fn store(sandbox: &Sandbox, variables: &[(&str, &str)]) {
    let mut command = sandbox.daemon();
    command.args(["secret", "set", "TOKEN"]).envs(variables.iter().copied());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"hunter2-hunter2").expect("it reads");
    assert!(child.wait().expect("it ends").success());
}

fn secret(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path(".local/share/manifold/credentials/secret.TOKEN")
}

/// Makes a large file that takes no room.
fn large(sandbox: &Sandbox, relative: &str) -> Planted {
    let path = sandbox.write(relative, "");
    File::options().write(true).open(path).and_then(|file| file.set_len(2 << 30)).expect("a sparse file");
    Planted::default()
}

/// Starts a process that waits, in this home.
fn waiting(sandbox: &Sandbox, name: &str, words: &[&str], variables: &[(&str, String)]) -> Planted {
    let mut command = Command::new("/bin/sh");
    command.arg0(name).args(["-c", "read line"]).args(words);
    command
        .env_clear()
        .env("HOME", sandbox.home())
        .envs(variables.iter().map(|(name, value)| (*name, value)));
    let child = command.stdin(Stdio::piped()).spawn().expect("a shell starts");
    Planted { _process: Some(Running(child)), ..Planted::default() }
}

/// Has Cursor know these servers.
fn cursor(sandbox: &Sandbox, servers: Value) -> Planted {
    sandbox.write(".cursor/mcp.json", &json!({"mcpServers": servers}).to_string());
    Planted::default()
}

fn ours() -> Value {
    json!({"command": bin("manifold"), "args": ["serve", "--stdio"]})
}

/// A gateway with nothing to start, which says this of itself.
fn gateway(about: Value) -> Sandbox {
    let config = json!({"mcpServers": {"git": {"builtin": "time", "disabled": true}}});
    let mut said =
        json!({"version": env!("CARGO_PKG_VERSION"), "kind": "daemon", "pid": 4711, "uptimeMs": 65_000});
    said.as_object_mut().expect("an object").extend(about.as_object().expect("an object").clone());
    at_home(Gateway::with_config(&config).says("GET /v1/about", &said))
}

fn at_home(gateway: Gateway) -> Sandbox {
    let sandbox = gateway.sandbox;
    std::fs::create_dir(sandbox.path("bin")).expect("a folder");
    sandbox
}

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = of_config();
    plants.extend(of_secrets());
    plants.extend(of_files());
    plants.extend(of_sockets());
    plants.extend(of_what_runs());
    plants.extend(of_clients());
    plants
}

fn of_config() -> Vec<Plant> {
    vec![
        plant("config-readable", |_| Planted {
            arguments: vec!["--config".to_owned(), "/nowhere/config.json".to_owned()],
            ..Planted::default()
        }),
        plant("config-valid", |sandbox| {
            sandbox.write(".config/manifold/config.json", "{ \"mcpServers\": ");
            Planted::default()
        }),
        plant("config-servers", |sandbox| {
            server(sandbox, json!({"command": "a", "url": "http://b.example"}))
        }),
        plant("config-unknown-keys", |sandbox| {
            config(sandbox, json!({"mcpServers": {"time": {"builtin": "time"}}, "colour": "red"}))
        }),
        plant("config-warnings", |sandbox| {
            config(sandbox, json!({"mcpServers": {"time": {"builtin": "time"}}, "callTimeout": 1}))
        }),
        mended("config-token-mode", |sandbox| {
            let token = "8f1c2b3a4d5e6f708192a3b4c5d6e7f8";
            let config = json!({"mcpServers": {"time": {"builtin": "time"}}, "server": {"token": token}});
            mode(&sandbox.write_config(&config), 0o644);
            Planted::default()
        }),
        plant("variables", |sandbox| {
            server(sandbox, json!({"command": "/bin/sh", "env": {"A": "${NOT_SET_ANYWHERE}"}}))
        }),
        plant("secrets-missing", |sandbox| {
            server(sandbox, json!({"command": "/bin/sh", "env": {"A": "${secret:NOPE}"}}))
        }),
        plant("program-node", |sandbox| server(sandbox, json!({"command": "npx", "args": ["-y", "x"]}))),
        plant("program-uv", |sandbox| server(sandbox, json!({"command": "uvx", "args": ["x"]}))),
        plant("program-docker", |sandbox| {
            server(sandbox, json!({"command": "docker", "args": ["run", "x"]}))
        }),
        plant("program-python", |sandbox| {
            server(sandbox, json!({"command": "python3", "args": ["-m", "x"]}))
        }),
        plant("program-other", |sandbox| server(sandbox, json!({"command": "no-such-server"}))),
        plant("server-handshake", |sandbox| server(sandbox, json!({"command": "/bin/false"}))),
    ]
}

fn of_secrets() -> Vec<Plant> {
    vec![
        mended("secrets-modes", |sandbox| {
            let planted = stored(sandbox);
            mode(&secret(sandbox), 0o644);
            mode(&sandbox.path(".local/share/manifold/credentials"), 0o755);
            planted
        }),
        plant("secrets-store", |sandbox| {
            let planted = stored(sandbox);
            File::options()
                .write(true)
                .open(secret(sandbox))
                .and_then(|file| file.set_len(9))
                .expect("it is cut");
            planted
        }),
        plant("secrets-store", |sandbox| {
            let planted = stored(sandbox);
            std::fs::rename(secret(sandbox), sandbox.path("elsewhere")).expect("it is moved");
            symlink(sandbox.path("elsewhere"), secret(sandbox)).expect("a link");
            planted
        }),
        plant("secrets-key", |sandbox| {
            store(sandbox, &[]);
            Planted::default()
        }),
        plant("secrets-key", |sandbox| {
            stored(sandbox);
            Planted::default()
        }),
    ]
}

fn of_files() -> Vec<Plant> {
    vec![
        plant("state-folder", |sandbox| {
            sandbox.write(".local/state/manifold", "a file");
            Planted::default()
        }),
        mended("state-folder", |sandbox| {
            symlink(sandbox.path("gone"), sandbox.path(".local/state/manifold")).expect("a link");
            Planted::default()
        }),
        plant("cache-folder", |sandbox| {
            sandbox.write(".cache/manifold", "a file");
            Planted::default()
        }),
        mended("cache-files", |sandbox| {
            sandbox.write(".cache/manifold/0123.json", "{\"era\":");
            Planted::default()
        }),
        plant("state-size", |sandbox| large(sandbox, ".local/state/manifold/large")),
        plant("log-size", |sandbox| large(sandbox, ".local/state/manifold/daemon.log.1")),
        plant("undo-records", |sandbox| {
            folder(sandbox, ".local/state/manifold/backups");
            sandbox.write(".local/state/manifold/backups/20261117-install/record.json", "{");
            Planted::default()
        }),
        mended("undo-modes", |sandbox| {
            folder(sandbox, ".local/state/manifold/backups");
            mode(&sandbox.path(".local/state/manifold/backups"), 0o755);
            Planted::default()
        }),
        plant("clock", |sandbox| {
            let path = sandbox.write_config(&json!({"mcpServers": {"time": {"builtin": "time"}}}));
            let later = SystemTime::now() + Duration::from_secs(30 * 24 * 3600);
            File::options().write(true).open(path).and_then(|file| file.set_modified(later)).expect("a date");
            Planted::default()
        }),
    ]
}

fn of_sockets() -> Vec<Plant> {
    vec![
        plant("runtime-dir", |_| Planted {
            variables: vec![("XDG_RUNTIME_DIR".to_owned(), "/nowhere".to_owned())],
            ..Planted::default()
        }),
        mended("runtime-folder", |sandbox| {
            folder(sandbox, ".run/manifold");
            mode(&sandbox.path(".run/manifold"), 0o755);
            Planted::default()
        }),
        mended("socket-modes", |sandbox| {
            folder(sandbox, ".run/manifold");
            mode(&sandbox.write(".run/manifold/01234567.lock", ""), 0o644);
            Planted::default()
        }),
        mended("stale-sockets", |sandbox| {
            folder(sandbox, ".run/manifold");
            let path = sandbox.path(".run/manifold/01234567.mcp.sock");
            drop(UnixListener::bind(&path).expect("a socket"));
            mode(&path, 0o600);
            Planted::default()
        }),
        mended("stale-locks", |sandbox| {
            folder(sandbox, ".run/manifold");
            sandbox.write_private(".run/manifold/01234567.lock", "");
            sandbox.write_private(".run/manifold/01234567.json", &json!({"pid": NOBODY}).to_string());
            Planted::default()
        }),
        plant("http-port", |sandbox| {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("an address").port();
            let planted = config(
                sandbox,
                json!({"mcpServers": {"time": {"builtin": "time"}}, "daemon": {"http": true}, "server": {"port": port}}),
            );
            Planted { _listener: Some(listener), ..planted }
        }),
    ]
}

fn of_what_runs() -> Vec<Plant> {
    let of = |id, home: fn() -> Sandbox| Plant { id, home, plant: |_| Planted::default(), is_mended: false };
    vec![
        of("daemon-answers", || {
            let config = json!({"mcpServers": {"time": {"builtin": "time"}}});
            at_home(Gateway::with_config(&config).refuses("GET /v1/about", 500, "failed", "it is ill"))
        }),
        of("daemon-version", || gateway(json!({"version": "0.0.1"}))),
        of("daemon-upgrade", || gateway(json!({"notUpgraded": {"why": "it can be written by others"}}))),
        of("daemon-config", || gateway(json!({"refused": "a server is there twice"}))),
        plant("orphans", |sandbox| {
            waiting(sandbox, "server", &[], &[("MANIFOLD_TREE", format!("{NOBODY}-1"))])
        }),
        plant("shim-program", |sandbox| waiting(sandbox, "/nowhere/manifold", &["serve", "--stdio"], &[])),
    ]
}

fn of_clients() -> Vec<Plant> {
    vec![
        plant("client-file", |sandbox| {
            sandbox.write(".cursor/mcp.json", "{ \"mcpServers\": {");
            Planted::default()
        }),
        plant("client-without-us", |sandbox| cursor(sandbox, json!({}))),
        mended("client-entry-path", |sandbox| {
            cursor(
                sandbox,
                json!({"manifold": {"command": "/nowhere/manifold", "args": ["serve", "--stdio"]}}),
            )
        }),
        plant("client-entry-edited", |sandbox| {
            cursor(sandbox, json!({"manifold": {"command": bin("manifold"), "args": ["list"]}}))
        }),
        plant("client-duplicates", |sandbox| {
            let same = fake(json!({"tools": [{"name": "echo"}]}));
            server(sandbox, same.clone());
            cursor(sandbox, json!({"manifold": ours(), "other-name": same}))
        }),
        plant("client-tool-count", |sandbox| {
            let tools: Vec<Value> = (0..101).map(|number| json!({"name": format!("t{number}")})).collect();
            server(sandbox, fake(json!({"tools": tools})));
            sandbox.write(
                ".codeium/windsurf/mcp_config.json",
                &json!({"mcpServers": {"manifold": ours()}}).to_string(),
            );
            Planted::default()
        }),
        plant("client-tool-names", |sandbox| {
            server(sandbox, fake(json!({"tools": [{"name": "n".repeat(56)}]})));
            cursor(sandbox, json!({"manifold": ours()}))
        }),
        plant("client-descriptions", |sandbox| {
            let tool = json!({"name": "t", "description": "d".repeat(3000)});
            server(sandbox, fake(json!({"tools": [tool]})));
            sandbox.write(".claude.json", &json!({"mcpServers": {"manifold": ours()}}).to_string());
            Planted::default()
        }),
    ]
}
