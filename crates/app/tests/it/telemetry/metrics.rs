use manifold_testkit::Sandbox;
use manifold_testkit::http::{Answer, Conn};
use serde_json::json;

use super::{Gateway, await_ready, call, config, metrics_port};

fn scrape(port: u16, headers: &[(&str, &str)]) -> Answer {
    let mut connection = Conn::open(port);
    connection.send("GET", "/metrics", headers, "");
    connection.answer()
}

/// Returns the value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.split(' ').next()?.parse().ok()
}

#[test]
fn metrics_have_a_port_of_their_own() {
    let sandbox = Sandbox::new();
    let rule = json!([{"per": "tool", "match": "s/echo", "limit": 3, "window": 3600}]);
    let config = config(&sandbox, json!({"limits": {"rate": rule}}));
    let gateway = Gateway::start(&sandbox, &config, &["--metrics", "127.0.0.1:0"]);
    // A tool is named once it is known to be listed.
    await_ready(&gateway);
    let port = metrics_port(&gateway);
    let before = scrape(port, &[]).text();
    for name in ["manifold_otlp_dropped_total", "manifold_audit_lost_total", "manifold_log_lost_total"] {
        assert_eq!(value(&before, name), Some(0.0), "{name} is there from the start: {before}");
    }
    for _ in 0..5 {
        call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}));
    }
    let answer = scrape(port, &[]);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    let ok = r#"manifold_calls_total{server="s",outcome="ok"}"#;
    assert_eq!(value(&text, ok), Some(3.0), "{text}");
    assert_eq!(value(&text, r#"manifold_rate_limited_total{scope="tool"}"#), Some(2.0), "{text}");
    assert_eq!(value(&text, r#"manifold_server_state{server="s",state="ready"}"#), Some(1.0), "{text}");
    let took = r#"mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="echo",network_transport="tcp"}"#;
    assert_eq!(value(&text, took), Some(3.0), "{text}");
    assert_eq!(value(&text, r#"manifold_server_starts_total{server="s",result="ok"}"#), Some(1.0), "{text}");
    assert_eq!(
        gateway.ask("GET", "/metrics", &[], "").status,
        404,
        "the way that clients take does not lead there"
    );
    assert_eq!(scrape(port, &[("Origin", "http://localhost")]).status, 403);
}

#[test]
fn names_that_clients_make_up_add_nothing() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(&sandbox, json!({})), &["--metrics", "127.0.0.1:0"]);
    await_ready(&gateway);
    let port = metrics_port(&gateway);
    let hostile = |at: usize| {
        call(&gateway, &format!("s__made_up_{at}"), json!({}));
        call(&gateway, &format!("nobody_{at}"), json!({}));
        let caller = manifold_testkit::HttpCaller::new(gateway.port, "/mcp", json!({}));
        caller.open(&format!("made/up{at}"), json!({})).response();
        caller.open("prompts/get", json!({"name": format!("made_up_{at}")})).response();
    };
    call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}));
    hostile(0);
    let series = || {
        let text = scrape(port, &[]).text();
        assert!(!text.contains("made"), "{text}");
        text.lines().filter(|line| !line.starts_with('#')).count()
    };
    let before = series();
    (1..30).for_each(hostile);
    assert_eq!(series(), before);
}

#[test]
fn openmetrics_is_there_for_those_who_ask() {
    let sandbox = Sandbox::new();
    let config = config(&sandbox, json!({"telemetry": {"metrics": "127.0.0.1:0"}}));
    let sink = manifold_testkit::OtlpSink::start();
    let gateway = super::start(&sandbox, &config, &[], |command| {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", sink.endpoint()).env("OTEL_TRACES_SAMPLER", "always_on");
        command.env("OTEL_BSP_SCHEDULE_DELAY", "10");
    });
    call(&gateway, "s__echo", json!({"arguments": {"text": "hi"}}));
    let trace = sink.spans(2).iter().find(|span| span.kind == 2).expect("a span").trace.clone();
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let answer = scrape(metrics_port(&gateway), &[("Accept", accept)]);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(kind));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"));
    assert!(
        text.contains(&format!("# {{trace_id=\"{trace}\"")),
        "its exemplar leads to a trace that is kept: {text}"
    );
}
