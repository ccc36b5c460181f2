//! Where spans and metrics are sent, as the config and the variables of OpenTelemetry say.

use std::collections::BTreeMap;
use std::time::Duration;

use manifold_config::{Secret, TelemetrySettings};
use manifold_engine::TraceOptions;

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

/// Where one kind of thing is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub url: String,
    pub headers: Vec<(String, Secret)>,
    pub timeout: Duration,
}

/// What is sent, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpSettings {
    pub traces: Option<Signal>,
    pub metrics: Option<Signal>,
    pub trace_options: TraceOptions,
    /// Who sends.
    pub resource: Vec<(String, String)>,
    pub queue: usize,
    pub batch: usize,
    pub delay: Duration,
    pub metrics_interval: Duration,
}

impl OtlpSettings {
    /// Reads them. Variables count more than the config. Returns what is not understood beside.
    pub fn read(config: &TelemetrySettings, variables: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let env = Env(variables);
        let mut problems = Vec::new();
        let is_off = env.is_true("OTEL_SDK_DISABLED");
        let traces = env.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
        let metrics =
            env.get("OTEL_METRICS_EXPORTER").unwrap_or(if config.push_metrics { "otlp" } else { "none" });
        for (name, exporter) in [("OTEL_TRACES_EXPORTER", traces), ("OTEL_METRICS_EXPORTER", metrics)] {
            if !matches!(exporter, "otlp" | "none") {
                problems.push(format!("{name}: `{exporter}` is not known here; `otlp` and `none` are"));
            }
        }
        let wants_traces = traces == "otlp" && !is_off;
        let wants_metrics = metrics == "otlp" && !is_off;
        let mut signal = |name: &str, path: &str, is_wanted: bool, by_default: bool| {
            let signal = env.signal(config, name, path, by_default).filter(|_| is_wanted)?;
            let protocol = env.of(name, "PROTOCOL").unwrap_or("http/protobuf");
            if protocol != "http/protobuf" {
                problems.push(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL: `{protocol}` is not spoken here; http/protobuf is"
                ));
                return None;
            }
            if !signal.url.starts_with("http://") && !signal.url.starts_with("https://") {
                problems.push(format!("the OTLP endpoint `{}` is no http address", signal.url));
                return None;
            }
            Some(signal)
        };
        let traces = signal("TRACES", "/v1/traces", wants_traces, false);
        let metrics = signal("METRICS", "/v1/metrics", wants_metrics, true);
        let settings = Self {
            traces,
            metrics,
            trace_options: env.sampler(config, &mut problems),
            resource: env.resource(),
            queue: env.number("OTEL_BSP_MAX_QUEUE_SIZE").unwrap_or(2048).clamp(1, 1 << 16) as usize,
            batch: env.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE").unwrap_or(512).clamp(1, 1 << 14) as usize,
            delay: Duration::from_millis(env.number("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(5000).max(1)),
            metrics_interval: Duration::from_millis(
                env.number("OTEL_METRIC_EXPORT_INTERVAL").unwrap_or(60_000).max(10),
            ),
        };
        (settings, problems)
    }
}

struct Env<'e>(&'e BTreeMap<String, String>);

impl<'e> Env<'e> {
    /// Returns a variable; an empty one is none, as the specification has it.
    fn get(&self, name: &str) -> Option<&'e str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Returns what is said for one kind of thing, or for all.
    fn of(&self, signal: &str, what: &str) -> Option<&'e str> {
        self.get(&format!("OTEL_EXPORTER_OTLP_{signal}_{what}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    /// Returns where one kind of thing is sent. Nothing is where nobody has said so, unless it is wanted `by_default`.
    fn signal(&self, config: &TelemetrySettings, name: &str, path: &str, by_default: bool) -> Option<Signal> {
        let below = |base: &str| format!("{}{path}", base.trim_end_matches('/'));
        let url = match self.get(&format!("OTEL_EXPORTER_OTLP_{name}_ENDPOINT")) {
            // As it is, down to its path.
            Some(url) => url.to_owned(),
            None => below(
                self.get("OTEL_EXPORTER_OTLP_ENDPOINT")
                    .or(config.endpoint.as_deref())
                    .or(Some(DEFAULT_ENDPOINT).filter(|_| by_default))?,
            ),
        };
        let headers = match self.of(name, "HEADERS") {
            Some(text) => pairs(text).into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
            None => config.headers.clone(),
        };
        let timeout = self.of(name, "TIMEOUT").and_then(|millis| millis.parse().ok()).unwrap_or(10_000);
        Some(Signal { url, headers, timeout: Duration::from_millis(timeout) })
    }

    fn sampler(&self, config: &TelemetrySettings, problems: &mut Vec<String>) -> TraceOptions {
        let ratio = self.get("OTEL_TRACES_SAMPLER_ARG").and_then(|ratio| ratio.parse::<f64>().ok());
        let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio));
        let of_config = config.sample_percent.unwrap_or(10) as f64 / 100.0;
        let (follows_parent, ratio) = match self.get("OTEL_TRACES_SAMPLER") {
            None => (true, ratio.unwrap_or(of_config)),
            Some("always_on") => (false, 1.0),
            Some("always_off") => (false, 0.0),
            Some("traceidratio") => (false, ratio.unwrap_or(1.0)),
            Some("parentbased_always_on") => (true, 1.0),
            Some("parentbased_always_off") => (true, 0.0),
            Some("parentbased_traceidratio") => (true, ratio.unwrap_or(1.0)),
            Some(other) => {
                problems.push(format!("OTEL_TRACES_SAMPLER: `{other}` is not known"));
                (true, of_config)
            }
        };
        TraceOptions { ratio, follows_parent, baggage: config.baggage.clone() }
    }

    fn resource(&self) -> Vec<(String, String)> {
        let mut resource = BTreeMap::from([
            ("service.name".to_owned(), "manifold".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ]);
        resource.extend(self.get("OTEL_RESOURCE_ATTRIBUTES").map(pairs).unwrap_or_default());
        if let Some(name) = self.get("OTEL_SERVICE_NAME") {
            resource.insert("service.name".to_owned(), name.to_owned());
        }
        resource.into_iter().collect()
    }
}

/// Reads `a=1,b=2`, with escapes as in an address.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), unescaped(value.trim()))).filter(|(name, _)| !name.is_empty())
    };
    text.split(',').filter_map(pair).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = (*first == b'%').then(|| after.get(..2)).flatten();
        let escape = escape.and_then(|digits| std::str::from_utf8(digits).ok());
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
