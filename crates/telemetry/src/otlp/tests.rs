use std::sync::Arc;

use manifold_engine::{SpanContext, Trace, TraceOptions, Tracer};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use prost::Message as _;

use super::*;
use crate::names::{CALLS, IN_FLIGHT, SERVER_DURATION};
use crate::sample::Exemplar;
use crate::spans::SpanKind;

fn trace() -> Trace {
    let tracer = Tracer::new(TraceOptions { ratio: 1.0, follows_parent: true, baggage: Vec::new() });
    let mut trace = (*tracer.begin_apart()).clone();
    trace.parent = Some([7; 8]);
    trace.state = Some("a=b".to_owned());
    trace.link = Some(SpanContext { trace: [1; 16], span: [2; 8], sampled: true });
    trace
}

fn resource() -> Vec<(String, String)> {
    vec![("service.name".to_owned(), "manifold".to_owned())]
}

#[test]
fn others_read_our_spans_as_they_are_meant() {
    let trace = Arc::new(trace());
    let span = Span {
        trace: Arc::clone(&trace),
        id: [9; 8],
        parent: trace.parent,
        kind: SpanKind::Server,
        name: "tools/call x".to_owned(),
        began: Duration::from_secs(1_700_000_000),
        ended: Duration::from_secs(1_700_000_001),
        attributes: vec![("mcp.method.name", "tools/call".to_owned())],
        failed: true,
    };
    let request = ExportTraceServiceRequest::decode(spans(&resource(), &[span]).as_slice()).unwrap();
    let of_resource = &request.resource_spans[0];
    assert_eq!(of_resource.resource.as_ref().unwrap().attributes[0].key, "service.name");
    let of_scope = &of_resource.scope_spans[0];
    assert_eq!(of_scope.scope.as_ref().unwrap().name, "manifold");
    let read = &of_scope.spans[0];
    assert_eq!((read.trace_id.as_slice(), read.span_id.as_slice()), (&trace.trace[..], &[9; 8][..]));
    assert_eq!((read.parent_span_id.as_slice(), read.trace_state.as_str()), (&[7; 8][..], "a=b"));
    assert_eq!((read.name.as_str(), read.kind, read.flags), ("tools/call x", 2, 1));
    assert_eq!(read.end_time_unix_nano - read.start_time_unix_nano, 1_000_000_000);
    assert_eq!(read.links[0].span_id, [2; 8]);
    assert_eq!(read.status.as_ref().unwrap().code, 2);
    assert_eq!(read.attributes[0].key, "mcp.method.name");
}

#[test]
fn others_read_our_metrics_as_they_are_meant() {
    let mut times = Times::default();
    times.add(0.003, Some(Exemplar { trace: [1; 16], span: [2; 8], seconds: 0.003 }));
    times.add(400.0, None);
    let point = |value| Point { labels: vec!["a".to_owned()], value };
    let sampled = [
        Sampled { metric: &SERVER_DURATION, points: vec![point(Value::Times(Box::new(times)))] },
        Sampled { metric: &CALLS, points: vec![point(Value::Count(5))] },
        Sampled { metric: &IN_FLIGHT, points: vec![point(Value::Level(2.0))] },
    ];
    let bytes = metrics(&resource(), &sampled, (Duration::from_secs(1), Duration::from_secs(2)));
    let request = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
    let read = &request.resource_metrics[0].scope_metrics[0].metrics;
    assert_eq!((read[0].name.as_str(), read[0].unit.as_str()), ("mcp.server.operation.duration", "s"));
    let Some(metric::Data::Histogram(histogram)) = &read[0].data else { panic!("{:?}", read[0]) };
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.sum, histogram.aggregation_temporality), (2, Some(400.003), 2));
    assert_eq!((point.bucket_counts.len(), point.explicit_bounds.len()), (18, 17));
    assert_eq!(
        (point.exemplars[0].trace_id.as_slice(), point.attributes[0].key.as_str()),
        (&[1; 16][..], "mcp.method.name")
    );
    let Some(metric::Data::Sum(sum)) = &read[1].data else { panic!("{:?}", read[1]) };
    assert!(sum.is_monotonic);
    assert_eq!(sum.data_points[0].value, Some(number_data_point::Value::AsInt(5)));
    let Some(metric::Data::Gauge(gauge)) = &read[2].data else { panic!("{:?}", read[2]) };
    assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(2.0)));
}
