//! Those who ask, before and after: one list of answers for both programs, so that an answer given twice is seen.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_config::{Environment, LoadOptions, Server, ServerKey, load_text};
use manifold_engine::{
    Addressee, Audience, CallHandle, ClientFacts, ClientId, Exchange, Host, Reach, Reopen, ReturnAddress,
    Sink, Standing, Target, Tasks,
};
use manifold_protocol::{Call, Caller, CodeSet, Failure, Method, Raw, Reply, Revision};
use manifold_upstreams::{Cache, Handover, Upstreams};
use serde_json::{Value, json};

use super::eventually;

/// What the askers of both programs heard.
#[derive(Default)]
pub(crate) struct Askers {
    answers: Mutex<BTreeMap<u64, Vec<String>>>,
    dispatched: Mutex<Vec<u64>>,
    handles: Mutex<BTreeMap<u64, Arc<CallHandle<dyn Sink>>>>,
    questions: Mutex<Vec<Exchange>>,
}

struct Asker {
    askers: Arc<Askers>,
    id: u64,
}

impl Sink for Asker {
    fn reply(&self, reply: Reply) {
        let text = match reply {
            Ok(answer) => said(&answer.plain()),
            Err(Failure::Fault(fault)) => Some(format!("{} {}", fault.code(CodeSet::Own), fault.message())),
            Err(Failure::Peer(error)) => Some(error.as_str().to_owned()),
        };
        self.askers.answers.lock().unwrap().entry(self.id).or_default().push(text.unwrap_or_default());
    }

    fn dispatched(&self) {
        self.askers.dispatched.lock().unwrap().push(self.id);
    }

    fn address(&self) -> Option<ReturnAddress> {
        Some(ReturnAddress { session: "window".to_owned(), id: Raw::number(self.id), steps: Vec::new() })
    }

    fn ask(&self, _call: Call, exchange: Exchange) {
        self.askers.questions.lock().unwrap().push(exchange);
    }

    fn client(&self) -> Option<ClientId> {
        Some(ClientId(1))
    }
}

fn said(result: &Raw) -> Option<String> {
    let content = result.get("content")?.elements()?;
    let text = content.first()?.get("text").and_then(|text| Some(text.to_text()?.into_owned()));
    text.or_else(|| Some(content.first()?.as_str().to_owned()))
}

/// The askers, as a program that takes another's place finds them.
pub(crate) struct Returned(pub(crate) Arc<Askers>);

impl Reopen for Returned {
    fn reopen(&self, address: ReturnAddress) -> Option<Exchange> {
        assert_eq!(address.session, "window");
        Some(self.0.open(address.id.u64().unwrap()))
    }
}

impl Askers {
    pub(crate) fn open(self: &Arc<Self>, id: u64) -> Exchange {
        let (exchange, handle) = Exchange::open(Asker { askers: Arc::clone(self), id });
        self.handles.lock().unwrap().insert(id, handle);
        exchange
    }

    pub(crate) fn call(
        self: &Arc<Self>,
        upstream: &dyn manifold_engine::Upstream,
        id: u64,
        tool: &str,
        arguments: &Value,
    ) {
        let mut exchange = self.open(id);
        let timeout = Duration::from_secs(60);
        let target =
            Target { server: "s".to_owned(), tool: Some(tool.to_owned()), timeout, reach: Reach::default() };
        exchange.set_target(Arc::new(target));
        let params = json!({"name": tool, "arguments": arguments}).to_string();
        let caller = Caller {
            capabilities: Raw::parse(r#"{"elicitation":{}}"#).unwrap(),
            info: None,
            log_level: None,
            retries: false,
            is_retry: false,
            words: Default::default(),
        };
        let call = Call::new(Method::ToolsCall, Some(Raw::parse(params).unwrap())).by(Arc::new(caller));
        upstream.send(call, exchange);
    }

    pub(crate) fn cancel(&self, id: u64) {
        let handle = self.handles.lock().unwrap().get(&id).cloned();
        handle.unwrap().cancel(None);
    }

    pub(crate) fn answers(&self, id: u64) -> Vec<String> {
        self.answers.lock().unwrap().get(&id).cloned().unwrap_or_default()
    }

    pub(crate) fn answered(&self) -> usize {
        self.answers.lock().unwrap().len()
    }

    pub(crate) fn dispatched(&self) -> Vec<u64> {
        self.dispatched.lock().unwrap().clone()
    }

    /// Waits until somebody is asked.
    pub(crate) async fn question(&self) -> Exchange {
        eventually("a question is asked", || !self.questions.lock().unwrap().is_empty()).await;
        self.questions.lock().unwrap().remove(0)
    }
}

/// What surrounds a server.
pub(crate) struct Surroundings;

impl Host for Surroundings {
    fn audience(&self) -> Audience {
        Audience::Shared
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        let empty = || Raw::parse("{}").unwrap();
        Arc::new(ClientFacts { capabilities: empty(), info: empty(), revision: Revision::LATEST })
    }

    fn standing(&self, _server: &ServerKey) -> Standing {
        Standing::default()
    }

    fn listing_changed(&self, _server: &ServerKey) {}

    fn notice(&self, _server: &ServerKey, _method: &str, _params: Option<Raw>) {}

    fn tell(&self, _server: &ServerKey, _to: Addressee, _method: &str, _params: Option<Raw>) {}

    fn ask(&self, _server: &ServerKey, _last: Option<ClientId>, _call: Call, _exchange: Exchange) {}

    fn instance(&self) -> Option<String> {
        Some("only".to_owned())
    }
}

pub(crate) fn upstreams() -> Upstreams {
    Upstreams::new(Tasks::new(), Cache::new(None), 64 << 20)
}

/// Takes up what another program left.
pub(crate) fn resume(state: &str, askers: &Arc<Askers>) -> Upstreams {
    let handover = Handover::from_json(state).unwrap();
    let returned = Arc::new(Returned(Arc::clone(askers)));
    Upstreams::resume(Tasks::new(), Cache::new(None), 64 << 20, handover, returned)
}

/// Makes a server of these keys.
pub(crate) fn server(keys: &Value) -> Arc<Server> {
    let text = json!({"mcpServers": {"s": keys}}).to_string();
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, ..LoadOptions::default() };
    let config = load_text(&text, Some(Path::new("config.json")), &options).unwrap();
    Arc::new(config.servers[0].clone())
}

/// Makes a fake server of these knobs, with every tool the tests call.
pub(crate) fn fake(mut knobs: Value, more: &Value) -> Arc<Server> {
    let tools = ["echo", "sleep", "ask", "pid"].map(|name| json!({"name": name}));
    knobs["tools"] = json!(tools);
    let mut keys =
        json!({"command": std::env::current_exe().unwrap(), "env": {"FAKE_SERVER": knobs.to_string()}});
    for (key, value) in more.as_object().unwrap() {
        keys[key] = value.clone();
    }
    server(&keys)
}

/// A server that answers a call in two halves, the second once the file is there.
pub(crate) fn half_server(file: &str) {
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let id = &message["id"];
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}})
            }
            Some("tools/list") => json!({"tools": [{"name": "echo", "inputSchema": {}}]}),
            Some("tools/call") => {
                let said = message["params"]["arguments"]["text"].as_str().unwrap().len();
                let reply = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [said]}}).to_string();
                let (first, second) = reply.split_at(reply.len() / 2);
                out.write_all(first.as_bytes()).unwrap();
                out.flush().unwrap();
                std::fs::write(format!("{file}.half"), "").unwrap();
                while !Path::new(file).exists() {
                    std::thread::sleep(Duration::from_millis(2));
                }
                writeln!(out, "{second}").unwrap();
                continue;
            }
            _ if id.is_null() => continue,
            _ => Value::Null,
        };
        let reply = if result.is_null() {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
        } else {
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        };
        writeln!(out, "{reply}").unwrap();
    }
}
