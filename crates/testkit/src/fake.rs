//! The fake server: a legacy MCP server on stdio that misbehaves as its [`Knobs`] say (S1-64).

mod descendants;
mod knobs;
mod lists;
mod tools;
mod wire;

use std::collections::HashMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use knobs::{Grandchildren, Knobs};
use wire::{Cancel, Incoming, Reply, Wire};

/// Runs the fake server with the knobs in `argv[1]`, or else in the variable `FAKE_SERVER`.
pub fn main() -> ExitCode {
    let text = std::env::args().nth(1).or_else(|| std::env::var("FAKE_SERVER").ok());
    match serde_json::from_str::<Knobs>(text.as_deref().unwrap_or("{}")) {
        Ok(knobs) => Server::start(knobs).serve(),
        Err(error) => {
            wire::complain(&format!("bad knobs: {error}"));
            ExitCode::from(2)
        }
    }
}

struct Server {
    knobs: Knobs,
    wire: Wire,
    /// The tools as they are listed, each in its own JSON text.
    tools: Mutex<Vec<String>>,
    running: Mutex<HashMap<String, Arc<Cancel>>>,
    requests_seen: AtomicU64,
    crash_method_seen: AtomicU64,
}

impl Server {
    fn start(knobs: Knobs) -> Arc<Self> {
        if knobs.ignore_term {
            wire::ignore_term(knobs.log.clone());
        }
        if let Some(path) = &knobs.pid {
            wire::append(path, &format!("{}\n", std::process::id()));
        }
        if let Some(attempt) = knobs.failing_attempt() {
            wire::complain(&format!("failing start number {attempt}"));
            std::process::exit(1);
        }
        if let Some(kind) = knobs.grandchildren {
            descendants::spawn(kind, knobs.hold_stdout, knobs.pid_file.as_deref());
        }
        let wire = Wire::new(knobs.noise);
        for line in &knobs.garbage {
            wire.write(line.as_bytes(), true);
        }
        let lines = knobs.stderr_flood;
        if lines > 0 {
            thread::spawn(move || (0..lines).for_each(|n| wire::complain(&format!("flood line {n}"))));
        }
        let tools = Mutex::new(knobs.tools.iter().map(|tool| lists::listed_tool(tool.get())).collect());
        Arc::new(Self {
            knobs,
            wire,
            tools,
            running: Mutex::default(),
            requests_seen: AtomicU64::new(0),
            crash_method_seen: AtomicU64::new(0),
        })
    }

    fn serve(self: Arc<Self>) -> ExitCode {
        let mut input = std::io::stdin().lock();
        let mut line = Vec::new();
        while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
            self.receive(&line);
            line.clear();
        }
        self.log(&json!({"pid": std::process::id(), "dir": "eof"}).to_string());
        if self.knobs.ignore_eof {
            sleep_forever();
        }
        ExitCode::SUCCESS
    }

    fn receive(self: &Arc<Self>, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Ok(text) = serde_json::from_slice::<&RawValue>(line) else {
            let raw = json!({"pid": std::process::id(), "dir": "in", "raw": String::from_utf8_lossy(line)});
            self.log(&raw.to_string());
            return self.wire.reply("null", &Reply::error(-32700, "Parse error"));
        };
        self.log(&format!(r#"{{"pid":{},"dir":"in","msg":{}}}"#, std::process::id(), text.get()));
        let Ok(message) = serde_json::from_slice::<Incoming>(line) else {
            return self.wire.reply("null", &Reply::error(-32600, "Invalid Request"));
        };
        match message.method.clone() {
            Some(method) => self.receive_call(&method, message),
            None => self.wire.deliver(message),
        }
    }

    fn receive_call(self: &Arc<Self>, method: &str, message: Incoming) {
        self.maybe_crash(method);
        if self.knobs.stop_reading_on.as_deref() == Some(method) {
            sleep_forever();
        }
        if self.knobs.hang_on.as_deref() == Some(method) {
            return;
        }
        let Some(id) = message.id.as_ref().map(|id| id.get().to_owned()) else {
            return self.receive_notification(method, &message);
        };
        if self.knobs.malformed_reply_to.as_deref() == Some(method) {
            return self.wire.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"#).as_bytes(), true);
        }
        let cancel = Arc::new(Cancel::default());
        lock(&self.running).insert(id.clone(), Arc::clone(&cancel));
        let delay = self.knobs.delay_ms.get(method).copied().unwrap_or(0);
        if delay == 0 && !tools::blocks(method, &message) {
            return self.work(&id, method, &message, &cancel);
        }
        // Only what waits gets a thread, so quick answers keep the order of their requests.
        let (server, method) = (Arc::clone(self), method.to_owned());
        thread::spawn(move || {
            if cancel.sleep(Duration::from_millis(delay)).is_ok() {
                server.work(&id, &method, &message, &cancel);
            }
        });
    }

    /// Answers one request, unless it was cancelled meanwhile.
    fn work(&self, id: &str, method: &str, message: &Incoming, cancel: &Arc<Cancel>) {
        let reply = match self.knobs.error.get(method) {
            Some(error) => Some(Reply::Error(error.get().to_owned())),
            None => self.answer(id, method, message, cancel),
        };
        lock(&self.running).remove(id);
        if let (Some(reply), false) = (reply, cancel.is_cancelled()) {
            self.wire.reply(id, &reply);
        }
    }

    fn answer(&self, id: &str, method: &str, message: &Incoming, cancel: &Arc<Cancel>) -> Option<Reply> {
        let params = message.params_value();
        Some(match method {
            "initialize" => self.initialize(&params),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Reply::Result("{}".to_owned())
            }
            "tools/list" => self.page("tools", &lock(&self.tools), &params),
            "resources/list" => self.page("resources", &lists::texts(&self.knobs.resources), &params),
            "resources/templates/list" => {
                self.page("resourceTemplates", &lists::texts(&self.knobs.resource_templates), &params)
            }
            "prompts/list" => self.page("prompts", &lists::texts(&self.knobs.prompts), &params),
            "resources/read" => self.read_resource(&params),
            "prompts/get" => self.prompt(&params),
            "completion/complete" => lists::complete(&params),
            "tools/call" => return self.call_tool(id, message, cancel),
            _ => Reply::error(-32601, "Method not found"),
        })
    }

    fn initialize(&self, params: &Value) -> Reply {
        let asked = params["protocolVersion"].as_str().unwrap_or("2025-11-25");
        let version = self.knobs.protocol_version.as_deref().unwrap_or(asked);
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": {"name": self.knobs.name, "version": "1.0.0"},
        });
        if let Some(instructions) = &self.knobs.instructions {
            result["instructions"] = json!(instructions);
        }
        Reply::Result(result.to_string())
    }

    fn capabilities(&self) -> Value {
        if let Some(capabilities) = &self.knobs.capabilities {
            return capabilities.clone();
        }
        let mut capabilities = json!({"tools": {"listChanged": true}, "logging": {}});
        if !self.knobs.resources.is_empty() || !self.knobs.resource_templates.is_empty() {
            capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
        }
        if !self.knobs.prompts.is_empty() {
            capabilities["prompts"] = json!({"listChanged": true});
            capabilities["completions"] = json!({});
        }
        capabilities
    }

    fn receive_notification(&self, method: &str, message: &Incoming) {
        if method == "notifications/cancelled" {
            let params = message.params_value();
            // Cancelling a request that is over, or unknown, is no error: the two may cross on the wire.
            if let Some(cancel) = lock(&self.running).remove(&params["requestId"].to_string()) {
                cancel.cancel();
            }
        }
    }

    fn maybe_crash(&self, method: &str) {
        let seen = self.requests_seen.fetch_add(1, Ordering::SeqCst) + 1;
        let due = match (&self.knobs.crash_on, self.knobs.crash_on_nth) {
            (Some(crash_on), nth) if crash_on == method => {
                self.crash_method_seen.fetch_add(1, Ordering::SeqCst) + 1 == nth.unwrap_or(1)
            }
            (None, Some(nth)) => seen == nth,
            _ => false,
        };
        if due {
            wire::complain(&format!("crashing on {method}"));
            std::process::exit(3);
        }
    }

    fn log(&self, line: &str) {
        if let Some(path) = &self.knobs.log {
            wire::append(path, &format!("{line}\n"));
        }
    }
}

/// Takes a lock whose holder may have panicked: the fake server goes on regardless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sleep_forever() -> ! {
    loop {
        thread::park();
    }
}
