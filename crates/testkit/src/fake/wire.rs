use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::lock;
use crate::modern;

/// One message as received; payloads keep their bytes.
#[derive(Deserialize)]
pub(super) struct Incoming {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) method: Option<String>,
    pub(super) params: Option<Box<RawValue>>,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<Box<RawValue>>,
}

impl Incoming {
    pub(super) fn params_value(&self) -> Value {
        self.params.as_ref().and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
    }
}

/// An answer as JSON text.
#[derive(Clone)]
pub(super) enum Reply {
    Result(String),
    Error(String),
}

impl Reply {
    /// Puts the marks of 2026-07-28 on a result, and its number on an error that has another there.
    pub(super) fn completed(self, method: &str, server: &str) -> Self {
        match self {
            Self::Result(result) => Self::Result(modern::complete(method, &result, server)),
            Self::Error(error) => Self::Error(error.replace("-32002", "-32602")),
        }
    }

    pub(super) fn error(code: i64, message: &str) -> Self {
        Self::Error(json!({"code": code, "message": message}).to_string())
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text}]}).to_string())
    }

    pub(super) fn failed(text: &str) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text}], "isError": true}).to_string())
    }
}

/// The way out, and the questions that wait for an answer from the client.
pub(super) struct Wire {
    noise: bool,
    sent: AtomicU64,
    questions: Mutex<HashMap<String, Sender<Incoming>>>,
}

impl Wire {
    pub(super) fn new(noise: bool) -> Self {
        Self { noise, sent: AtomicU64::new(0), questions: Mutex::default() }
    }

    pub(super) fn reply(&self, id: &str, reply: &Reply) {
        if self.noise {
            let n = self.sent.fetch_add(1, Ordering::SeqCst);
            self.notify("notifications/noise", &json!({"n": n}).to_string());
            self.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"wrong":true}}}}"#, 987_654_321 + n));
        }
        let body = match reply {
            Reply::Result(result) => format!(r#""result":{result}"#),
            Reply::Error(error) => format!(r#""error":{error}"#),
        };
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#));
    }

    pub(super) fn notify(&self, method: &str, params: &str) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#, json!(method)));
    }

    /// Sends a request to the client and returns where its answer will come.
    pub(super) fn ask(&self, method: &str, params: Option<&str>) -> Receiver<Incoming> {
        let id = self.sent.fetch_add(1, Ordering::SeqCst);
        let (answer, answers) = channel();
        lock(&self.questions).insert(id.to_string(), answer);
        let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{}{params}}}"#, json!(method)));
        answers
    }

    pub(super) fn deliver(&self, answer: Incoming) {
        let id = answer.id.as_ref().map_or("null", |id| id.get()).to_owned();
        if let Some(waiting) = lock(&self.questions).remove(&id) {
            // Whoever asked may have been cancelled.
            let _ = waiting.send(answer);
        }
    }

    pub(super) fn send(&self, line: &str) {
        self.write(line.as_bytes(), true);
    }

    /// Writes bytes as they are; a client that is gone is no concern of ours.
    pub(super) fn write(&self, bytes: &[u8], newline: bool) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes);
        if newline {
            let _ = out.write_all(b"\n");
        }
        let _ = out.flush();
    }
}

/// Lets one request be cancelled while it waits.
#[derive(Default)]
pub(super) struct Cancel {
    cancelled: Mutex<bool>,
    changed: Condvar,
}

pub(super) struct Cancelled;

impl Cancel {
    pub(super) fn cancel(&self) {
        *lock(&self.cancelled) = true;
        self.changed.notify_all();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        *lock(&self.cancelled)
    }

    pub(super) fn sleep(&self, time: Duration) -> Result<(), Cancelled> {
        let guard = lock(&self.cancelled);
        match self.changed.wait_timeout_while(guard, time, |cancelled| !*cancelled) {
            Ok((_, waited)) if waited.timed_out() => Ok(()),
            _ => Err(Cancelled),
        }
    }
}

/// Writes a line on stderr.
pub(super) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "fake-server: {line}");
}

/// Appends with a single write, so that several servers may share a file.
pub(super) fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("the file can be opened");
    file.write_all(text.as_bytes()).expect("the file can be written");
}

/// Makes SIGTERM do nothing but leave a line in the log.
pub(super) fn ignore_term(log: Option<PathBuf>) {
    // Threads started later inherit the block, and children do not: std resets it for them.
    let mut term = SigSet::empty();
    term.add(Signal::SIGTERM);
    term.thread_block().expect("a signal can be blocked");
    thread::spawn(move || {
        while term.wait().is_ok() {
            if let Some(log) = &log {
                append(log, &format!("{}\n", json!({"pid": std::process::id(), "dir": "term"})));
            }
        }
    });
}
