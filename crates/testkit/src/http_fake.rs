//! A scripted MCP server over HTTP: Streamable HTTP at `/mcp`, the old SSE transport at `/sse`, everything it was sent
//! on record, and faults that are switched on and off while it runs.
#![expect(clippy::disallowed_types, reason = "real sockets run in real time, paused clock or not")]

mod http;
mod modern;
mod serve;
mod tools;
mod trouble;

use std::collections::{HashMap, HashSet};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use serve::event;
pub use trouble::Trouble;

use crate::modern::{Era, Listener};

/// How requests at `/mcp` are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Json,
    Events,
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
