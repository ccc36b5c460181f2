//! A scripted client that drives a server over its pipes, one message or one byte at a time.
#![expect(clippy::disallowed_types, reason = "real processes run in real time, paused clock or not")]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::modern::{self, Marks};
use crate::until;

/// How long a helper without a timeout of its own waits.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How messages are told apart, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Newline,
    ContentLength,
}

/// Answers a request of the server: its method and params give a result or an error object.
pub type Answer = dyn FnMut(&str, &Value) -> Result<Value, Value> + Send;

/// A child process and its pipes. It is killed when the client is dropped.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    framing: Framing,
    frames: Receiver<Vec<u8>>,
    /// Messages received while waiting for another.
    queue: VecDeque<Message>,
    stderr: Arc<Mutex<Vec<u8>>>,
    last_id: u64,
    answer: Option<Box<Answer>>,
    /// What every request says of us, if we speak 2026-07-28.
    marks: Option<Marks>,
}

struct Message {
    text: String,
    value: Value,
}

impl Client {
    /// Starts the command and speaks newline-delimited JSON with it.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_framed(command, Framing::Newline)
    }

    /// Starts the command and speaks with it in this framing.
    pub fn spawn_framed(mut command: Command, framing: Framing) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (sender, frames) = channel();
        thread::spawn(move || read_frames(BufReader::new(stdout), framing, &sender));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&stderr);
        thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = errors.read(&mut chunk) {
                collected.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..count]);
            }
        });
        let stdin = child.stdin.take();
        let queue = VecDeque::new();
        Self { child, stdin, framing, frames, queue, stderr, last_id: 0, answer: None, marks: None }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns what the process said on stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Answers requests of the server with this closure, whenever the client waits for something.
    pub fn answer(&mut self, answer: impl FnMut(&str, &Value) -> Result<Value, Value> + Send + 'static) {
        self.answer = Some(Box::new(answer));
    }

    /// Speaks 2026-07-28 from now on: requests bear their marks, results must have theirs, and the closure of `answer`
    /// answers rounds of questions. A request of the server's is then a mistake.
    pub fn speak_modern(&mut self, capabilities: Value) {
        self.marks = Some(Marks { capabilities, log_level: None });
    }

    /// Asks for log messages from this level on.
    pub fn set_log_level(&mut self, level: &str) {
        match &mut self.marks {
            Some(marks) => marks.log_level = Some(level.to_owned()),
            None => {
                self.ask("logging/setLevel", json!({"level": level}));
            }
        }
    }

    /// Opens a stream of news and returns its id, once the server has said that it listens.
    pub fn listen(&mut self, filter: Value) -> u64 {
        let id = self.request("subscriptions/listen", json!({"notifications": filter}));
        let told = self.wait_for_notification("notifications/subscriptions/acknowledged", PATIENCE);
        assert_eq!(*modern::tag_of(&told), json!(id), "{told}");
        id
    }

    /// Writes bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.try_send_raw(bytes).expect("the process reads its stdin");
    }

    /// Writes bytes as they are, to a process that may be gone.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Sends JSON text as one frame.
    pub fn send_text(&mut self, text: &str) {
        let frame = match self.framing {
            Framing::Newline => format!("{text}\n"),
            Framing::ContentLength => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        };
        self.send_raw(frame.as_bytes());
    }

    pub fn send(&mut self, message: Value) {
        self.send_text(&message.to_string());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id. `Value::Null` stands for no params.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method});
        let params = match &self.marks {
            Some(marks) => marks.put_on(&params),
            None => params,
        };
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message);
        self.last_id
    }

    /// Sends a request and waits for its response, for as many rounds as it takes.
    pub fn ask(&mut self, method: &str, mut params: Value) -> Value {
        loop {
            let id = self.request(method, params.clone());
            let response = self.wait_for(id, PATIENCE);
            if self.marks.is_none() {
                return response;
            }
            let result = modern::check_result(method, &response);
            let Some(answer) = &mut self.answer else { return response };
            match modern::retry(&params, result, answer) {
                Some(next) => params = next,
                None => return response,
            }
        }
    }

    /// Calls a tool and waits for its response.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the names of the tools listed, on one page.
    pub fn tool_names(&mut self) -> Vec<String> {
        let response = self.ask("tools/list", json!({}));
        let tools = response["result"]["tools"].as_array().expect("a list of tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a tool has a name").to_owned()).collect()
    }

    /// Does the legacy handshake and returns the response to `initialize`.
    pub fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({"name": "testkit", "version": "1.0.0"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let response = self.ask("initialize", params);
        if !response["result"].is_null() {
            self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        response
    }

    /// Returns the next message: one put aside, or else one that arrives in time.
    pub fn recv(&mut self, timeout: Duration) -> Value {
        self.try_recv(timeout).unwrap_or_else(|| self.give_up("a message", timeout))
    }

    /// Returns the next message, or nothing if none comes in time or the process has closed its stdout.
    pub fn try_recv(&mut self, timeout: Duration) -> Option<Value> {
        let queued = self.queue.pop_front();
        queued.or_else(|| self.next_message(Instant::now() + timeout)).map(|message| message.value)
    }

    /// Returns the next frame as bytes, JSON or not; nothing is answered or put aside.
    pub fn recv_raw(&mut self, timeout: Duration) -> Option<Vec<u8>> {
        self.frames.recv_timeout(timeout).ok()
    }

    /// Waits for the response with this id; other messages are put aside.
    pub fn wait_for(&mut self, id: impl Into<Value>, timeout: Duration) -> Value {
        self.wait_for_message(&id.into(), timeout).value
    }

    /// Waits for the response with this id and returns its text, byte for byte.
    pub fn wait_for_text(&mut self, id: impl Into<Value>, timeout: Duration) -> String {
        self.wait_for_message(&id.into(), timeout).text
    }

    /// Waits for a notification of this method; other messages are put aside.
    pub fn wait_for_notification(&mut self, method: &str, timeout: Duration) -> Value {
        self.wait_until(method, timeout, |message| message["method"] == method).value
    }

    /// Returns a notification of this method, or nothing if none comes in time; other messages are put aside.
    pub fn try_notification(&mut self, method: &str, timeout: Duration) -> Option<Value> {
        self.find(timeout, |message| message["method"] == method).map(|message| message.value)
    }

    /// Returns and forgets the notifications that have arrived by now.
    pub fn notifications(&mut self) -> Vec<Value> {
        while let Some(message) = self.next_message(Instant::now()) {
            self.queue.push_back(message);
        }
        let (told, rest) = self.queue.drain(..).partition(|message| is_notification(&message.value));
        self.queue = rest;
        let told: VecDeque<Message> = told;
        told.into_iter().map(|message| message.value).collect()
    }

    /// Closes the process's stdin: end of input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Leaves in good order, and waits until the process has, too. Dropping a client kills the process.
    pub fn leave(mut self) {
        self.close_stdin();
        self.wait_exit(PATIENCE);
    }

    /// Waits for the process to end by itself.
    pub fn wait_exit(&mut self, timeout: Duration) -> ExitStatus {
        let mut status = None;
        until(timeout, || {
            status = self.child.try_wait().expect("a child can be waited for");
            status.is_some()
        });
        status.unwrap_or_else(|| self.give_up("the end of the process", timeout))
    }

    fn wait_for_message(&mut self, id: &Value, timeout: Duration) -> Message {
        self.wait_until(&format!("response {id}"), timeout, |message| {
            message["id"] == *id && message["method"].is_null()
        })
    }

    fn wait_until(&mut self, what: &str, timeout: Duration, wanted: impl Fn(&Value) -> bool) -> Message {
        self.find(timeout, wanted).unwrap_or_else(|| self.give_up(what, timeout))
    }

    fn find(&mut self, timeout: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Message> {
        if let Some(place) = self.queue.iter().position(|message| wanted(&message.value)) {
            return self.queue.remove(place);
        }
        let end = Instant::now() + timeout;
        while let Some(message) = self.next_message(end) {
            if wanted(&message.value) {
                return Some(message);
            }
            self.queue.push_back(message);
        }
        None
    }

    /// Returns the next message from the pipe that is not answered by the closure.
    fn next_message(&mut self, end: Instant) -> Option<Message> {
        loop {
            let frame = match self.frames.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(frame) => frame,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            };
            let text = String::from_utf8(frame).expect("stdout carries UTF-8 only");
            let Ok(value) = serde_json::from_str::<Value>(&text) else {
                panic!("stdout carries protocol frames only, not {text:?}")
            };
            let is_question = value["method"].is_string() && value.get("id").is_some();
            assert!(!is_question || self.marks.is_none(), "2026-07-28 has no requests of servers: {text}");
            match (value["method"].as_str(), value.get("id"), self.answer.as_mut()) {
                (Some(method), Some(id), Some(answer)) => {
                    let reply = match answer(method, &value["params"]) {
                        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                    };
                    self.send(reply);
                }
                _ => return Some(Message { text, value }),
            }
        }
    }

    fn give_up(&mut self, what: &str, timeout: Duration) -> ! {
        let queued: Vec<&str> = self.queue.iter().map(|message| message.text.as_str()).collect();
        let status = self.child.try_wait();
        panic!(
            "{what} did not come within {timeout:?}\nprocess: {status:?}\nput aside: {queued:#?}\nstderr: {}",
            self.stderr()
        )
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_notification(message: &Value) -> bool {
    message["method"].is_string() && message.get("id").is_none()
}

fn read_frames(mut stdout: impl BufRead, framing: Framing, frames: &Sender<Vec<u8>>) {
    let next = match framing {
        Framing::Newline => read_line,
        Framing::ContentLength => read_content_length,
    };
    while let Some(frame) = next(&mut stdout) {
        if frames.send(frame).is_err() {
            break;
        }
    }
}

fn read_line(stdout: &mut dyn BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    stdout.read_until(b'\n', &mut line).ok().filter(|count| *count > 0)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Some(line)
}

/// Reads a header and its body. A line that is no header comes as it is, so that the test sees what was wrong.
fn read_content_length(stdout: &mut dyn BufRead) -> Option<Vec<u8>> {
    let mut length = None;
    loop {
        let line = read_line(stdout)?;
        let text = String::from_utf8_lossy(line.trim_ascii()).to_ascii_lowercase();
        match (text.strip_prefix("content-length:"), length) {
            (Some(value), _) => length = value.trim().parse().ok(),
            (None, Some(length)) if text.is_empty() => {
                let mut body = vec![0; length];
                stdout.read_exact(&mut body).ok()?;
                return Some(body);
            }
            (None, _) if text.starts_with("content-") => {}
            _ => return Some(line),
        }
    }
}
