//! Spans and metrics as OTLP's messages (opentelemetry-proto 1.x). They are written by hand: of prost and its messages
//! nothing else would be used, and tests read them with those.

mod protobuf;

use std::time::Duration;

use crate::names::MetricKind;
use crate::sample::{BOUNDS, Point, Sampled, Times, Value};
use crate::spans::Span;
use protobuf::Message;

const SCOPE: &str = "manifold";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Totals since the start, not since the last time.
const CUMULATIVE: u64 = 2;
const ERROR: u64 = 2;
const SAMPLED: u32 = 1;

/// Who sends.
pub(crate) type Resource = [(String, String)];

/// Writes an `ExportTraceServiceRequest`.
pub(crate) fn spans(resource: &Resource, spans: &[Span]) -> Vec<u8> {
    let mut scope_spans = scope();
    for span in spans {
        scope_spans.message(2, &encode_span(span));
    }
    export(resource, &scope_spans)
}

/// Writes an `ExportMetricsServiceRequest`.
pub(crate) fn metrics(resource: &Resource, sampled: &[Sampled], times: (Duration, Duration)) -> Vec<u8> {
    let mut scope_metrics = scope();
    for one in sampled.iter().filter(|one| !one.points.is_empty()) {
        scope_metrics.message(2, &encode_metric(one, times));
    }
    export(resource, &scope_metrics)
}

/// Both requests have the same frame, as have what they hold.
fn export(resource: &Resource, of_scope: &Message) -> Vec<u8> {
    let mut who = Message::default();
    for (key, value) in resource {
        who.message(1, &attribute(key, value));
    }
    let mut of_resource = Message::default();
    of_resource.message(1, &who);
    of_resource.message(2, of_scope);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.into_bytes()
}

fn scope() -> Message {
    let mut scope = Message::default();
    scope.text(1, SCOPE);
    scope.text(2, VERSION);
    let mut of_scope = Message::default();
    of_scope.message(1, &scope);
    of_scope
}

fn attribute(key: &str, value: &str) -> Message {
    let mut any = Message::default();
    any.text(1, value);
    let mut pair = Message::default();
    pair.text(1, key);
    pair.message(2, &any);
    pair
}

fn encode_span(span: &Span) -> Message {
    let mut message = Message::default();
    message.bytes(1, &span.trace.trace);
    message.bytes(2, &span.id);
    if let Some(state) = &span.trace.state {
        message.text(3, state);
    }
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.text(5, &span.name);
    message.varint(6, span.kind as u64);
    message.fixed64(7, nanos(span.began));
    message.fixed64(8, nanos(span.ended));
    for (key, value) in &span.attributes {
        message.message(9, &attribute(key, value));
    }
    if let Some(link) = span.trace.link.filter(|_| span.kind == crate::spans::SpanKind::Server) {
        let mut linked = Message::default();
        linked.bytes(1, &link.trace);
        linked.bytes(2, &link.span);
        message.message(13, &linked);
    }
    if span.failed {
        let mut status = Message::default();
        status.varint(3, ERROR);
        message.message(15, &status);
    }
    message.fixed32(16, SAMPLED);
    message
}

fn encode_metric(sampled: &Sampled, times: (Duration, Duration)) -> Message {
    let metric = sampled.metric;
    let mut message = Message::default();
    message.text(1, metric.name);
    message.text(2, metric.about);
    message.text(3, metric.unit);
    let mut data = Message::default();
    for point in &sampled.points {
        data.message(1, &encode_point(metric.labels, point, times));
    }
    match metric.kind {
        MetricKind::Gauge => message.message(5, &data),
        MetricKind::Counter => {
            data.varint(2, CUMULATIVE);
            data.varint(3, 1);
            message.message(7, &data);
        }
        MetricKind::Histogram => {
            data.varint(2, CUMULATIVE);
            message.message(9, &data);
        }
    }
    message
}

fn encode_point(names: &[&str], point: &Point, (began, now): (Duration, Duration)) -> Message {
    let mut message = Message::default();
    message.fixed64(2, nanos(began));
    message.fixed64(3, nanos(now));
    let attributes = names.iter().zip(&point.labels).filter(|(_, value)| !value.is_empty());
    match &point.value {
        Value::Count(count) => message.fixed64(6, *count),
        Value::Level(level) => message.fixed64(4, level.to_bits()),
        Value::Times(times) => {
            encode_times(times, &mut message);
            for (key, value) in attributes {
                message.message(9, &attribute(key, value));
            }
            return message;
        }
    }
    for (key, value) in attributes {
        message.message(7, &attribute(key, value));
    }
    message
}

fn encode_times(times: &Times, message: &mut Message) {
    message.fixed64(4, times.count());
    message.fixed64(5, times.sum_seconds.to_bits());
    message.packed_fixed64(6, times.buckets.iter().copied());
    message.packed_fixed64(7, BOUNDS.iter().map(|bound| bound.to_bits()));
    for exemplar in times.exemplars.iter().flatten() {
        let mut one = Message::default();
        one.fixed64(3, exemplar.seconds.to_bits());
        one.bytes(4, &exemplar.span);
        one.bytes(5, &exemplar.trace);
        message.message(8, &one);
    }
}

fn nanos(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
