//! Metrics in the words of Prometheus (0.0.4) and of OpenMetrics (1.0), which differ in how counters are headed, in the end
//! and in exemplars.

use std::fmt::Write as _;

use crate::names::MetricKind;
use crate::sample::{BOUNDS, Exemplar, Point, Sampled, Times, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    Text,
    OpenMetrics,
}

/// Writes metrics down.
pub fn write(sampled: &[Sampled], exposition: Exposition) -> String {
    let mut text = String::with_capacity(16 << 10);
    for one in sampled {
        family(one, exposition, &mut text);
    }
    if exposition == Exposition::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

// Writing to a string cannot fail.
fn family(sampled: &Sampled, exposition: Exposition, text: &mut String) {
    let metric = sampled.metric;
    let head = match exposition {
        Exposition::Text => metric.series(),
        Exposition::OpenMetrics => metric.family(),
    };
    let _ = writeln!(text, "# HELP {head} {}", escaped(metric.about, false));
    let _ = writeln!(text, "# TYPE {head} {}", metric.kind.as_str());
    if exposition == Exposition::OpenMetrics && metric.kind == MetricKind::Histogram {
        let _ = writeln!(text, "# UNIT {head} seconds");
    }
    let series = metric.series();
    for point in &sampled.points {
        let labels = labels(metric.labels, point);
        match &point.value {
            Value::Count(count) => line(text, &series, "", &labels, None, *count as f64),
            Value::Level(level) => line(text, &series, "", &labels, None, *level),
            Value::Times(times) => histogram(text, &series, &labels, times, exposition),
        }
    }
}

fn histogram(text: &mut String, series: &str, labels: &str, times: &Times, exposition: Exposition) {
    let mut so_far = 0;
    for (at, count) in times.buckets.iter().enumerate() {
        so_far += count;
        let bound = BOUNDS.get(at).map_or_else(|| "+Inf".to_owned(), |bound| number(*bound));
        line(text, series, "_bucket", labels, Some(&bound), so_far as f64);
        if exposition == Exposition::OpenMetrics
            && let Some(exemplar) = &times.exemplars[at]
        {
            text.pop();
            add_exemplar(text, exemplar);
        }
    }
    line(text, series, "_sum", labels, None, times.sum_seconds);
    line(text, series, "_count", labels, None, so_far as f64);
}

fn add_exemplar(text: &mut String, exemplar: &Exemplar) {
    text.push_str(" # {trace_id=\"");
    hex(text, &exemplar.trace);
    text.push_str("\",span_id=\"");
    hex(text, &exemplar.span);
    let _ = writeln!(text, "\"}} {}", number(exemplar.seconds));
}

fn line(text: &mut String, series: &str, ending: &str, labels: &str, bound: Option<&str>, value: f64) {
    text.push_str(series);
    text.push_str(ending);
    let between = if labels.is_empty() || bound.is_none() { "" } else { "," };
    let bound = bound.map(|bound| format!("le=\"{bound}\"")).unwrap_or_default();
    if !labels.is_empty() || !bound.is_empty() {
        let _ = write!(text, "{{{labels}{between}{bound}}}");
    }
    let _ = writeln!(text, " {}", number(value));
}

fn hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
}

fn labels(names: &[&str], point: &Point) -> String {
    let mut text = String::new();
    for (name, value) in names.iter().zip(&point.labels).filter(|(_, value)| !value.is_empty()) {
        if !text.is_empty() {
            text.push(',');
        }
        let _ = write!(text, "{}=\"{}\"", name.replace('.', "_"), escaped(value, true));
    }
    text
}

fn number(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => format!("{whole:.0}"),
        part => part.to_string(),
    }
}

fn escaped(text: &str, is_value: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_value { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
pub(crate) mod tests;
