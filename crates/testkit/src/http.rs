//! A small HTTP client, and the gateway it speaks with. It reads an answer as it comes, as streams need it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::client::PATIENCE;
use crate::{Client, Sandbox, until};

/// A gateway that serves HTTP.
pub struct Gateway {
    pub client: Client,
    pub port: u16,
}

impl Gateway {
    /// Starts `manifold http` on a free port with this config and more arguments.
    pub fn start(sandbox: &Sandbox, config: &Value, more: &[&str]) -> Self {
        let client = Client::spawn(http_command(sandbox, config, more));
        let port = port_of(&client);
        Self { client, port }
    }

    /// Sends one request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut connection = Conn::open(self.port);
        connection.send(method, path, headers, body);
        connection.answer()
    }

    /// Opens a session at `/mcp` or `/mcp/{namespace}`.
    pub fn session(&self, path: &str, version: &str, capabilities: Value) -> HttpClient {
        HttpClient::open(self.port, path, version, capabilities)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.client.pid() as i32), signal).expect("the gateway runs");
    }
}

/// Returns the command for `manifold http` with this config on any free port.
pub fn http_command(sandbox: &Sandbox, config: &Value, more: &[&str]) -> std::process::Command {
    let path = sandbox.write_config(config);
    let mut command = sandbox.manifold();
    command.args(["http", "--config"]).arg(path);
    if !more.contains(&"--port") {
        command.args(["--port", "0"]);
    }
    command.args(more);
    command
}

/// Returns a request as text.
pub fn calling(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// One connection.
pub struct Conn {
    stream: BufReader<TcpStream>,
    port: u16,
}

impl Conn {
    pub fn open(port: u16) -> Self {
        let mut stream = Err(std::io::ErrorKind::TimedOut.into());
        // A kernel whose queue of connections is full for a moment is no failure of ours.
        until(PATIENCE, || {
            stream = TcpStream::connect(("127.0.0.1", port));
            stream.is_ok()
        });
        let stream = stream.expect("the gateway accepts connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream.set_nodelay(true).expect("a socket has options");
        Self { stream: BufReader::new(stream), port }
    }

    pub fn patience(&self, patience: Duration) {
        self.stream.get_ref().set_read_timeout(Some(patience)).expect("a socket has timeouts");
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).expect("the gateway reads");
    }

    pub fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a request. What `headers` do not say is filled in, save what is named with an empty value.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let head = self.head(method, path, headers, body.len());
        self.write(format!("{head}{body}").as_bytes());
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let (host, length) = (format!("127.0.0.1:{}", self.port), length.to_string());
        let usual =
            [("Host", host.as_str()), ("Content-Type", "application/json"), ("Content-Length", &length)];
        let usual = usual.into_iter().filter(|(name, _)| !given(name));
        let own = headers.iter().copied().filter(|(_, value)| !value.is_empty());
        for (name, value) in usual.chain(own) {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }

    /// Reads the head of an answer.
    pub fn response(&mut self) -> Response<'_> {
        let first = self.line().expect("an answer comes");
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {first:?}"));
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line:?}"));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let find = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let left = match (find("transfer-encoding"), find("content-length")) {
            (Some("chunked"), _) => Left::Chunks(0),
            (_, Some(length)) => Left::Bytes(length.parse().expect("a length is a number")),
            _ if status == 204 || status == 202 || status < 200 => Left::Bytes(0),
            _ => Left::All,
        };
        Response { status, headers, left, connection: self }
    }

    /// Reads a whole answer.
    pub fn answer(&mut self) -> Answer {
        let mut response = self.response();
        let mut body = Vec::new();
        while let Some(bytes) = response.bytes() {
            body.extend_from_slice(&bytes);
        }
        Answer { status: response.status, headers: response.headers, body }
    }

    /// Tells whether something can be read now.
    pub fn has_something(&self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).expect("a socket has options");
        let some = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a socket has options");
        some
    }

    /// Waits for the other end to close, with nothing more said.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    /// Reads a line, if there is one to come.
    pub fn try_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Reads so many bytes, if they come.
    pub fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.stream.read_line(&mut line).unwrap_or_else(|error| panic!("no answer: {error}"));
        (count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

/// How much of a body is to come.
enum Left {
    Bytes(usize),
    /// What is left of the present chunk.
    Chunks(usize),
    All,
    Nothing,
}

/// An answer whose body is read as it comes.
pub struct Response<'c> {
    pub status: u16,
    headers: Vec<(String, String)>,
    left: Left,
    connection: &'c mut Conn,
}

impl Response<'_> {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the next piece of the body; `None` at its proper end.
    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let stream = &mut self.connection.stream;
        let wanted = match self.left {
            Left::Nothing | Left::Bytes(0) => return None,
            Left::Bytes(count) => count,
            Left::All => usize::MAX,
            Left::Chunks(0) => {
                let mut size = String::new();
                stream.read_line(&mut size).expect("a chunk comes");
                let size = usize::from_str_radix(size.trim(), 16);
                let size = size.unwrap_or_else(|_| panic!("the answer breaks off"));
                if size == 0 {
                    stream.read_line(&mut String::new()).expect("the end of the chunks");
                    self.left = Left::Nothing;
                    return None;
                }
                self.left = Left::Chunks(size);
                size
            }
            Left::Chunks(count) => count,
        };
        let ready = stream.fill_buf().unwrap_or_else(|error| panic!("no more of the body: {error}"));
        if ready.is_empty() {
            assert!(matches!(self.left, Left::All), "the answer breaks off");
            return None;
        }
        let bytes = ready[..ready.len().min(wanted)].to_vec();
        stream.consume(bytes.len());
        match &mut self.left {
            Left::Bytes(count) => *count -= bytes.len(),
            Left::Chunks(count) => {
                *count -= bytes.len();
                if *count == 0 {
                    stream.read_line(&mut String::new()).expect("the end of the chunk");
                }
            }
            Left::All | Left::Nothing => {}
        }
        Some(bytes)
    }

    /// Reads this answer as events.
    pub fn events(self) -> Events<impl FnMut() -> Option<Vec<u8>>> {
        assert_eq!(self.status, 200);
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let mut response = self;
        Events { read: move || response.bytes(), text: Vec::new() }
    }
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the body is UTF-8")
    }

    /// Returns the message it holds: an answer that took its time is the last event of a stream.
    pub fn json(&self) -> Value {
        let text = self.text();
        let message = text.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
        serde_json::from_str(message).unwrap_or_else(|_| panic!("no JSON: {} {text}", self.status))
    }
}

/// Server-sent events as they come.
pub struct Events<R> {
    read: R,
    text: Vec<u8>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: String,
    pub retry: Option<u64>,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

impl<R: FnMut() -> Option<Vec<u8>>> Events<R> {
    /// Returns the next event, comments left out; `None` when the stream ends as it should.
    #[expect(clippy::should_implement_trait, reason = "a test reads one event at a time")]
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("events are UTF-8");
                let fields = block.lines().filter(|line| !line.is_empty() && !line.starts_with(':'));
                let mut event = Event::default();
                let mut any = false;
                for field in fields {
                    any = true;
                    let (name, value) = field.split_once(": ").unwrap_or((field.trim_end_matches(':'), ""));
                    match name {
                        "id" => event.id = Some(value.to_owned()),
                        "event" => value.clone_into(&mut event.kind),
                        "retry" => event.retry = value.parse().ok(),
                        "data" => event.data += value,
                        _ => panic!("an odd field: {field}"),
                    }
                }
                if any {
                    return Some(event);
                }
                continue;
            }
            match (self.read)() {
                Some(bytes) => self.text.extend_from_slice(&bytes),
                None => {
                    assert!(self.text.is_empty(), "half an event: {:?}", String::from_utf8_lossy(&self.text));
                    return None;
                }
            }
        }
    }

    /// Returns the next event that says something.
    pub fn message(&mut self) -> Value {
        loop {
            let event = self.next().expect("the stream goes on");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }
}

pub const BOTH: &str = "application/json, text/event-stream";

/// A client with a session.
#[derive(Clone)]
pub struct HttpClient {
    port: u16,
    path: String,
    pub id: String,
}

impl HttpClient {
    pub fn open(port: u16, path: &str, version: &str, capabilities: Value) -> Self {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let mut connection = Conn::open(port);
        connection.send("POST", path, &[("Accept", BOTH)], &calling(1, "initialize", params));
        let answer = connection.answer();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["result"]["protocolVersion"], version, "{}", answer.text());
        let id = answer.header("mcp-session-id").expect("a session has an id").to_owned();
        let client = Self { port, path: path.to_owned(), id };
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(client.post(BOTH, &told.to_string()).status, 202);
        client
    }

    /// Returns the same client as it comes to another gateway.
    pub fn at(&self, port: u16) -> Self {
        Self { port, ..self.clone() }
    }

    /// Sends a request of this session on a connection of its own.
    pub fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Conn {
        let mut connection = Conn::open(self.port);
        let mut all = vec![("Mcp-Session-Id", self.id.as_str())];
        all.extend_from_slice(headers);
        connection.send(method, &self.path, &all, body);
        connection
    }

    pub fn post(&self, accept: &str, body: &str) -> Answer {
        self.send("POST", &[("Accept", accept)], body).answer()
    }

    /// Calls a tool; the answer is a stream or not.
    pub fn call(&self, id: u64, tool: &str, arguments: Value, token: Option<Value>) -> Conn {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        self.send("POST", &[("Accept", BOTH)], &calling(id, "tools/call", params))
    }

    pub fn listen(&self, last: Option<&str>) -> Conn {
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        self.send("GET", &headers, "")
    }

    pub fn delete(&self) -> u16 {
        self.send("DELETE", &[], "").answer().status
    }

    /// Answers a question of the server's.
    pub fn reply(&self, id: &Value, result: Value) {
        let reply = json!({"jsonrpc": "2.0", "id": id, "result": result});
        assert_eq!(self.post(BOTH, &reply.to_string()).status, 202);
    }
}

/// Waits for the address in the log, as a port of 0 means any that is free.
pub fn port_of(client: &Client) -> u16 {
    const SIGN: &str = "listening on http://127.0.0.1:";
    let mut port = None;
    until(PATIENCE, || {
        let stderr = client.stderr();
        let rest = stderr.split_once(SIGN).and_then(|(_, rest)| rest.split_once('\n'));
        port = rest.and_then(|(port, _)| port.trim().parse().ok());
        port.is_some()
    });
    port.unwrap_or_else(|| panic!("it does not listen: {}", client.stderr()))
}

/// Ends the process the way a service manager does, and checks that nothing was ever said on stdout.
pub fn end_quietly(mut client: Client) {
    kill(Pid::from_raw(client.pid() as i32), Signal::SIGTERM).unwrap_or_else(|error| panic!("{error}"));
    let status = client.wait_exit(PATIENCE);
    assert_eq!(status.code(), Some(0), "{}", client.stderr());
    assert_eq!(client.recv_raw(PATIENCE), None, "stdout is the protocol's, and HTTP has none on it");
}
