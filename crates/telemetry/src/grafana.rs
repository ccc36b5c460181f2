//! A dashboard for Grafana, drawn from the names of the metrics.

use serde_json::{Value, json};

use crate::names::{METRICS, Metric, MetricKind};

/// Returns the dashboard, as Grafana takes it.
pub fn dashboard() -> String {
    let panels: Vec<Value> = METRICS.iter().enumerate().map(|(at, metric)| panel(at, metric)).collect();
    let board = json!({
        "title": "Manifold",
        "uid": "manifold",
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [{
            "name": "datasource",
            "type": "datasource",
            "query": "prometheus",
        }] },
        "panels": panels,
    });
    let mut text = serde_json::to_string_pretty(&board).unwrap_or_default();
    text.push('\n');
    text
}

fn panel(at: usize, metric: &Metric) -> Value {
    let source = json!({ "type": "prometheus", "uid": "${datasource}" });
    let targets: Vec<Value> = queries(metric)
        .into_iter()
        .enumerate()
        .map(|(number, (query, legend))| {
            json!({
                "refId": char::from(b'A' + number as u8).to_string(),
                "datasource": source,
                "expr": query,
                "legendFormat": legend,
                "exemplar": metric.kind == MetricKind::Histogram,
            })
        })
        .collect();
    let unit = match (metric.kind, metric.unit) {
        (_, "s") => "s",
        (_, "By") => "bytes",
        (MetricKind::Counter, _) => "ops",
        _ => "short",
    };
    json!({
        "id": at + 1,
        "type": "timeseries",
        "title": metric.series(),
        "description": metric.about,
        "datasource": source,
        "gridPos": { "x": (at % 2) * 12, "y": (at / 2) * 8, "w": 12, "h": 8 },
        "fieldConfig": { "defaults": { "unit": unit }, "overrides": [] },
        "targets": targets,
    })
}

/// Returns what is asked of Prometheus, and how each line is called.
fn queries(metric: &Metric) -> Vec<(String, String)> {
    let series = metric.series();
    let labels: Vec<String> = metric.labels.iter().map(|label| label.replace('.', "_")).collect();
    let legend = labels.iter().map(|label| format!("{{{{{label}}}}}")).collect::<Vec<_>>().join(" ");
    let by = if labels.is_empty() { String::new() } else { format!(" by ({})", labels.join(", ")) };
    match metric.kind {
        MetricKind::Gauge => vec![(format!("sum{by} ({series})"), legend)],
        MetricKind::Counter => vec![(format!("sum{by} (rate({series}[$__rate_interval]))"), legend)],
        MetricKind::Histogram => ["0.5", "0.95", "0.99"]
            .map(|part| {
                let rate = format!("sum by (le) (rate({series}_bucket[$__rate_interval]))");
                (format!("histogram_quantile({part}, {rate})"), format!("p{}", part.trim_start_matches("0.")))
            })
            .to_vec(),
    }
}

#[cfg(test)]
mod tests {
    // Written anew with UPDATE_EXPECT=1, like what is expected elsewhere.
    #[test]
    fn the_dashboard_that_is_shipped_has_the_metrics_that_are_served() {
        let drawn = super::dashboard();
        expect_test::expect_file!["../../../docs/operations/grafana.json"].assert_eq(&drawn);
        for metric in crate::names::METRICS {
            assert!(drawn.contains(&metric.series()));
        }
    }
}
