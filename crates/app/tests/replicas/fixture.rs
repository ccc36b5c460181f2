//! Replicas on this machine, with a key of theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use base64::prelude::{BASE64_STANDARD, Engine};
use manifold_testkit::http::{Answer, Conn, Gateway, calling, http_command, port_of};
use manifold_testkit::{Client, Sandbox, fake};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

pub(crate) const NEW: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// Some replicas, each in a home of its own; the keys are in the first.
pub(crate) struct Replicas {
    pub(crate) homes: Vec<Sandbox>,
    pub(crate) all: Vec<Gateway>,
}

/// Returns the text of a key file.
pub(crate) fn key_lines(keys: &[u8]) -> String {
    keys.iter().map(|byte| BASE64_STANDARD.encode([*byte; 32]) + "\n").collect()
}

/// One server `s` with every tool that waits or asks.
pub(crate) fn config(home: &Sandbox) -> Value {
    let tools = ["echo", "sleep", "progress", "ask", "addtool", "update", "pid"];
    let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
    let knobs = json!({"name": "s", "tools": tools, "log": home.path("s.log"), "pid": home.path("s.pid"),
        "resources": [{"uri": "file:///a", "name": "a"}],
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}}});
    json!({"separator": "", "managerTools": false, "mcpServers": {"s": fake(knobs)}})
}

impl Replicas {
    /// Starts so many replicas with the same key.
    pub(crate) fn start(count: usize, more: &[&str]) -> Self {
        Self::start_with(count, more, config)
    }

    pub(crate) fn start_with(count: usize, more: &[&str], config: impl Fn(&Sandbox) -> Value) -> Self {
        Self::start_by(count, more, config, |_| {})
    }

    /// Starts them by commands that are changed before.
    pub(crate) fn start_by(
        count: usize,
        more: &[&str],
        config: impl Fn(&Sandbox) -> Value,
        change: impl Fn(&mut Command),
    ) -> Self {
        let homes: Vec<Sandbox> = (0..count).map(|_| Sandbox::new()).collect();
        let keys = homes[0].write_private("keys/state.key", &key_lines(&[1]));
        let start = |home: &Sandbox| {
            let mut flags = vec!["--state-key-file", keys.as_str()];
            flags.extend_from_slice(more);
            let mut command = http_command(home, &config(home), &flags);
            change(&mut command);
            let client = Client::spawn(command);
            let port = port_of(&client);
            Gateway { client, port }
        };
        let all = homes.iter().map(start).collect();
        Self { homes, all }
    }

    pub(crate) fn port(&self, at: usize) -> u16 {
        self.all[at].port
    }

    /// Puts other keys into the file that all read.
    pub(crate) fn write_keys(&self, keys: &[u8]) {
        let path: PathBuf = self.homes[0].path("keys/state.key");
        let next = self.homes[0].path("keys/next");
        fs::write(&next, key_lines(keys)).expect("the file can be written");
        let closed = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&next, closed).expect("the mode can be set");
        fs::rename(next, path).expect("the file can be replaced");
    }

    /// Returns how often a replica has said something in its log.
    pub(crate) fn said(&self, at: usize, words: &str) -> usize {
        self.all[at].client.stderr().matches(words).count()
    }

    pub(crate) fn kill(&self, at: usize) {
        self.all[at].signal(Signal::SIGKILL);
    }
}

/// Returns parameters that say who asks.
pub(crate) fn signed(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    params
}

/// Makes a modern request on a connection.
pub(crate) fn send_modern(connection: &mut Conn, id: u64, method: &str, params: &Value) {
    let name = params["name"].as_str().unwrap_or_default();
    let headers =
        [("Accept", BOTH), ("MCP-Protocol-Version", MODERN), ("Mcp-Method", method), ("Mcp-Name", name)];
    connection.send("POST", "/mcp", &headers, &calling(id, method, signed(params.clone())));
}

pub(crate) fn modern(port: u16, method: &str, params: &Value) -> Answer {
    let mut connection = Conn::open(port);
    send_modern(&mut connection, 7, method, params);
    connection.answer()
}

/// A tool that asks its client before it answers.
pub(crate) fn elicit() -> Value {
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"message": "really?", "requestedSchema": schema});
    json!({"name": "ask", "arguments": {"method": "elicitation/create", "params": params}})
}
