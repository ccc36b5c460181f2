//! A scripted MCP server over HTTP: Streamable HTTP at `/mcp`, the old SSE transport at `/sse`, everything it was sent
//! on record, and faults that are switched on and off while it runs.
#![expect(clippy::disallowed_types, reason = "real sockets run in real time, paused clock or not")]

mod http;
mod modern;
mod tools;

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use http::{read_request, write_chunk, write_head, write_whole};
use tools::Line;

use crate::modern::{Era, Listener, Speech};

/// How requests at `/mcp` are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Json,
    Events,
}

/// One thing that goes wrong with a request.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// This status, these headers and this body instead of an answer.
    Status { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Status 400 with a JSON-RPC error under the request's own id.
    RpcError { code: i64, message: &'static str },
    /// Status 202 as if it were a notification.
    Accepted,
    /// The request is read and never answered; the connection stays open.
    HalfOpen,
    /// These bytes instead of an answer; the connection stays open.
    Raw(String),
    /// The request is read and the connection closed.
    Close,
    /// A stream that ends before the answer, cleanly or in the middle of a chunk. With an id, the answer can be had
    /// with `Last-Event-ID`.
    Cut { id: bool, clean: bool },
    /// The answer comes in pieces with pauses.
    SlowBody { pause: Duration },
    /// An event that does not end, of at most this many bytes.
    EndlessEvent { bytes: usize },
    /// The right answer under this content type.
    WrongType(&'static str),
    /// An answer under another id.
    WrongId,
    /// Wait, then serve as usual.
    Delay(Duration),
}

impl Trouble {
    pub fn status(status: u16) -> Self {
        Self::Status { status, headers: Vec::new(), body: String::new() }
    }

    pub fn retry_after(status: u16, seconds: u64) -> Self {
        Self::Status {
            status,
            headers: vec![("Retry-After", seconds.to_string())],
            body: "not now".to_owned(),
        }
    }

    pub fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::Status { status, headers: vec![("Location", location.into())], body: String::new() }
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub at: Instant,
    pub method: String,
    /// The request target as written, whole address or path.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON, `null` if it is none.
    pub body: Value,
    /// Which connection it came on.
    pub connection: u64,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the path of the target, without the origin a proxy is told.
    fn path(&self) -> &str {
        let path = match self.target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => &self.target,
        };
        path.split('?').next().unwrap_or_default()
    }

    fn query(&self, key: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }
}

/// The server. It ends with the handle.
pub struct HttpFake {
    shared: Arc<Shared>,
    port: u16,
    accepting: Mutex<Option<(Arc<AtomicBool>, thread::JoinHandle<()>)>>,
}

struct Shared {
    style: Mutex<Style>,
    era: Era,
    has_library: AtomicBool,
    tools: Mutex<Vec<Value>>,
    planned: Mutex<Vec<Planned>>,
    record: Mutex<Vec<Recorded>>,
    ran: Mutex<Vec<Value>>,
    sessions: Mutex<HashSet<String>>,
    /// The open stream of each session.
    streams: Mutex<HashMap<String, Sender<String>>>,
    /// Answers kept for whoever takes a stream up again, by event id.
    kept: Mutex<HashMap<String, Value>>,
    questions: Mutex<HashMap<u64, Sender<Value>>>,
    cancelled: Mutex<HashSet<String>>,
    /// Those who hear of changes because they asked to.
    listeners: Mutex<HashMap<u64, (Listener, Sender<String>)>>,
    /// The params of calls whose caller closed the stream.
    hung_up: Mutex<Vec<Value>>,
    connections: Mutex<HashMap<u64, TcpStream>>,
    count: AtomicU64,
    stateless: AtomicBool,
    no_listening: AtomicBool,
}

struct Planned {
    /// An RPC method, an HTTP method, or `*`.
    on: String,
    /// `None`: until healed.
    times: Option<usize>,
    trouble: Trouble,
}

impl HttpFake {
    /// Starts a server with these tools, by name: `echo`, `sleep`, `progress`, `ask`, `log`, `big`, `addtool`; any
    /// other echoes too.
    pub fn start(style: Style, tools: &[&str]) -> Self {
        Self::start_as(Era::Legacy, style, tools)
    }

    /// Starts a server of this era. `update` tells of a changed resource, `fail` fails.
    pub fn start_as(era: Era, style: Style, tools: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let listed = tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
        let shared = Arc::new(Shared {
            style: Mutex::new(style),
            era,
            has_library: AtomicBool::new(false),
            tools: Mutex::new(listed.collect()),
            planned: Mutex::default(),
            record: Mutex::default(),
            ran: Mutex::default(),
            sessions: Mutex::default(),
            streams: Mutex::default(),
            kept: Mutex::default(),
            questions: Mutex::default(),
            cancelled: Mutex::default(),
            listeners: Mutex::default(),
            hung_up: Mutex::default(),
            connections: Mutex::default(),
            count: AtomicU64::new(0),
            stateless: AtomicBool::new(false),
            no_listening: AtomicBool::new(false),
        });
        let fake = Self { shared, port, accepting: Mutex::default() };
        fake.accept_on(listener);
        fake
    }

    /// Returns the address of Streamable HTTP.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Returns the address of the old transport.
    pub fn sse_url(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Has a resource `a://1`, a template `b://{id}` and a prompt `p` from now on.
    pub fn with_library(&self) {
        self.shared.has_library.store(true, Ordering::SeqCst);
    }

    /// Lists these tools from now on.
    pub fn set_tools(&self, tools: &[Value]) {
        *lock(&self.shared.tools) = tools.to_vec();
    }

    /// Returns the params of the calls whose caller closed the stream before the answer.
    pub fn hung_up(&self) -> Vec<Value> {
        lock(&self.shared.hung_up).clone()
    }

    /// Returns how many listen for changes.
    pub fn listeners(&self) -> usize {
        lock(&self.shared.listeners).len()
    }

    /// Ends every listening in good order.
    pub fn end_listeners(&self) {
        for (_, (listener, stream)) in lock(&self.shared.listeners).drain() {
            let _ = stream.send(event(&listener.end(), None));
        }
    }

    /// Serves without session ids from now on.
    pub fn without_sessions(&self) {
        self.shared.stateless.store(true, Ordering::SeqCst);
    }

    /// Refuses the stream of GET from now on, as a server may.
    pub fn without_listening(&self) {
        self.shared.no_listening.store(true, Ordering::SeqCst);
    }

    /// Lets the next `times` requests fail: those of this RPC method (`tools/call`), HTTP method (`GET`), or all (`*`).
    pub fn trouble(&self, on: &str, times: usize, trouble: Trouble) {
        lock(&self.shared.planned).push(Planned { on: on.to_owned(), times: Some(times), trouble });
    }

    /// Lets every such request fail until `heal`.
    pub fn trouble_for_good(&self, on: &str, trouble: Trouble) {
        lock(&self.shared.planned).push(Planned { on: on.to_owned(), times: None, trouble });
    }

    /// Takes back all trouble.
    pub fn heal(&self) {
        lock(&self.shared.planned).clear();
    }

    /// Forgets every session, as a server does that was restarted: their requests get 404.
    pub fn forget_sessions(&self) {
        lock(&self.shared.sessions).clear();
        lock(&self.shared.streams).clear();
    }

    /// Closes the port and every connection.
    pub fn go_down(&self) {
        if let Some((stop, accepting)) = lock(&self.accepting).take() {
            stop.store(true, Ordering::SeqCst);
            accepting.join().expect("the accepting thread ends");
        }
        lock(&self.shared.streams).clear();
        lock(&self.shared.listeners).clear();
        for (_, connection) in lock(&self.shared.connections).drain() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Opens the same port again.
    pub fn come_back(&self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).expect("the port is still free");
        self.accept_on(listener);
    }

    /// Sends a notification on every open stream.
    pub fn tell(&self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        for stream in lock(&self.shared.streams).values() {
            let _ = stream.send(event(&message, None));
        }
        self.shared.tell_listeners(method, &message["params"]);
    }

    /// Ends every open stream in good order; their sessions live on.
    pub fn end_streams(&self) {
        lock(&self.shared.streams).clear();
    }

    /// Returns how many streams are open for what belongs to no request.
    pub fn streams(&self) -> usize {
        lock(&self.shared.streams).len()
    }

    /// Returns the connections that are open, by the number they have in the record.
    pub fn connections(&self) -> Vec<u64> {
        lock(&self.shared.connections).keys().copied().collect()
    }

    /// Returns every request so far.
    pub fn record(&self) -> Vec<Recorded> {
        lock(&self.shared.record).clone()
    }

    /// Returns the requests that carried a message of this method.
    pub fn received(&self, method: &str) -> Vec<Recorded> {
        self.record().into_iter().filter(|request| request.body["method"] == method).collect()
    }

    /// Returns the params of every tool call that was carried out.
    pub fn ran(&self) -> Vec<Value> {
        lock(&self.shared.ran).clone()
    }

    fn accept_on(&self, listener: TcpListener) {
        listener.set_nonblocking(true).expect("a listener can be polled");
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, shared) = (Arc::clone(&stop), Arc::clone(&self.shared));
        let accepting = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => shared.accept(stream),
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        *lock(&self.accepting) = Some((stop, accepting));
    }
}

impl Drop for HttpFake {
    fn drop(&mut self) {
        self.go_down();
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_nodelay(true);
        let Ok(handle) = stream.try_clone() else { return };
        let number = self.next();
        lock(&self.connections).insert(number, handle);
        let shared = Arc::clone(self);
        thread::spawn(move || {
            if let Ok(reading) = stream.try_clone() {
                let mut reader = BufReader::new(reading);
                while let Some(request) = read_request(&mut reader, number) {
                    lock(&shared.record).push(request.clone());
                    // A client that is gone is no concern of ours.
                    if !matches!(shared.serve(&request, &stream), Ok(true)) {
                        break;
                    }
                }
            }
            lock(&shared.connections).remove(&number);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }

    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn trouble_for(&self, request: &Recorded) -> Option<Trouble> {
        let mut planned = lock(&self.planned);
        let place = planned.iter().position(|one| {
            one.on == "*" || one.on == request.method || request.body["method"] == one.on.as_str()
        })?;
        let one = planned.get_mut(place)?;
        let trouble = one.trouble.clone();
        if let Some(times) = &mut one.times {
            *times -= 1;
            if *times == 0 {
                planned.remove(place);
            }
        }
        Some(trouble)
    }

    /// Answers a request. Returns whether the connection can be used again.
    fn serve(self: &Arc<Self>, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        let trouble = self.trouble_for(request);
        match &trouble {
            Some(Trouble::Status { status, headers, body }) => {
                return write_whole(stream, *status, headers, "text/plain", body.as_bytes());
            }
            Some(Trouble::RpcError { code, message }) => {
                let error = json!({"jsonrpc": "2.0", "id": request.body["id"], "error": {"code": code, "message": message}});
                return write_whole(stream, 400, &[], "application/json", error.to_string().as_bytes());
            }
            Some(Trouble::Accepted) => return write_whole(stream, 202, &[], "", b""),
            Some(Trouble::HalfOpen) => {
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Raw(text)) => {
                let mut out = stream;
                out.write_all(text.as_bytes())?;
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Close) => return Ok(false),
            Some(Trouble::Delay(pause)) => thread::sleep(*pause),
            _ => {}
        }
        match (request.method.as_str(), request.path()) {
            ("POST", "/messages") => self.old_post(request, stream),
            ("GET", "/sse") => self.old_stream(stream),
            ("POST", "/mcp" | "/moved") if self.is_modern(request) => {
                self.modern_post(request, stream, trouble)
            }
            ("GET" | "DELETE", "/mcp" | "/moved") if self.era == Era::Modern => {
                write_whole(stream, 405, &[], "text/plain", b"no such method")
            }
            ("POST", "/mcp" | "/moved") => self.post(request, stream, trouble),
            ("GET", "/mcp" | "/moved") => self.listen(request, stream),
            ("DELETE", "/mcp" | "/moved") => {
                lock(&self.sessions).remove(request.header("mcp-session-id").unwrap_or_default());
                write_whole(stream, 200, &[], "", b"")
            }
            (_, "/sse" | "/mcp" | "/messages") => {
                write_whole(stream, 405, &[], "text/plain", b"no such method")
            }
            _ => write_whole(stream, 404, &[], "text/plain", b"no such path"),
        }
    }

    fn post(
        &self,
        request: &Recorded,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        let body = &request.body;
        let mut headers = Vec::new();
        let mut session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        if body["method"] == "initialize" {
            if !self.stateless.load(Ordering::SeqCst) {
                session = format!("session-{}", self.next());
                lock(&self.sessions).insert(session.clone());
                headers.push(("Mcp-Session-Id", session.clone()));
            }
        } else if !self.stateless.load(Ordering::SeqCst) && !lock(&self.sessions).contains(&session) {
            // A server demands a session first, and then one that it knows.
            let status = if session.is_empty() { 400 } else { 404 };
            return write_whole(stream, status, &[], "text/plain", b"no such session");
        }
        if body["method"].is_null() || body["id"].is_null() {
            self.take_in(body);
            return write_whole(stream, 202, &headers, "", b"");
        }
        let style = match trouble {
            Some(Trouble::Cut { .. } | Trouble::EndlessEvent { .. }) => Style::Events,
            _ => *lock(&self.style),
        };
        match style {
            Style::Json => {
                let to_stream = |message: &Value| self.push(&session, message);
                let mut answer = self.run(body, &Line::to(Speech::Legacy, &to_stream));
                let kind = match trouble {
                    Some(Trouble::WrongType(kind)) => kind,
                    _ => "application/json",
                };
                if let Some(Trouble::WrongId) = trouble {
                    answer["id"] = json!(4711);
                }
                let text = answer.to_string();
                match trouble {
                    Some(Trouble::SlowBody { pause }) => {
                        let mut out = stream;
                        write_head(out, 200, &headers, kind, Some(text.len()))?;
                        for piece in text.as_bytes().chunks(text.len().div_ceil(5)) {
                            out.write_all(piece)?;
                            thread::sleep(pause);
                        }
                        Ok(true)
                    }
                    _ => write_whole(stream, 200, &headers, kind, text.as_bytes()),
                }
            }
            Style::Events => {
                write_head(stream, 200, &headers, "text/event-stream", None)?;
                self.answer_in_events(body, stream, trouble)
            }
        }
    }

    fn answer_in_events(
        &self,
        body: &Value,
        stream: &TcpStream,
        trouble: Option<Trouble>,
    ) -> std::io::Result<bool> {
        match trouble {
            Some(Trouble::EndlessEvent { bytes }) => {
                write_chunk(stream, b"data: ")?;
                let piece = vec![b'x'; 1 << 16];
                for _ in 0..bytes >> 16 {
                    write_chunk(stream, &piece)?;
                }
                // It never ends; only the client can end it.
                wait_for_end(stream);
                return Ok(false);
            }
            Some(Trouble::Cut { id, clean }) => {
                let name = format!("event-{}", self.next());
                let head =
                    if id { format!("retry: 20\nid: {name}\n") } else { ": nothing to go by\n".to_owned() };
                write_chunk(stream, format!("{head}data:\n\n").as_bytes())?;
                if clean {
                    write_chunk(stream, b"")?;
                }
                // The connection goes; the work goes on.
                let _ = stream.shutdown(Shutdown::Both);
                let answer = self.run(body, &Line::to(Speech::Legacy, &|_| {}));
                if id {
                    lock(&self.kept).insert(name, answer);
                }
                return Ok(false);
            }
            _ => {}
        }
        let to_caller = |message: &Value| {
            let _ = write_chunk(stream, event(message, None).as_bytes());
        };
        let mut answer = self.run(body, &Line::to(Speech::Legacy, &to_caller));
        if let Some(Trouble::WrongId) = trouble {
            answer["id"] = json!(4711);
        }
        write_chunk(stream, event(&answer, None).as_bytes())?;
        write_chunk(stream, b"")?;
        Ok(true)
    }

    /// Serves the stream of GET: what belongs to no request, or the rest of a stream that was cut.
    fn listen(&self, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        if let Some(id) = request.header("last-event-id")
            && id.starts_with("event-")
        {
            let id = id.to_owned();
            let mut answer = None;
            crate::until(Duration::from_secs(5), || {
                answer = lock(&self.kept).remove(&id);
                answer.is_some()
            });
            let Some(answer) = answer else { return write_whole(stream, 404, &[], "", b"") };
            write_head(stream, 200, &[], "text/event-stream", None)?;
            write_chunk(stream, event(&answer, Some("event-last")).as_bytes())?;
            write_chunk(stream, b"")?;
            return Ok(true);
        }
        if self.no_listening.load(Ordering::SeqCst) {
            return write_whole(stream, 405, &[], "text/plain", b"no such stream");
        }
        let session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        if !self.stateless.load(Ordering::SeqCst) && !lock(&self.sessions).contains(&session) {
            return write_whole(stream, 404, &[], "text/plain", b"no such session");
        }
        write_head(stream, 200, &[], "text/event-stream", None)?;
        self.stream_to(stream, session, None)
    }

    fn old_stream(&self, stream: &TcpStream) -> std::io::Result<bool> {
        let session = format!("old-{}", self.next());
        lock(&self.sessions).insert(session.clone());
        write_head(stream, 200, &[], "text/event-stream", None)?;
        let first = format!("event: endpoint\ndata: /messages?sessionId={session}\n\n");
        self.stream_to(stream, session, Some(first))
    }

    fn stream_to(&self, stream: &TcpStream, session: String, first: Option<String>) -> std::io::Result<bool> {
        let (sender, events) = channel();
        lock(&self.streams).insert(session, sender);
        write_chunk(stream, first.unwrap_or_else(|| ": here\n\n".to_owned()).as_bytes())?;
        loop {
            match events.recv_timeout(Duration::from_millis(100)) {
                Ok(text) => write_chunk(stream, text.as_bytes())?,
                Err(RecvTimeoutError::Timeout) => write_chunk(stream, b": still here\n\n")?,
                Err(RecvTimeoutError::Disconnected) => return write_chunk(stream, b"").map(|()| true),
            }
        }
    }

    fn old_post(self: &Arc<Self>, request: &Recorded, stream: &TcpStream) -> std::io::Result<bool> {
        let session = request.query("sessionId").unwrap_or_default().to_owned();
        if !lock(&self.sessions).contains(&session) {
            return write_whole(stream, 404, &[], "text/plain", b"no such session");
        }
        if request.body["method"].is_null() || request.body["id"].is_null() {
            self.take_in(&request.body);
        } else {
            // The connection takes the next message while this one is carried out.
            let (shared, body) = (Arc::clone(self), request.body.clone());
            thread::spawn(move || {
                let to_stream = |message: &Value| shared.push(&session, message);
                let answer = shared.run(&body, &Line::to(Speech::Legacy, &to_stream));
                shared.push(&session, &answer);
            });
        }
        write_whole(stream, 202, &[], "text/plain", b"Accepted")
    }

    /// Takes a notification, or an answer to a question.
    fn take_in(&self, body: &Value) {
        if body["method"] == "notifications/cancelled" {
            lock(&self.cancelled).insert(body["params"]["requestId"].to_string());
        }
        if body["method"].is_null()
            && let Some(question) = body["id"].as_u64()
            && let Some(waiting) = lock(&self.questions).remove(&question)
        {
            // Whoever asked may have been cancelled.
            let _ = waiting.send(body.clone());
        }
    }

    fn push(&self, session: &str, message: &Value) {
        // A stream is opened soon after the handshake; what is said before waits for it.
        crate::until(Duration::from_secs(5), || lock(&self.streams).contains_key(session));
        if let Some(stream) = lock(&self.streams).get(session) {
            let _ = stream.send(event(message, None));
        }
    }
}

fn event(message: &Value, id: Option<&str>) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("event: message\n{id}data: {message}\n\n")
}

/// Blocks until the other side has closed the connection.
fn wait_for_end(stream: &TcpStream) {
    let mut byte = [0];
    while matches!(std::io::Read::read(&mut &*stream, &mut byte), Ok(1..)) {}
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
