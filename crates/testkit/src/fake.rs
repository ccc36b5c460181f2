//! The fake server: an MCP server on stdio, of either era, that misbehaves as its [`Knobs`] say (S1-64).

mod descendants;
mod knobs;
mod lists;
mod spy;
mod tools;
mod wire;

use std::collections::HashMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use knobs::{Grandchildren, Knobs};

use crate::modern::{self, Era, Listener, Speech};
use wire::{Cancel, Incoming, Reply, Wire};

/// Runs the fake server with the knobs in `argv[1]` (or in the file it names after an `@`), or else in the variable
/// `FAKE_SERVER`.
pub fn main() -> ExitCode {
    let text = std::env::args().nth(1).or_else(|| std::env::var("FAKE_SERVER").ok());
    let text = text.map(|text| match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).expect("the file of knobs can be read"),
        None => text,
    });
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
    /// Those who hear of changes because they asked to.
    listeners: Mutex<Vec<Listener>>,
    initialized: AtomicBool,
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
            listeners: Mutex::default(),
            initialized: AtomicBool::new(false),
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
        let is_silent = method == "server/discover" && self.knobs.era == Era::SilentOnDiscover;
        if is_silent || self.knobs.hang_on.as_deref() == Some(method) {
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

    /// Returns the answer; `None` means that nothing more is to be sent.
    fn answer(&self, id: &str, method: &str, message: &Incoming, cancel: &Arc<Cancel>) -> Option<Reply> {
        let params = message.params_value();
        match self.knobs.era.speech(method, &params) {
            Ok(Speech::Legacy) => self.answer_legacy(id, method, message, cancel),
            Ok(Speech::Modern) => self.answer_modern(id, method, message, cancel),
            Err(error) => Some(Reply::Error(error.to_string())),
        }
    }

    fn answer_legacy(
        &self,
        id: &str,
        method: &str,
        message: &Incoming,
        cancel: &Arc<Cancel>,
    ) -> Option<Reply> {
        let params = message.params_value();
        Some(match method {
            "initialize" => self.initialize(&params),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Reply::Result("{}".to_owned())
            }
            "tools/call" => return self.call_tool(id, message, cancel, Speech::Legacy),
            _ => return self.answer_either(method, &params),
        })
    }

    fn answer_modern(
        &self,
        id: &str,
        method: &str,
        message: &Incoming,
        cancel: &Arc<Cancel>,
    ) -> Option<Reply> {
        let params = message.params_value();
        let reply = match method {
            "server/discover" => {
                let instructions = self.knobs.instructions.as_deref();
                let said = modern::discovered(self.knobs.era, self.capabilities(), instructions);
                Some(Reply::Result(said.to_string()))
            }
            "subscriptions/listen" => {
                let listener = Listener::new(serde_json::from_str(id).unwrap_or_default(), &params);
                self.wire.send(&listener.acknowledgement().to_string());
                lock(&self.listeners).push(listener);
                None
            }
            // Tools put on their marks themselves: some give odd ones.
            "tools/call" => return self.call_tool(id, message, cancel, Speech::Modern),
            _ => self.answer_either(method, &params),
        };
        reply.map(|reply| reply.completed(method, &self.knobs.name))
    }

    /// Answers what is the same in both eras.
    fn answer_either(&self, method: &str, params: &Value) -> Option<Reply> {
        Some(match method {
            "tools/list" => self.page("tools", &lock(&self.tools), params),
            "resources/list" => self.page("resources", &lists::texts(&self.knobs.resources), params),
            "resources/templates/list" => {
                self.page("resourceTemplates", &lists::texts(&self.knobs.resource_templates), params)
            }
            "prompts/list" => self.page("prompts", &lists::texts(&self.knobs.prompts), params),
            "resources/read" => self.read_resource(params),
            "prompts/get" => self.prompt(params),
            "completion/complete" => lists::complete(params),
            _ => Reply::error(-32601, "Method not found"),
        })
    }

    fn initialize(&self, params: &Value) -> Reply {
        self.initialized.store(true, Ordering::SeqCst);
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
            lock(&self.listeners).retain(|listener| listener.id != params["requestId"]);
            // Cancelling a request that is over, or unknown, is no error: the two may cross on the wire.
            if let Some(cancel) = lock(&self.running).remove(&params["requestId"].to_string()) {
                cancel.cancel();
            }
        }
    }

    /// Tells of a change: everyone in a session, and those who asked to hear of it.
    fn tell(&self, method: &str, params: &Value) {
        if self.knobs.era.tells_unasked(self.initialized.load(Ordering::SeqCst)) {
            self.wire.notify(method, &params.to_string());
        }
        for listener in &*lock(&self.listeners) {
            if let Some(notification) = listener.notification(method, params) {
                self.wire.send(&notification.to_string());
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
        let dies = method == "server/discover" && self.knobs.era == Era::DiesOnDiscover;
        if due || dies {
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
