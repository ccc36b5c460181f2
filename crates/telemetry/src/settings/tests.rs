use super::*;

fn read(variables: &[(&str, &str)]) -> (OtlpSettings, Vec<String>) {
    read_with(&TelemetrySettings::default(), variables)
}

fn read_with(config: &TelemetrySettings, variables: &[(&str, &str)]) -> (OtlpSettings, Vec<String>) {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    OtlpSettings::read(config, &variables)
}

#[test]
fn nothing_is_sent_unless_somebody_says_so() {
    let (settings, problems) = read(&[]);
    assert_eq!((settings.traces, settings.metrics, problems), (None, None, Vec::new()));
}

#[test]
fn an_endpoint_alone_switches_traces_on() {
    let (settings, _) = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/")]);
    assert_eq!(settings.traces.unwrap().url, "http://collector:4318/v1/traces");
    assert_eq!(settings.metrics, None);
    assert_eq!(settings.trace_options.ratio, 0.1);
}

#[test]
fn variables_count_more_than_the_config() {
    let config = TelemetrySettings {
        endpoint: Some("http://config".to_owned()),
        headers: vec![("k".to_owned(), Secret::new("v"))],
        push_metrics: true,
        sample_percent: Some(50),
        ..TelemetrySettings::default()
    };
    let (settings, _) = read_with(&config, &[]);
    assert_eq!(settings.traces.as_ref().unwrap().url, "http://config/v1/traces");
    assert_eq!(settings.traces.unwrap().headers.len(), 1);
    assert_eq!(settings.metrics.unwrap().url, "http://config/v1/metrics");
    assert_eq!(settings.trace_options.ratio, 0.5);
    let (settings, problems) = read_with(
        &config,
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://exact/path"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1%202,b = c"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_SERVICE_NAME", "edge"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ],
    );
    assert!(problems.is_empty(), "{problems:?}");
    let traces = settings.traces.unwrap();
    assert_eq!((traces.url.as_str(), traces.timeout), ("http://exact/path", Duration::from_millis(1500)));
    let headers: Vec<(&str, &str)> =
        traces.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(headers, [("a", "1 2"), ("b", "c")]);
    assert_eq!((settings.metrics, settings.trace_options.ratio), (None, 0.25));
    assert!(settings.resource.contains(&("service.name".to_owned(), "edge".to_owned())));
}

#[test]
fn what_is_not_understood_is_said_and_breaks_nothing() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
    for (wrong, sends) in [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), false),
        (("OTEL_TRACES_SAMPLER", "jaeger_remote"), true),
        (("OTEL_TRACES_EXPORTER", "zipkin"), false),
        (("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"), false),
    ] {
        let (settings, problems) = read(&[endpoint, wrong]);
        assert_eq!((settings.traces.is_some(), problems.len()), (sends, 1), "{wrong:?}: {problems:?}");
    }
    let (off, problems) = read(&[endpoint, ("OTEL_SDK_DISABLED", "true")]);
    assert_eq!((off.traces, problems), (None, Vec::new()));
}
