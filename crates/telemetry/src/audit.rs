//! One line for each call: who asked for what, and what came of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use manifold_config::redact;
use manifold_engine::{CallEnd, CallRecord, Observer};
use manifold_protocol::{Method, Raw};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::outcome;
use crate::session::session;

/// Names of arguments that are written down.
const MAX_KEYS: usize = 64;
/// What is kept of arguments and results.
const MAX_PAYLOAD: usize = 16 << 10;

/// Takes calls as they end, and hands them to whoever writes them down. It may not wait.
pub struct CallAuditor {
    payload: bool,
    last: AtomicU64,
    take: Box<dyn Fn(AuditEntry) + Send + Sync>,
}

/// A call that has ended. What it was called with and what it came to are looked at where nobody waits.
pub struct AuditEntry {
    at: Timestamp,
    sequence: u64,
    record: CallRecord,
    end: CallEnd,
    payload: bool,
}

impl CallAuditor {
    pub fn new(payload: bool, take: impl Fn(AuditEntry) + Send + Sync + 'static) -> Self {
        Self { payload, last: AtomicU64::new(0), take: Box::new(take) }
    }
}

impl Observer for CallAuditor {
    fn ended(&self, record: &CallRecord, end: &CallEnd) {
        (self.take)(AuditEntry {
            at: Timestamp::now(),
            sequence: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            record: record.clone(),
            end: end.clone(),
            payload: self.payload,
        });
    }
}

impl AuditEntry {
    /// Returns about how much memory it holds.
    pub fn bytes(&self) -> usize {
        512 + self.record.request_bytes + self.end.response_bytes
    }

    /// Returns its line, with its end.
    pub fn line(&self) -> String {
        let (record, end) = (&self.record, &self.end);
        let target = record.target.as_deref();
        let arguments = record.params.as_ref().and_then(|params| match record.method {
            Method::ToolsCall | Method::PromptsGet => params.get("arguments"),
            _ => None,
        });
        let mut line = Map::new();
        let mut set = |key: &str, value: Value| {
            if !value.is_null() {
                line.insert(key.to_owned(), value);
            }
        };
        set("ts", json!(self.at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()));
        set("seq", json!(self.sequence));
        set("id", json!(identifier(self.at, self.sequence, record)));
        set("trace_id", json!(record.trace.as_ref().map(|trace| trace.id())));
        set("event", json!(if is_list(&record.method) { "list" } else { "call" }));
        set("method", json!(record.method.as_str()));
        set("principal", json!(record.principal.to_string()));
        set("client", client(record));
        set("session", json!(session(record)));
        set("namespace", json!(record.namespace));
        set("server", json!(target.map(|target| &target.server)));
        set("tool", json!(target.and_then(|target| target.tool.as_deref())));
        let exposed = record.params.as_ref().and_then(|params| params.get("name"));
        set("exposed", json!(exposed.and_then(|name| name.to_text().map(|name| name.into_owned()))));
        let outcome = outcome::word(end);
        set("decision", json!(if outcome == "denied" { "deny" } else { "allow" }));
        set("rule", json!(end.refused_by));
        set("outcome", json!(outcome));
        set("code", json!(end.code));
        set("duration_us", json!(micros(end.took)));
        if let Some(arguments) = &arguments {
            set("args_bytes", json!(arguments.as_bytes().len()));
            set("args_sha256", json!(digest(arguments)));
            set("args_keys", json!(keys(arguments)));
        }
        set("result_bytes", json!(end.response_bytes));
        set("result_sha256", json!(end.body.as_ref().map(digest)));
        if self.payload {
            set("arguments", json!(arguments.as_ref().map(shown)));
            set("result", json!(end.body.as_ref().map(shown)));
        }
        // Whatever else is in it, a name among it, is rid of secrets like a log.
        format!("{}\n", redact(&Value::Object(line).to_string()))
    }
}

fn is_list(method: &Method) -> bool {
    matches!(method, Method::ToolsList | Method::ResourcesList | Method::TemplatesList | Method::PromptsList)
}

fn client(record: &CallRecord) -> Value {
    let transport = if record.address.is_some() { "http" } else { "stdio" };
    let mut client = json!({ "transport": transport });
    if let Some(name) = &record.client_name {
        client["name"] = json!(name);
    }
    if let Some(address) = record.address {
        client["addr"] = json!(address.to_string());
    }
    client
}

/// Returns a UUID of version 7: its date first, so that those of several gateways are in order.
fn identifier(at: Timestamp, sequence: u64, record: &CallRecord) -> String {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or_default();
    let mut seed = Sha256::new();
    seed.update(at.as_nanosecond().to_be_bytes());
    seed.update(sequence.to_be_bytes());
    seed.update(record.number.get().to_be_bytes());
    seed.update(std::process::id().to_be_bytes());
    let digest = seed.finalize();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&digest[..10]);
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
    parts.map(hex).join("-")
}

fn digest(raw: &Raw) -> String {
    Sha256::digest(raw.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn keys(arguments: &Raw) -> Vec<String> {
    let object = arguments.object().unwrap_or_default();
    object.keys().take(MAX_KEYS).map(|key| key.chars().take(200).collect()).collect()
}

/// Returns what is written down of a payload, as text: cut, it would be no JSON any more.
fn shown(raw: &Raw) -> String {
    let text = redact(raw.as_str()).into_owned();
    match text.char_indices().nth(MAX_PAYLOAD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
