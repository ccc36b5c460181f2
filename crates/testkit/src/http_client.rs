//! A small HTTP client for modern POSTs: it writes the headers a request must have and reads answers as they come.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use crate::client::PATIENCE;
use crate::modern::{self, Marks, REVISION};

pub const BOTH: &str = "application/json, text/event-stream";

/// Who calls: every request says it anew.
#[derive(Debug)]
pub struct HttpCaller {
    port: u16,
    path: String,
    pub marks: Marks,
    last_id: AtomicU64,
}

impl HttpCaller {
    /// Calls at `http://127.0.0.1:{port}{path}` with these client capabilities.
    pub fn new(port: u16, path: &str, capabilities: Value) -> Self {
        let marks = Marks { capabilities, log_level: None };
        Self { port, path: path.to_owned(), marks, last_id: AtomicU64::new(0) }
    }

    /// Sends a request and waits for its response, answering no questions; other messages are lost.
    pub fn ask(&self, method: &str, params: Value) -> Value {
        let response = self.open(method, params).response();
        modern::check_result(method, &response);
        response
    }

    /// Sends a request whose answer is read as it comes.
    pub fn open(&self, method: &str, params: Value) -> Incoming {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        self.open_as(json!(id), method, params)
    }

    /// The same under an id of one's own.
    pub fn open_as(&self, id: Value, method: &str, params: Value) -> Incoming {
        let params = self.marks.put_on(&params);
        let headers = headers_of(method, &params);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        request(self.port, "POST", &self.path, &headers, &body.to_string())
    }
}

/// Returns the headers that a modern request must have, but for those a tool's schema asks for.
pub fn headers_of(method: &str, params: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("Accept", BOTH.to_owned()),
        ("MCP-Protocol-Version", REVISION.to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    headers.extend(name.map(|name| ("Mcp-Name", encode(name))));
    headers
}

/// Writes text as a header value: as it is where that is safe, else wrapped.
pub fn encode(text: &str) -> String {
    let is_safe = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_safe { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

/// Reads a header value; `None` if it is wrapped and cannot be unwrapped.
pub(crate) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(wrapped) => String::from_utf8(BASE64_STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Sends one request on a connection of its own and reads the head of the answer.
pub fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Incoming {
    let mut stream = Err(std::io::ErrorKind::TimedOut.into());
    // A kernel whose queue of connections is full for a moment is no failure of ours.
    crate::until(PATIENCE, || {
        stream = TcpStream::connect(("127.0.0.1", port));
        stream.is_ok()
    });
    let mut stream = stream.expect("the gateway accepts connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
    if !body.is_empty() {
        head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("the gateway reads");
    Incoming::read(BufReader::new(stream))
}

/// An answer whose messages are read as they come. Dropping it closes its connection.
pub struct Incoming {
    pub status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    left: Left,
    text: Vec<u8>,
}

/// How much of a body is to come.
#[derive(PartialEq)]
enum Left {
    Bytes(usize),
    Chunks,
    Nothing,
}

/// One thing an answer says.
#[derive(Debug)]
pub struct Said {
    /// The name of the event, empty for a plain body.
    pub event: String,
    pub data: String,
}

impl Incoming {
    fn read(mut stream: BufReader<TcpStream>) -> Self {
        let first = line(&mut stream);
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream);
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let find = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let left = match (find("transfer-encoding"), find("content-length")) {
            (Some("chunked"), _) => Left::Chunks,
            (_, Some(length)) => Left::Bytes(length.parse().expect("a length is a number")),
            _ => Left::Nothing,
        };
        Self { status, headers, stream, left, text: Vec::new() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns a handle that closes the connection from elsewhere.
    pub fn hang_up(&self) -> TcpStream {
        self.stream.get_ref().try_clone().expect("a socket can be shared")
    }

    /// Waits longer, or less long, for what comes next.
    pub fn patience(&self, patience: Option<std::time::Duration>) {
        self.stream.get_ref().set_read_timeout(patience).expect("a socket has timeouts");
    }

    /// Reads the rest of the body as JSON.
    pub fn json(mut self) -> Value {
        while self.more() {}
        let text = String::from_utf8_lossy(&self.text);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {} {text}", self.status))
    }

    /// Returns the next message, whether in an event or the whole body; `None` at the end.
    pub fn message(&mut self) -> Option<Value> {
        loop {
            let said = self.said()?;
            if !said.data.is_empty() {
                let message = serde_json::from_str(&said.data);
                return Some(message.unwrap_or_else(|_| panic!("no JSON: {said:?}")));
            }
        }
    }

    /// Reads on to the response and returns it.
    pub fn response(mut self) -> Value {
        loop {
            let Some(message) = self.message() else { panic!("status {}, and no response", self.status) };
            if message["method"].is_null() {
                return message;
            }
        }
    }

    /// Returns the next event, or the whole body; comments are left out.
    pub fn said(&mut self) -> Option<Said> {
        if self.header("content-type") != Some("text/event-stream") {
            while self.more() {}
            let data = String::from_utf8(std::mem::take(&mut self.text)).expect("the body is UTF-8");
            return (!data.is_empty()).then(|| Said { event: String::new(), data });
        }
        loop {
            let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") else {
                if self.more() {
                    continue;
                }
                return None;
            };
            let block: Vec<u8> = self.text.drain(..end + 2).collect();
            let block = String::from_utf8(block).expect("events are UTF-8");
            let field = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim_start)
            };
            if let Some(data) = field("data") {
                let event = field("event").unwrap_or_default().to_owned();
                return Some(Said { event, data: data.to_owned() });
            }
        }
    }

    /// Reads a piece of the body; false at its end, or when the connection is closed from this side.
    fn more(&mut self) -> bool {
        let count = match self.left {
            Left::Nothing | Left::Bytes(0) => return false,
            Left::Bytes(count) => {
                self.left = Left::Nothing;
                count
            }
            Left::Chunks => match usize::from_str_radix(&line(&mut self.stream), 16) {
                Ok(0) | Err(_) => {
                    self.left = Left::Nothing;
                    return false;
                }
                Ok(count) => count,
            },
        };
        let from = self.text.len();
        self.text.resize(from + count, 0);
        if self.stream.read_exact(&mut self.text[from..]).is_err() {
            self.text.truncate(from);
            self.left = Left::Nothing;
            return false;
        }
        if self.left == Left::Chunks {
            line(&mut self.stream);
        }
        true
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    // A connection that breaks shows as an empty line, and the caller knows what that means.
    let _ = stream.read_line(&mut line);
    line.trim_end().to_owned()
}
