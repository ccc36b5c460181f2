//! Every metric by its name: what is served, drawn and documented comes from this table.

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric. Its name and its labels have dots where OpenTelemetry has named them, and are told with `_` instead where
/// that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    /// As UCUM writes it; empty where things are counted.
    pub unit: &'static str,
    pub labels: &'static [&'static str],
    pub about: &'static str,
}

impl Metric {
    /// Returns the name in Prometheus' spelling, without the ending of its samples.
    pub fn family(&self) -> String {
        let name = self.name.replace('.', "_");
        match self.unit {
            "s" => format!("{name}_seconds"),
            "By" => format!("{name}_bytes"),
            _ => name,
        }
    }

    /// Returns the name under which it is found in a query.
    pub fn series(&self) -> String {
        match self.kind {
            MetricKind::Counter => format!("{}_total", self.family()),
            MetricKind::Gauge | MetricKind::Histogram => self.family(),
        }
    }
}

const fn metric(
    name: &'static str,
    kind: MetricKind,
    unit: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Metric {
    Metric { name, kind, unit, labels, about }
}

pub(crate) static SERVER_DURATION: Metric = metric(
    "mcp.server.operation.duration",
    MetricKind::Histogram,
    "s",
    &["mcp.method.name", "gen_ai.tool.name", "error.type", "network.transport"],
    "How long requests of clients took, from their arrival to their answer.",
);
pub(crate) static CLIENT_DURATION: Metric = metric(
    "mcp.client.operation.duration",
    MetricKind::Histogram,
    "s",
    &["mcp.method.name", "gen_ai.tool.name", "error.type", "server"],
    "How long servers took, from being given a request to its answer.",
);
pub(crate) static CALLS: Metric = metric(
    "manifold_calls",
    MetricKind::Counter,
    "",
    &["server", "outcome"],
    "Calls that ended, by how they did.",
);
pub(crate) static IN_FLIGHT: Metric = metric(
    "manifold_calls_in_flight",
    MetricKind::Gauge,
    "",
    &["server"],
    "Calls that servers are working on.",
);
pub(crate) static BYTES: Metric = metric(
    "manifold_bytes",
    MetricKind::Counter,
    "",
    &["direction"],
    "Bytes of requests (in) and of answers (out).",
);
pub(crate) static SERVER_STATE: Metric = metric(
    "manifold_server_state",
    MetricKind::Gauge,
    "",
    &["server", "state"],
    "The state of each server, as 1.",
);
pub(crate) static SERVER_STARTS: Metric = metric(
    "manifold_server_starts",
    MetricKind::Counter,
    "",
    &["server", "result"],
    "How often servers came up.",
);
pub(crate) static SERVER_RSS: Metric = metric(
    "manifold_server_rss",
    MetricKind::Gauge,
    "By",
    &["server"],
    "Memory of each server and what it started.",
);
pub(crate) static SESSIONS: Metric =
    metric("manifold_sessions", MetricKind::Gauge, "", &["era"], "Sessions of clients.");
pub(crate) static CATALOG_TOOLS: Metric = metric(
    "manifold_catalog_tools",
    MetricKind::Gauge,
    "",
    &["namespace"],
    "Tools that each namespace shows.",
);
pub(crate) static RATE_LIMITED: Metric = metric(
    "manifold_rate_limited",
    MetricKind::Counter,
    "",
    &["scope"],
    "Calls that were over a rule of limits.rate.",
);
pub(crate) static DEGRADED: Metric = metric(
    "manifold_degraded",
    MetricKind::Gauge,
    "",
    &["part"],
    "Parts that something stands in for, each as 1; `state` is the Redis of replicas.",
);
pub(crate) static LOG_LOST: Metric =
    metric("manifold_log_lost", MetricKind::Counter, "", &[], "Lines of the log that were not written.");
pub(crate) static AUDIT_LOST: Metric =
    metric("manifold_audit_lost", MetricKind::Counter, "", &[], "Lines of the audit that were not written.");
pub(crate) static OTLP_DROPPED: Metric = metric(
    "manifold_otlp_dropped",
    MetricKind::Counter,
    "",
    &[],
    "Spans that found no room or that the collector did not take.",
);

/// All of them, in the order in which they are told.
pub static METRICS: [&Metric; 15] = [
    &SERVER_DURATION,
    &CLIENT_DURATION,
    &CALLS,
    &IN_FLIGHT,
    &BYTES,
    &SERVER_STATE,
    &SERVER_STARTS,
    &SERVER_RSS,
    &SESSIONS,
    &CATALOG_TOOLS,
    &RATE_LIMITED,
    &DEGRADED,
    &LOG_LOST,
    &AUDIT_LOST,
    &OTLP_DROPPED,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_prometheus_wants_them() {
        let names: Vec<String> = METRICS.iter().map(|metric| metric.series()).collect();
        assert_eq!(names[0], "mcp_server_operation_duration_seconds");
        assert!(names.contains(&"manifold_otlp_dropped_total".to_owned()));
        assert!(names.contains(&"manifold_server_rss_bytes".to_owned()));
    }

    // An alert on what does not exist is never raised.
    #[test]
    fn pages_name_no_metric_that_there_is_not() {
        let pages = [include_str!("../../../docs/telemetry.md"), include_str!("../../../docs/operations.md")];
        let known: Vec<String> = METRICS.iter().map(|metric| metric.series()).collect();
        for word in pages.iter().flat_map(|page| page.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()))
        {
            let is_metric = word.starts_with("manifold_")
                || word.starts_with("mcp_server_")
                || word.starts_with("mcp_client_");
            assert!(!is_metric || known.iter().any(|name| name == word), "there is no metric {word}");
        }
    }

    // Whoever reads the page finds what is served, and nothing else.
    #[test]
    fn the_page_has_every_metric() {
        let page = include_str!("../../../docs/telemetry.md");
        for metric in METRICS {
            let labels: Vec<String> =
                metric.labels.iter().map(|label| format!("`{}`", label.replace('.', "_"))).collect();
            let row = format!(
                "| `{}` | {} | {} | {} |",
                metric.series(),
                metric.kind.as_str(),
                labels.join(", "),
                metric.about
            );
            assert!(page.contains(&row), "docs/telemetry.md lacks: {row}");
        }
        let kinds = [" | counter | ", " | gauge | ", " | histogram | "];
        let rows = page.lines().filter(|line| kinds.iter().any(|kind| line.contains(kind)));
        assert_eq!(rows.count(), METRICS.len());
    }
}
