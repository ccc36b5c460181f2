//! The verbs of the command line, with the real binary: what each writes for a pipe and for programs, which exit code it
//! ends with, and what it asks of the gateway. The gateway is a socket with canned answers; how it comes by them is tested
//! elsewhere.
#![expect(clippy::expect_used, reason = "a broken fixture ends its test at once")]

mod call;
mod clients;
mod config_edit;
mod doctor;
mod entries;
mod fake;
mod files;
mod help;
mod import;
mod init;
mod install;
mod install_care;
mod install_take_over;
mod items;
mod keyring;
mod logs;
mod packages;
mod schemas;
mod search;
mod secret;
mod servers;
mod setup_care;
mod terminal;
mod token;
mod undo;
mod wait;
mod watch;

use manifold_admin::{
    Calls, Error, Instance, Kind, Lists, Reason, Server, ServerId, Snapshot, Start, State, Target,
};
use serde_json::{Value, json};

/// Returns a server that works.
fn git() -> Server {
    Server {
        key: ServerId { schema: None, id: "git".to_owned() },
        name: "git".to_owned(),
        exposed_id: "git".to_owned(),
        kind: Kind::Stdio,
        target: Target::Program { command: "uvx".to_owned(), arguments: 1 },
        enabled: true,
        start: Start::Lazy,
        state: State::Ready,
        since_ms: Some(61_000),
        pid: Some(100),
        lists: Some(Lists { tools: 12, ..Lists::default() }),
        tool_bytes: Some(4321),
        calls: Some(Calls { total: Some(7), failed: Some(1), ..Calls::default() }),
        instances: vec![Instance {
            state: State::Ready,
            clients: Some(2),
            pid: Some(100),
            pids: vec![100, 101],
            restarts: Some(3),
            ..Instance::default()
        }],
        ..Server::default()
    }
}

/// Returns a server that does not, and says so in an ugly way.
fn files() -> Server {
    Server {
        key: ServerId { schema: None, id: "files".to_owned() },
        name: "files".to_owned(),
        exposed_id: "files".to_owned(),
        kind: Kind::Http,
        target: Target::Address { origin: "https://h.example".to_owned() },
        enabled: true,
        state: State::Failed,
        error: Some(Error {
            reason: Reason::FailedToStart,
            text: "it said \u{1b}[31mno\u{1b}[0m".to_owned(),
            hint: Some("look at `manifold logs files`".to_owned()),
            ..Error::default()
        }),
        ..Server::default()
    }
}

fn in_state(state: State) -> Server {
    Server { state, ..git() }
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).expect("it is JSON")
}

fn snapshot(servers: Vec<Server>) -> Value {
    value(&Snapshot { servers, ..Snapshot::default() })
}

/// Returns an event as the gateway sends it.
fn happening(server: &Server) -> Value {
    json!({"seq": 2, "kind": "server", "server": value(server)})
}
