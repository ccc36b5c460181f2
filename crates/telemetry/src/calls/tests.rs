use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use manifold_engine::{Outcome, Principal, Reach, Target, Trace};
use manifold_protocol::{Raw, envelope::MethodName};
use tokio::time::Instant;

use super::*;
use crate::exposition::{Exposition, tests::read, write};

pub(crate) fn record(method: Method, target: Option<(&str, Option<&str>)>) -> CallRecord {
    let target = target.map(|(server, tool)| Target {
        server: server.to_owned(),
        tool: tool.map(str::to_owned),
        timeout: Duration::from_secs(60),
        reach: Reach::default(),
    });
    let began = Instant::now();
    CallRecord {
        number: NonZeroU64::MIN,
        principal: Principal::Local,
        client: None,
        address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        client_name: Some("editor".to_owned()),
        namespace: None,
        method,
        target: target.map(Arc::new),
        request_bytes: 10,
        params: Some(Raw::from_static(r#"{"name":"a__x","arguments":{"path":"/tmp"}}"#)),
        began,
        sent: Some(began),
        has_session: false,
        session: None,
        words: None,
        trace: None,
    }
}

pub(crate) fn end(outcome: Outcome, code: Option<i32>) -> CallEnd {
    CallEnd {
        took: Duration::from_millis(3),
        response_bytes: 20,
        outcome,
        code,
        body: None,
        refused_by: None,
    }
}

fn metrics() -> CallMetrics {
    CallMetrics::new(|server, tool| server.starts_with('s') && tool.starts_with('t'))
}

fn lines(metrics: &CallMetrics, name: &str) -> usize {
    let text = write(&metrics.sample(|_| true), Exposition::Text);
    read(&text, Exposition::Text).into_iter().filter(|(series, _)| series.starts_with(name)).count()
}

#[tokio::test]
async fn calls_are_counted_by_what_is_known_of_them() {
    let metrics = metrics();
    metrics.ended(&record(Method::ToolsCall, Some(("s", Some("t")))), &end(Outcome::Result, None));
    metrics.ended(&record(Method::ToolsCall, Some(("s", Some("t")))), &end(Outcome::ToolError, None));
    metrics.ended(&record(Method::ToolsList, None), &end(Outcome::Result, None));
    metrics.ended(&record(Method::PromptsGet, Some(("s", None))), &end(Outcome::ServerError, Some(-7)));
    let text = write(&metrics.sample(|_| true), Exposition::Text);
    let counts: Vec<&str> =
        text.lines().filter(|line| line.contains("_count{") || line.contains("_total{")).collect();
    expect![[r#"
        mcp_server_operation_duration_seconds_count{mcp_method_name="prompts/get",error_type="_OTHER",network_transport="tcp"} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="t",network_transport="tcp"} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="tool_error",network_transport="tcp"} 1
        mcp_server_operation_duration_seconds_count{mcp_method_name="tools/list",network_transport="tcp"} 1
        mcp_client_operation_duration_seconds_count{mcp_method_name="prompts/get",error_type="_OTHER",server="s"} 1
        mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="t",server="s"} 1
        mcp_client_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="t",error_type="tool_error",server="s"} 1
        manifold_calls_total{server="manifold",outcome="ok"} 1
        manifold_calls_total{server="s",outcome="ok"} 1
        manifold_calls_total{server="s",outcome="rpc_error"} 1
        manifold_calls_total{server="s",outcome="tool_error"} 1
        manifold_bytes_total{direction="in"} 40
        manifold_bytes_total{direction="out"} 80"#]]
    .assert_eq(&counts.join("\n"));
}

#[tokio::test]
async fn what_clients_and_servers_make_up_adds_no_series() {
    let metrics = metrics();
    let once = |at: usize| {
        let tool = format!("unknown{at}");
        metrics.ended(&record(Method::ToolsCall, Some(("s", Some(&tool)))), &end(Outcome::Result, None));
        let method = Method::Other(MethodName::from(format!("made/up{at}").as_str()));
        metrics.ended(&record(method, None), &end(Outcome::Fault("unknown-method"), Some(-32601)));
        let code = Some(at as i32);
        metrics.ended(&record(Method::ToolsCall, Some(("s", None))), &end(Outcome::ServerError, code));
    };
    once(0);
    let before = (lines(&metrics, "mcp_"), lines(&metrics, "manifold_"));
    (1..1000).for_each(once);
    assert_eq!((lines(&metrics, "mcp_"), lines(&metrics, "manifold_")), before);
}

#[tokio::test]
async fn past_the_bound_series_are_counted_together() {
    let metrics = metrics();
    for at in 0..10_000 {
        let tool = format!("t{at}");
        metrics.ended(&record(Method::ToolsCall, Some(("s", Some(&tool)))), &end(Outcome::Result, None));
    }
    for sampled in metrics.sample(|_| true) {
        assert!(sampled.points.len() <= MAX_SERIES, "{}: {}", sampled.metric.name, sampled.points.len());
        if let [.., Point { value: Value::Times(_), .. }] = sampled.points.as_slice() {
            let of = |point: &Point| match &point.value {
                Value::Times(times) => times.count(),
                _ => 0,
            };
            assert_eq!(sampled.points.iter().map(of).sum::<u64>(), 10_000);
            assert!(sampled.points.iter().any(|point| point.labels[0] == OTHER && of(point) == 8_001));
        }
    }
}

#[tokio::test]
async fn series_end_with_their_server() {
    let metrics = metrics();
    for server in ["s1", "s2"] {
        metrics.ended(&record(Method::ToolsCall, Some((server, Some("t")))), &end(Outcome::Result, None));
    }
    let named = |metrics: &CallMetrics, known: &str| {
        let text = write(&metrics.sample(|server| server == known), Exposition::Text);
        (text.contains("\"s1\""), text.contains("\"s2\""))
    };
    assert_eq!(named(&metrics, "s2"), (false, true));
    assert_eq!(named(&metrics, ""), (false, false));
}

#[tokio::test]
async fn an_exemplar_names_a_trace_that_is_kept() {
    let metrics = metrics();
    let mut record = record(Method::ToolsCall, Some(("s", Some("t"))));
    let tracer = manifold_engine::Tracer::new(manifold_engine::TraceOptions {
        ratio: 1.0,
        follows_parent: true,
        baggage: Vec::new(),
    });
    let trace: Arc<Trace> = tracer.begin_apart();
    record.trace = Some(Arc::clone(&trace));
    metrics.ended(&record, &end(Outcome::Result, None));
    let sampled = metrics.sample(|_| true);
    let open = write(&sampled, Exposition::OpenMetrics);
    assert!(open.contains(&format!("# {{trace_id=\"{}\",span_id=\"", trace.id())), "{open}");
    assert!(!write(&sampled, Exposition::Text).contains("trace_id"));
    read(&open, Exposition::OpenMetrics);
}

// A list is long, and whoever asks for what is not on it may do so without end.
#[tokio::test]
async fn a_list_is_searched_while_others_can_count() {
    let metrics: Arc<std::sync::OnceLock<CallMetrics>> = Arc::default();
    let me = Arc::downgrade(&metrics);
    let lists = move |_: &str, tool: &str| {
        let me = me.upgrade().unwrap();
        assert!(me.get().unwrap().counted.try_lock().is_ok());
        tool == "t"
    };
    assert!(metrics.set(CallMetrics::new(lists)).is_ok());
    let metrics = metrics.get().unwrap();
    for tool in ["t", "made-up", "t"] {
        metrics.ended(&record(Method::ToolsCall, Some(("s", Some(tool)))), &end(Outcome::Result, None));
    }
    let text = write(&metrics.sample(|_| true), Exposition::Text);
    assert!(text.contains(r#"gen_ai_tool_name="t""#) && !text.contains("made-up"), "{text}");
}
