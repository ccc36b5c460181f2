use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::names::{CALLS, LOG_LOST, METRICS, SERVER_DURATION};

/// Reads what was written as `promtool check metrics` does, and stops at what it would not let pass. Returns the series
/// with their values.
pub(crate) fn read(text: &str, exposition: Exposition) -> BTreeMap<String, f64> {
    let mut series = BTreeMap::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut family = "";
    let mut has_ended = false;
    for line in text.lines() {
        assert!(!has_ended, "something follows the end: {line}");
        if let Some(comment) = line.strip_prefix("# ") {
            let words: Vec<&str> = comment.splitn(3, ' ').collect();
            match words.as_slice() {
                ["EOF"] => has_ended = true,
                ["HELP", name, _] => assert!(helped.insert(*name), "{line}"),
                ["TYPE", name, kind] => {
                    assert!(types.insert(name, kind).is_none(), "a family stands there twice: {line}");
                    assert!(["counter", "gauge", "histogram"].contains(kind), "{line}");
                    family = name;
                }
                ["UNIT", name, unit] => assert!(name.ends_with(&format!("_{unit}")), "{line}"),
                _ => panic!("no comment of either format: {line}"),
            }
            continue;
        }
        let (sample, exemplar) =
            line.split_once(" # ").map_or((line, None), |(sample, more)| (sample, Some(more)));
        let (name, value) = sample.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let bare = name.split('{').next().unwrap();
        assert!(bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':'), "{line}");
        check_labels(name.strip_prefix(bare).unwrap());
        let endings: &[&str] = match (types[family], exposition) {
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            ("counter", Exposition::OpenMetrics) => &["_total"],
            _ => &[""],
        };
        let ending = bare.strip_prefix(family).unwrap_or_else(|| panic!("{line} is not of {family}"));
        assert!(endings.contains(&ending), "{line}");
        if let Some(exemplar) = exemplar {
            assert!(exposition == Exposition::OpenMetrics && ending == "_bucket", "{line}");
            let (labels, value) = exemplar.rsplit_once(' ').unwrap();
            check_labels(labels);
            assert!(labels.len() < 128 && value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(series.insert(name.to_owned(), value).is_none(), "a series stands there twice: {line}");
    }
    assert_eq!(has_ended, exposition == Exposition::OpenMetrics);
    assert!(text.is_empty() || text.ends_with('\n'));
    check_buckets(&series);
    series
}

fn check_labels(labels: &str) {
    if labels.is_empty() {
        return;
    }
    let inner = labels.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).expect(labels);
    let mut rest = inner;
    let mut seen = BTreeSet::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect(labels);
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{labels}");
        assert!(seen.insert(name), "{labels}");
        let mut escaped = false;
        let end = after.char_indices().find_map(|(at, c)| {
            let ends = c == '"' && !escaped;
            assert!(c != '\n', "{labels}");
            escaped = c == '\\' && !escaped;
            ends.then_some(at)
        });
        rest = &after[end.expect(labels) + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// Buckets never fall, and the last is the count.
fn check_buckets(series: &BTreeMap<String, f64>) {
    let mut last: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (name, value) in series.iter().filter(|(name, _)| name.contains("_bucket{")) {
        let (labels, bound) = name.split_once("le=\"").unwrap();
        let bound = bound.trim_end_matches("\"}");
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        last.entry(labels.trim_end_matches([',', '{']).replace("_bucket", "_count"))
            .or_default()
            .push((bound, *value));
    }
    for (count, mut buckets) in last {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{count}");
        let count = series.get(&count).or_else(|| series.get(&format!("{count}}}"))).expect(&count);
        assert_eq!(buckets.last().map(|last| last.1), Some(*count));
    }
}

#[test]
fn names_may_hold_anything() {
    let labels = vec!["a\"b\\c\nd,e=\"f".to_owned(), "ok".to_owned()];
    let sampled = [
        Sampled { metric: &CALLS, points: vec![Point { labels, value: Value::Count(3) }] },
        Sampled::one(&LOG_LOST, Value::Count(0)),
    ];
    for exposition in [Exposition::Text, Exposition::OpenMetrics] {
        let read = read(&write(&sampled, exposition), exposition);
        assert_eq!(read.get("manifold_log_lost_total"), Some(&0.0));
        let escaped = r#"manifold_calls_total{server="a\"b\\c\nd,e=\"f",outcome="ok"}"#;
        assert_eq!(read.get(escaped), Some(&3.0), "{read:?}");
    }
}

#[test]
fn every_metric_is_right_in_both_formats() {
    let mut times = Times::default();
    [0.00005, 0.003, 0.003, 7.0, 1000.0].into_iter().for_each(|seconds| times.add(seconds, None));
    let value = |kind| match kind {
        MetricKind::Counter => Value::Count(1),
        MetricKind::Gauge => Value::Level(0.5),
        MetricKind::Histogram => Value::Times(Box::new(times.clone())),
    };
    let sampled = METRICS.map(|metric| {
        let labels = metric.labels.iter().map(|label| label.replace('.', "-")).collect();
        Sampled { metric, points: vec![Point { labels, value: value(metric.kind) }] }
    });
    for exposition in [Exposition::Text, Exposition::OpenMetrics] {
        let read = read(&write(&sampled, exposition), exposition);
        assert!(read.len() > METRICS.len());
        let counted = read.iter().filter(|(name, value)| {
            name.starts_with(&format!("{}_count", SERVER_DURATION.series())) && **value == 5.0
        });
        assert_eq!(counted.count(), 1);
    }
}
