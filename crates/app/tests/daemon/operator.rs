//! An operator: somebody with a command line, or with a connection to the control socket.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use manifold_admin::{ErrorCode, Method};
use manifold_admin_client::{Client, ClientError, EventStream, SseEvent};
use manifold_testkit::Sandbox;
use serde_json::{Value, json};

use crate::SOON;
use crate::home::Home;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a verb in a sandbox, whatever runs there.
pub(crate) fn run(sandbox: &Sandbox, words: &[impl AsRef<OsStr>]) -> Ran {
    let mut command = sandbox.daemon();
    command.args(words);
    ran(command)
}

pub(crate) fn ran(mut command: Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Somebody with the control socket of a home's daemon.
pub(crate) struct Desk {
    control: PathBuf,
}

impl Desk {
    pub(crate) fn of(home: &Home) -> Self {
        Self { control: home.run_file("ctl.sock").expect("a daemon runs") }
    }

    /// Opens a connection for one request.
    pub(crate) fn client(&self) -> Client {
        let socket = UnixStream::connect(&self.control).expect("the daemon listens");
        Client::new(socket, SOON).expect("a socket").face("test")
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.client().get(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Has something done; says how it was refused where it was.
    pub(crate) fn order(&self, path: &str) -> Result<Value, (u16, ErrorCode)> {
        answered(self.client().post(path))
    }

    /// Writes the config, if it is still of that revision.
    pub(crate) fn write_config(&self, text: &str, revision: &str) -> Result<Value, (u16, ErrorCode)> {
        let body = json!({ "text": text });
        answered(self.client().if_match(revision).send(Method::Put, "/v1/config", Some(&body)))
    }

    /// Follows a stream. What it says first has been read: it is followed from here on.
    pub(crate) fn follow(&self, path: &str) -> (EventStream, SseEvent) {
        let mut events = self.client().events(Method::Get, path, None::<&()>).expect("a stream");
        let first = events.next().expect("it begins").expect("an event");
        (events, first)
    }

    /// Asks for a stream and never reads a byte of it.
    pub(crate) fn stall(&self, path: &str) -> UnixStream {
        let mut socket = UnixStream::connect(&self.control).expect("the daemon listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: manifold\r\nAccept: text/event-stream\r\n\r\n");
        socket.write_all(request.as_bytes()).expect("the daemon reads");
        // The first byte of the answer: the stream has begun.
        socket.read_exact(&mut [0]).expect("it answers");
        socket
    }
}

fn answered(answer: Result<Value, ClientError>) -> Result<Value, (u16, ErrorCode)> {
    answer.map_err(|error| match error {
        ClientError::Refused { status, error } => (status, error.code),
        error => panic!("{error}"),
    })
}
