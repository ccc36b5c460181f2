//! Spans of calls: one for what the client asked, and one in it for what we asked the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manifold_engine::{CallEnd, CallRecord, Observer, Reach, SpanId, Trace};
use manifold_protocol::Method;
use tokio::sync::mpsc;

use crate::outcome;
use crate::session::session;

/// What is kept of a text that others chose.
const MAX_TEXT: usize = 256;

/// Makes spans of calls and leaves them to whoever sends them. Where there is no room, they are counted and lost.
pub struct SpanObserver {
    spans: mpsc::Sender<Span>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Server = 2,
    Client = 3,
}

/// One span, as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace: Arc<Trace>,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) kind: SpanKind,
    pub(crate) name: String,
    /// Since 1970.
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
    pub(crate) attributes: Vec<(&'static str, String)>,
    pub(crate) failed: bool,
}

impl SpanObserver {
    pub(crate) fn new(spans: mpsc::Sender<Span>, dropped: Arc<AtomicU64>) -> Self {
        Self { spans, dropped }
    }

    fn send(&self, span: Span) {
        if self.spans.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for SpanObserver {
    fn ended(&self, record: &CallRecord, end: &CallEnd) {
        let Some(trace) = record.trace.as_ref().filter(|trace| trace.sampled) else { return };
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = ended.saturating_sub(end.took);
        if let Some(sent) = record.sent {
            let sent = began + sent.saturating_duration_since(record.began);
            self.send(client_span(record, end, trace, (sent, ended)));
        }
        self.send(server_span(record, end, trace, (began, ended)));
    }
}

fn server_span(record: &CallRecord, end: &CallEnd, trace: &Arc<Trace>, times: (Duration, Duration)) -> Span {
    let mut attributes = attributes(record, end, outcome::is_servers_fault(end));
    if record.method == Method::ToolsCall
        && let Some(exposed) = param(record, "name")
    {
        attributes.push(("manifold.tool.exposed", exposed));
    }
    if let Some(words) = &record.words {
        attributes.push(("jsonrpc.request.id", cut(&words.id)));
        attributes.push(("mcp.protocol.version", words.revision.to_owned()));
    }
    // Only where there is one, and not so that anybody could go on with it.
    if let Some(session) = session(record) {
        attributes.push(("mcp.session.id", session));
    }
    match record.address {
        Some(address) => attributes.extend([
            ("network.transport", "tcp".to_owned()),
            ("network.protocol.name", "http".to_owned()),
            ("client.address", address.to_string()),
        ]),
        None => attributes.push(("network.transport", "pipe".to_owned())),
    }
    if let Some(namespace) = &record.namespace {
        attributes.push(("manifold.namespace", namespace.clone()));
    }
    Span {
        trace: Arc::clone(trace),
        id: trace.server_span,
        parent: trace.parent,
        kind: SpanKind::Server,
        name: name(record),
        began: times.0,
        ended: times.1,
        attributes,
        failed: outcome::is_servers_fault(end),
    }
}

fn client_span(record: &CallRecord, end: &CallEnd, trace: &Arc<Trace>, times: (Duration, Duration)) -> Span {
    // Who asks is told by any code that it failed.
    let failed = outcome::error_type(end).is_some();
    let mut attributes = attributes(record, end, failed);
    if let Some(target) = &record.target {
        attributes.push(("manifold.server", target.server.clone()));
        match &target.reach {
            Reach::Inside => {}
            Reach::Pipe => attributes.push(("network.transport", "pipe".to_owned())),
            Reach::Network { host, port } => attributes.extend([
                ("network.transport", "tcp".to_owned()),
                ("network.protocol.name", "http".to_owned()),
                ("server.address", host.clone()),
                ("server.port", port.to_string()),
            ]),
        }
    }
    Span {
        trace: Arc::clone(trace),
        id: trace.client_span,
        parent: Some(trace.server_span),
        kind: SpanKind::Client,
        name: name(record),
        began: times.0,
        ended: times.1,
        attributes,
        failed,
    }
}

/// Returns what both spans say.
fn attributes(record: &CallRecord, end: &CallEnd, failed: bool) -> Vec<(&'static str, String)> {
    let mut attributes = vec![("mcp.method.name", cut(record.method.as_str()))];
    match record.method {
        Method::ToolsCall => {
            attributes.push(("gen_ai.operation.name", "execute_tool".to_owned()));
            if let Some(tool) = subject(record) {
                attributes.push(("gen_ai.tool.name", tool));
            }
        }
        Method::PromptsGet => {
            if let Some(prompt) = subject(record) {
                attributes.push(("gen_ai.prompt.name", prompt));
            }
        }
        Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            if let Some(uri) = param(record, "uri") {
                attributes.push(("mcp.resource.uri", uri));
            }
        }
        _ => {}
    }
    if failed && let Some(error) = outcome::error_type(end) {
        attributes.push(("error.type", error.into_owned()));
    }
    if let Some(code) = end.code {
        attributes.push(("rpc.response.status_code", code.to_string()));
    }
    attributes
}

fn name(record: &CallRecord) -> String {
    let method = cut(record.method.as_str());
    match subject(record) {
        Some(subject) => format!("{method} {subject}"),
        None => method,
    }
}

/// Returns the tool or prompt that a call is about, by the server's own name for it where that is known.
fn subject(record: &CallRecord) -> Option<String> {
    let tool = record.target.as_ref().and_then(|target| target.tool.as_deref());
    match record.method {
        Method::ToolsCall => tool.map(cut).or_else(|| param(record, "name")),
        Method::PromptsGet => param(record, "name"),
        _ => None,
    }
}

fn param(record: &CallRecord, key: &str) -> Option<String> {
    record.params.as_ref()?.get(key)?.to_text().map(|text| cut(&text))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
