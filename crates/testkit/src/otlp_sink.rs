//! A collector of telemetry: takes OTLP over HTTP, reads it with OpenTelemetry's own types, and remembers it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use prost::Message as _;

use crate::client::PATIENCE;
use crate::until;

/// A collector on a port of its own.
pub struct OtlpSink {
    pub port: u16,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    spans: Vec<SinkSpan>,
    metrics: Vec<String>,
    headers: Vec<String>,
}

/// A span as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkSpan {
    /// Who sent it (`service.name`).
    pub service: String,
    pub name: String,
    /// 2 is SERVER, 3 is CLIENT.
    pub kind: i32,
    pub trace: String,
    pub id: String,
    /// Empty where there is none.
    pub parent: String,
    pub state: String,
    pub attributes: BTreeMap<String, String>,
    /// The code of the status; 2 is an error.
    pub status: i32,
    pub links: Vec<String>,
    pub nanos: u64,
}

impl OtlpSink {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let taken: Arc<Mutex<Taken>> = Arc::default();
        let taking = Arc::clone(&taken);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taken = Arc::clone(&taking);
                thread::spawn(move || serve(stream, &taken));
            }
        });
        Self { port, taken }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits for as many spans, and returns all there are.
    pub fn spans(&self, at_least: usize) -> Vec<SinkSpan> {
        let spans = || self.taken.lock().unwrap_or_else(PoisonError::into_inner).spans.clone();
        assert!(until(PATIENCE, || spans().len() >= at_least), "only {:#?}", spans());
        spans()
    }

    /// Returns the names of the metrics that came.
    pub fn metrics(&self) -> Vec<String> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).metrics.clone()
    }

    /// Returns the heads of all requests.
    pub fn headers(&self) -> Vec<String> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).headers.clone()
    }
}

fn serve(stream: TcpStream, taken: &Mutex<Taken>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        take(&head, &body, taken);
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        reader.get_mut().write_all(answer.as_bytes()).ok()?;
    }
}

fn take(head: &str, body: &[u8], taken: &Mutex<Taken>) {
    let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    taken.headers.push(head.to_owned());
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.ends_with("/v1/metrics") {
        let request = ExportMetricsServiceRequest::decode(body).expect("metrics are what they should be");
        let metrics = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        taken.metrics.extend(metrics.flat_map(|scope| scope.metrics).map(|metric| metric.name));
        return;
    }
    assert_eq!(path, "/v1/traces");
    let request = ExportTraceServiceRequest::decode(body).expect("spans are what they should be");
    for resource in request.resource_spans {
        let about = resource.resource.map(|resource| texts(resource.attributes)).unwrap_or_default();
        let service = about.get("service.name").cloned().unwrap_or_default();
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            taken.spans.push(SinkSpan {
                service: service.clone(),
                name: span.name,
                kind: span.kind,
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                state: span.trace_state,
                attributes: texts(span.attributes),
                status: span.status.map(|status| status.code).unwrap_or_default(),
                links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
                nanos: span.end_time_unix_nano - span.start_time_unix_nano,
            });
        }
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |pair: KeyValue| match pair.value.and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => (pair.key, text),
        other => (pair.key, format!("{other:?}")),
    };
    attributes.into_iter().map(text).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
