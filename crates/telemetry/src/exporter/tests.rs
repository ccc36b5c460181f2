use std::collections::BTreeMap;
use std::sync::Mutex;

use manifold_config::TelemetrySettings;
use manifold_engine::{Observer as _, Outcome, TraceOptions, Tracer};
use manifold_protocol::Method;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use tokio::task::JoinSet;

use super::*;
use crate::calls::tests::{end, record};

/// Keeps what it is given, and answers as it is told to.
struct Collector {
    status: Result<u16, String>,
    taken: Mutex<Vec<usize>>,
}

impl Post for Collector {
    fn post(&self, _signal: &Signal, body: Vec<u8>) -> BoxFuture<Result<u16, String>> {
        let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        self.taken.lock().unwrap().push(request.resource_spans[0].scope_spans[0].spans.len());
        Box::pin(std::future::ready(self.status.clone()))
    }
}

fn exporter(status: Result<u16, String>) -> (Arc<Exporter>, Arc<Collector>) {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "16"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8"),
    ];
    let variables: BTreeMap<String, String> =
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let (settings, _) = OtlpSettings::read(&TelemetrySettings::default(), &variables);
    let collector = Arc::new(Collector { status, taken: Mutex::default() });
    (Exporter::new(settings, Arc::clone(&collector) as Arc<dyn Post>, Arc::default()), collector)
}

/// Ends calls that make two spans each.
fn end_calls(exporter: &Exporter, calls: usize) {
    let tracer = Tracer::new(TraceOptions { ratio: 1.0, follows_parent: true, baggage: Vec::new() });
    let observer = exporter.observer();
    for _ in 0..calls {
        let mut record = record(Method::ToolsCall, Some(("s", Some("t"))));
        record.trace = Some(tracer.begin_apart());
        observer.ended(&record, &end(Outcome::Result, None));
    }
}

#[tokio::test(start_paused = true)]
async fn spans_are_sent_together_and_the_last_before_the_end() {
    let (exporter, collector) = exporter(Ok(200));
    let mut sending = JoinSet::new();
    sending.spawn(Arc::clone(&exporter).send_spans());
    end_calls(&exporter, 4);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(*collector.taken.lock().unwrap(), [8], "a full batch waits for nothing");
    end_calls(&exporter, 1);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(*collector.taken.lock().unwrap(), [8, 2]);
    end_calls(&exporter, 1);
    exporter.finish().await;
    sending.join_next().await.unwrap().unwrap();
    assert_eq!(*collector.taken.lock().unwrap(), [8, 2, 2]);
    assert_eq!(exporter.dropped.load(Ordering::Relaxed), 0);
}

// What is not sent is counted, and nobody waits for it
#[tokio::test(start_paused = true)]
async fn what_finds_no_room_or_no_taker_is_counted() {
    let (exporter, _) = exporter(Ok(200));
    end_calls(&exporter, 100);
    assert_eq!(exporter.dropped.load(Ordering::Relaxed), 200 - 16, "nobody sends yet");
    for status in [Ok(503), Err("nobody is there".to_owned())] {
        let (exporter, collector) = self::exporter(status);
        let mut sending = JoinSet::new();
        sending.spawn(Arc::clone(&exporter).send_spans());
        end_calls(&exporter, 4);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!((exporter.dropped.load(Ordering::Relaxed), collector.taken.lock().unwrap().len()), (8, 1));
        exporter.finish().await;
        sending.join_next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_call_that_is_not_kept_makes_no_span() {
    let (exporter, _) = exporter(Ok(200));
    let tracer = Tracer::new(TraceOptions { ratio: 0.0, follows_parent: true, baggage: Vec::new() });
    let mut record = record(Method::ToolsCall, None);
    record.trace = Some(tracer.begin_apart());
    (0..100).for_each(|_| exporter.observer().ended(&record, &end(Outcome::Result, None)));
    assert_eq!(exporter.dropped.load(Ordering::Relaxed), 0);
    assert!(exporter.waiting.lock().await.try_recv().is_err());
}
