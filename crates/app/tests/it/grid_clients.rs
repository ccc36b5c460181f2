//! A client for each front end, all driven alike. Each answers questions by itself, whichever way they come.
#![expect(clippy::disallowed_types, reason = "real processes run in real time")]

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use manifold_testkit::client::PATIENCE;
use manifold_testkit::http_client::{BOTH, Incoming, headers_of, request};
use manifold_testkit::modern::{self, Marks};
use manifold_testkit::{Client, Sandbox};
use serde_json::{Value, json};

use manifold_testkit::http::port_of;

const LEGACY: &str = "2025-11-25";

/// A way to reach the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    StdioLegacy,
    StdioModern,
    HttpLegacy,
    HttpModern,
    OldSse,
    Api,
}

impl Front {
    pub(crate) const ALL: [Self; 6] =
        [Self::StdioLegacy, Self::StdioModern, Self::HttpLegacy, Self::HttpModern, Self::OldSse, Self::Api];

    pub(crate) fn is_modern(self) -> bool {
        matches!(self, Self::StdioModern | Self::HttpModern)
    }

    /// Starts a gateway with this config, or none, and a client of it.
    pub(crate) fn connect(self, sandbox: &Sandbox, config: Option<&Value>) -> Box<dyn Peer> {
        let mut command = sandbox.manifold();
        match self {
            Self::StdioLegacy | Self::StdioModern => command.args(["serve", "--stdio"]),
            _ => command.args(["http", "--port", "0"]),
        };
        if let Some(config) = config {
            command.arg("--config").arg(sandbox.write_config(config));
        }
        let mut client = Client::spawn(command);
        match self {
            Self::StdioLegacy => {
                client.initialize(LEGACY, able());
            }
            Self::StdioModern => client.speak_modern(able()),
            _ => return Box::new(HttpPeer::connect(self, client)),
        }
        client.answer(|_, _| Ok(answer()));
        Box::new(StdioPeer { client, front: self })
    }
}

fn able() -> Value {
    json!({"elicitation": {}})
}

/// What every client says to every question.
pub(crate) fn answer() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

/// One client of a gateway.
pub(crate) trait Peer {
    /// Sends a request and waits for its response.
    fn ask(&mut self, method: &str, params: Value) -> Value;
    /// Sends a request and returns its id.
    fn begin(&mut self, method: &str, params: Value) -> u64;
    /// Cancels a request in the way of its era and transport.
    fn cancel(&mut self, id: u64);
    /// Returns the next notification of this method, if one comes in time.
    fn hear(&mut self, method: &str, within: Duration) -> Option<Value>;
    fn set_log_level(&mut self, level: &str);
    /// Wants to hear of changes of the tools and of this resource.
    fn subscribe(&mut self, uri: &str);

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }
}

fn filter(uri: &str) -> Value {
    json!({"toolsListChanged": true, "resourceSubscriptions": [uri]})
}

struct StdioPeer {
    client: Client,
    front: Front,
}

impl Peer for StdioPeer {
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.client.ask(method, params)
    }

    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.client.request(method, params)
    }

    fn cancel(&mut self, id: u64) {
        self.client.notify("notifications/cancelled", json!({"requestId": id}));
    }

    fn hear(&mut self, method: &str, within: Duration) -> Option<Value> {
        self.client.try_notification(method, within)
    }

    fn set_log_level(&mut self, level: &str) {
        self.client.set_log_level(level);
    }

    fn subscribe(&mut self, uri: &str) {
        if self.front.is_modern() {
            self.client.listen(filter(uri));
        } else {
            let response = self.client.ask("resources/subscribe", json!({"uri": uri}));
            assert!(response["error"].is_null(), "{response}");
        }
    }
}

/// A client over HTTP. Each answer is read by a thread of its own; what comes meets in one inbox.
struct HttpPeer {
    line: Arc<Line>,
    inbox: Receiver<Value>,
    /// What came while something else was waited for.
    aside: VecDeque<Value>,
    marks: Marks,
    last_id: u64,
    open: HashMap<u64, TcpStream>,
    /// The gateway ends with it.
    _gateway: Client,
}

/// Where messages go, and what stands on each.
struct Line {
    front: Front,
    port: u16,
    path: String,
    session: Option<String>,
    came: Sender<Value>,
}

impl HttpPeer {
    fn connect(front: Front, gateway: Client) -> Self {
        let port = port_of(&gateway);
        let (came, inbox) = channel();
        let path = if front == Front::Api { "/api/default/mcp" } else { "/mcp" }.to_owned();
        let mut line = Line { front, port, path, session: None, came };
        let old_stream = match front {
            Front::HttpLegacy => {
                line.open_session();
                None
            }
            Front::OldSse => Some(line.open_old_stream()),
            _ => None,
        };
        let marks = Marks { capabilities: able(), log_level: None };
        let line = Arc::new(line);
        let (aside, open) = (VecDeque::new(), HashMap::new());
        let mut peer = Self { line, inbox, aside, marks, last_id: 0, open, _gateway: gateway };
        if let Some(stream) = old_stream {
            peer.line.clone().read(stream);
            assert!(peer.ask("initialize", initialize())["error"].is_null());
            peer.line.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        if front == Front::HttpLegacy {
            let stream = peer.line.request("GET", &[("Accept", "text/event-stream")], "");
            peer.line.clone().read(stream);
        }
        peer
    }

    fn wait(&mut self, within: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(place) = self.aside.iter().position(&wanted) {
            return self.aside.remove(place);
        }
        let end = Instant::now() + within;
        while let Ok(message) = self.inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if wanted(&message) {
                return Some(message);
            }
            self.aside.push_back(message);
        }
        None
    }
}

fn initialize() -> Value {
    let info = json!({"name": "grid", "version": "1"});
    json!({"protocolVersion": LEGACY, "capabilities": able(), "clientInfo": info})
}

impl Peer for HttpPeer {
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        loop {
            let id = self.begin(method, params.clone());
            // An error that could not be put to an id is an answer too.
            let is_answer = |message: &Value| message["id"] == id || message["id"].is_null();
            let response = self.wait(PATIENCE, |message| message["method"].is_null() && is_answer(message));
            let Some(response) = response else {
                panic!("{method} was not answered; aside: {:?}", self.aside)
            };
            if !self.line.front.is_modern() {
                return response;
            }
            let result = modern::check_result(method, &response);
            match modern::retry(&params, result, &mut |_, _| Ok(answer())) {
                Some(next) => params = next,
                None => return response,
            }
        }
    }

    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let params = if self.line.front.is_modern() { self.marks.put_on(&params) } else { params };
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        let stream = self.line.post(&message);
        self.open.insert(self.last_id, stream.hang_up());
        Arc::clone(&self.line).read(stream);
        self.last_id
    }

    fn cancel(&mut self, id: u64) {
        match self.line.front {
            Front::HttpModern => {
                let stream = self.open.remove(&id);
                stream.map(|stream| stream.shutdown(Shutdown::Both));
            }
            _ => {
                let params = json!({"requestId": id});
                let method = "notifications/cancelled";
                self.line.post(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
            }
        }
    }

    fn hear(&mut self, method: &str, within: Duration) -> Option<Value> {
        self.wait(within, |message| message["method"] == method)
    }

    fn set_log_level(&mut self, level: &str) {
        if self.line.front.is_modern() {
            self.marks.log_level = Some(level.to_owned());
        } else {
            self.ask("logging/setLevel", json!({"level": level}));
        }
    }

    fn subscribe(&mut self, uri: &str) {
        if self.line.front.is_modern() {
            let id = self.begin("subscriptions/listen", json!({"notifications": filter(uri)}));
            let told = self.hear("notifications/subscriptions/acknowledged", PATIENCE);
            assert_eq!(told.as_ref().map(modern::tag_of), Some(&json!(id)), "{told:?}");
        } else {
            let response = self.ask("resources/subscribe", json!({"uri": uri}));
            assert!(response["error"].is_null(), "{response}");
        }
    }
}

impl Line {
    fn open_session(&mut self) {
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()});
        let answer = self.post(&message);
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        let answer = answer.response();
        assert!(self.session.is_some() && answer["error"].is_null(), "{answer}");
        self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn open_old_stream(&mut self) -> Incoming {
        let mut stream = request(self.port, "GET", "/sse", &[("Accept", "text/event-stream")], "");
        let first = stream.said().unwrap_or_else(|| panic!("the stream ends"));
        assert_eq!(first.event, "endpoint");
        self.path = first.data;
        stream
    }

    fn post(&self, message: &Value) -> Incoming {
        let headers = match (self.front, message["method"].as_str()) {
            (Front::HttpModern, Some(method)) => headers_of(method, &message["params"]),
            _ => vec![("Accept", BOTH.to_owned())],
        };
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.request("POST", &headers, &message.to_string())
    }

    fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Incoming {
        let mut headers = headers.to_vec();
        headers.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        request(self.port, method, &self.path, &headers, body)
    }

    /// Reads an answer to its end in a thread of its own.
    fn read(self: Arc<Self>, mut stream: Incoming) {
        // The old transport answers a POST with a word, and the rest comes on its stream.
        if stream.status == 202 {
            return;
        }
        thread::spawn(move || {
            stream.patience(None);
            while let Some(message) = stream.message() {
                let is_question = message["method"].is_string() && !message["id"].is_null();
                if is_question && !self.front.is_modern() {
                    self.post(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer()}));
                } else if self.came.send(message).is_err() {
                    break;
                }
            }
        });
    }
}
