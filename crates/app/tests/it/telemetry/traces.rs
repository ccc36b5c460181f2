use std::collections::BTreeMap;

use manifold_testkit::{OtlpSink, Sandbox, SinkSpan};
use serde_json::{Value, json};

use super::{Gateway, call, config, start};
use crate::http_lifecycle::NEW;
use crate::modern_http::VERSION as MODERN;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn traced(sandbox: &Sandbox, config: &Value, sink: &OtlpSink, service: &str) -> Gateway {
    start(sandbox, config, &[], |command| {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", sink.endpoint()).env("OTEL_SERVICE_NAME", service);
        command.env("OTEL_BSP_SCHEDULE_DELAY", "10").env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k%3D1");
        // What has no parent is not kept, so that lists in between add nothing.
        command.env("OTEL_TRACES_SAMPLER", "parentbased_always_off");
    })
}

fn of_kind<'s>(spans: &'s [SinkSpan], service: &str, kind: i32) -> &'s SinkSpan {
    let mut found = spans.iter().filter(|span| span.service == service && span.kind == kind);
    let span = found.next().unwrap_or_else(|| panic!("no span {kind} of {service}: {spans:#?}"));
    assert_eq!(found.next(), None, "one span of a kind for one call");
    span
}

fn attributes(span: &SinkSpan) -> BTreeMap<&str, &str> {
    span.attributes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

#[test]
fn a_call_through_two_gateways_is_one_trace() {
    let (inner_place, outer_place) = (Sandbox::new(), Sandbox::new());
    let sink = OtlpSink::start();
    let inner = traced(&inner_place, &config(&inner_place, json!({})), &sink, "inner");
    let url = format!("http://127.0.0.1:{}/mcp", inner.port);
    let outer_config = json!({"mcpServers": {"far": {"url": url}}, "managerTools": false});
    let outer = traced(&outer_place, &outer_config, &sink, "outer");
    let meta = json!({"traceparent": PARENT, "tracestate": "vendor=1", "baggage": "tenant=secret"});
    let answer = call(&outer, "far__s__echo", json!({"arguments": {"text": "hi"}, "_meta": meta}));
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    let spans: Vec<SinkSpan> =
        sink.spans(4).into_iter().filter(|span| span.name.starts_with("tools/call")).collect();
    assert_eq!(spans.len(), 4, "{spans:#?}");
    assert!(spans.iter().all(|span| span.trace == TRACE && span.state == "vendor=1" && span.status != 2));
    let (outer_server, outer_client) = (of_kind(&spans, "outer", 2), of_kind(&spans, "outer", 3));
    let (inner_server, inner_client) = (of_kind(&spans, "inner", 2), of_kind(&spans, "inner", 3));
    assert_eq!(outer_server.parent, "b7ad6b7169203331");
    assert_eq!(outer_client.parent, outer_server.id);
    assert_eq!(inner_server.parent, outer_client.id);
    assert_eq!(inner_client.parent, inner_server.id);
    assert!(outer_server.nanos >= outer_client.nanos && outer_client.nanos > 0);
    assert_eq!(outer_server.name, "tools/call s__echo", "by the server's own name");
    assert_eq!(inner_server.name, "tools/call echo");
    let (inner_port, id) = (inner.port.to_string(), outer_server.attributes["jsonrpc.request.id"].as_str());
    let asked = [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("mcp.protocol.version", MODERN),
        ("network.transport", "tcp"),
        ("network.protocol.name", "http"),
        ("client.address", "127.0.0.1"),
    ];
    let outer_asked = [
        ("gen_ai.tool.name", "s__echo"),
        ("manifold.tool.exposed", "far__s__echo"),
        ("jsonrpc.request.id", id),
    ];
    let expected: BTreeMap<_, _> = asked.into_iter().chain(outer_asked).collect();
    assert_eq!(attributes(outer_server), expected, "nothing of a session where there is none");
    let expected = BTreeMap::from([
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "s__echo"),
        ("manifold.server", "far"),
        ("network.transport", "tcp"),
        ("network.protocol.name", "http"),
        ("server.address", "127.0.0.1"),
        ("server.port", inner_port.as_str()),
    ]);
    assert_eq!(attributes(outer_client), expected);
    // The gateway between numbers its own requests.
    let id = inner_server.attributes["jsonrpc.request.id"].as_str();
    let inner_asked =
        [("gen_ai.tool.name", "echo"), ("manifold.tool.exposed", "s__echo"), ("jsonrpc.request.id", id)];
    let expected: BTreeMap<_, _> = asked.into_iter().chain(inner_asked).collect();
    assert_eq!(attributes(inner_server), expected);
    let expected = BTreeMap::from([
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "echo"),
        ("manifold.server", "s"),
        ("network.transport", "pipe"),
    ]);
    assert_eq!(attributes(inner_client), expected);
    // What the server was told is the span that asked it.
    let told = &inner_place.received("s.log", "tools/call")[0]["params"]["_meta"];
    assert_eq!(told["traceparent"], json!(format!("00-{TRACE}-{}-01", inner_client.id)));
    assert_eq!((&told["tracestate"], &told["baggage"]), (&json!("vendor=1"), &Value::Null));
    assert!(sink.headers().iter().all(|head| head.contains("x-key: k=1\r\n")), "{:?}", sink.headers());
}

#[test]
fn failures_are_told_by_whose_they_are() {
    let sandbox = Sandbox::new();
    let sink = OtlpSink::start();
    let gateway = traced(&sandbox, &config(&sandbox, json!({})), &sink, "one");
    let session = gateway.session("/mcp", NEW, json!({}));
    let ask = |id: u64, tool: &str| {
        let params = json!({"name": tool, "arguments": {}, "_meta": {"traceparent": PARENT}});
        session.post(
            "application/json, text/event-stream",
            &manifold_testkit::http::calling(id, "tools/call", params),
        );
    };
    ask(1, "s__fail");
    let failed = sink.spans(2);
    let server = of_kind(&failed, "one", 2);
    assert!(server.attributes.contains_key("mcp.session.id"), "{server:#?}");
    assert_eq!(server.attributes["mcp.protocol.version"], NEW);
    assert_eq!(server.attributes.get("error.type").map(String::as_str), Some("tool_error"), "{server:#?}");
    assert_eq!((server.status, of_kind(&failed, "one", 3).status), (2, 2));
    ask(2, "nobody");
    let unknown = sink.spans(3).pop().expect("a span");
    assert_eq!(unknown.attributes.get("rpc.response.status_code").map(String::as_str), Some("-32601"));
    assert_eq!((unknown.status, unknown.attributes.get("error.type")), (0, None), "the client's own mistake");
}

#[test]
fn nothing_changes_where_there_are_no_traces() {
    let sandbox = Sandbox::new();
    let mut config = config(&sandbox, json!({}));
    // Where nothing is said of who asks, what there is came from the client.
    config["mcpServers"]["s"]["era"] = json!("legacy");
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let client = gateway.session("/mcp", NEW, json!({}));
    let meta = json!({"traceparent": "junk", "baggage": "a=1", "tracestate": "x=y"});
    let params = json!({"name": "s__echo", "arguments": {"text": "hi"}, "_meta": meta});
    client.post(
        "application/json, text/event-stream",
        &manifold_testkit::http::calling(1, "tools/call", params),
    );
    assert_eq!(sandbox.received("s.log", "tools/call")[0]["params"]["_meta"], meta);
}

// A collector that is not there costs calls nothing
#[test]
fn a_dead_collector_is_told_of_once_and_counted() {
    let sandbox = Sandbox::new();
    let gateway = start(&sandbox, &config(&sandbox, json!({})), &["--metrics", "127.0.0.1:0"], |command| {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
            .env("OTEL_TRACES_SAMPLER", "always_on");
        command.env("OTEL_BSP_SCHEDULE_DELAY", "10");
    });
    for _ in 0..5 {
        assert!(call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}))["result"].is_object());
    }
    let port = super::metrics_port(&gateway);
    let dropped = || {
        let mut connection = manifold_testkit::http::Conn::open(port);
        connection.send("GET", "/metrics", &[], "");
        let text = connection.answer().text();
        let line = text.lines().find_map(|line| line.strip_prefix("manifold_otlp_dropped_total "));
        line.and_then(|count| count.parse::<u64>().ok()).expect("it is always there")
    };
    assert!(manifold_testkit::until(manifold_testkit::client::PATIENCE, || dropped() >= 10), "{}", dropped());
    assert_eq!(gateway.client.stderr().matches("spans are lost").count(), 1, "{}", gateway.client.stderr());
}

#[test]
fn metrics_are_pushed_where_somebody_wants_them() {
    for by_variable in [true, false] {
        let sandbox = Sandbox::new();
        let sink = OtlpSink::start();
        let telemetry = json!({"telemetry": {"pushMetrics": !by_variable, "endpoint": sink.endpoint()}});
        let gateway = start(&sandbox, &config(&sandbox, telemetry), &[], |command| {
            command.env("OTEL_METRIC_EXPORT_INTERVAL", "20").env("OTEL_TRACES_EXPORTER", "none");
            if by_variable {
                command.env("OTEL_METRICS_EXPORTER", "otlp");
            }
        });
        call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}));
        let wanted = ["mcp.server.operation.duration", "manifold_calls", "manifold_otlp_dropped"];
        let has_come = |name: &&str| sink.metrics().iter().any(|metric| metric == name);
        let have_all = || wanted.iter().all(has_come);
        let patience = manifold_testkit::client::PATIENCE;
        assert!(manifold_testkit::until(patience, have_all), "{:?}", sink.metrics());
    }
}
