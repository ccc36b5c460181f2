//! Metrics as they are at one moment, before anybody writes them down.

use crate::names::Metric;

/// One metric and all its series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    pub metric: &'static Metric,
    pub points: Vec<Point>,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// In the order of the metric's labels; an empty one is left out.
    pub labels: Vec<String>,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Count(u64),
    Level(f64),
    Times(Box<Times>),
}

/// Where the buckets of times end, in seconds: those of the convention, and some below for calls as quick as ours.
pub(crate) const BOUNDS: [f64; 17] =
    [0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// How long many things took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    /// Each for itself; the last has no end.
    pub buckets: [u64; BOUNDS.len() + 1],
    pub sum_seconds: f64,
    pub exemplars: [Option<Exemplar>; BOUNDS.len() + 1],
}

/// One of the things in a bucket, and the trace that it can be looked at in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar {
    pub trace: manifold_engine::TraceId,
    pub span: manifold_engine::SpanId,
    pub seconds: f64,
}

impl Times {
    pub fn add(&mut self, seconds: f64, exemplar: Option<Exemplar>) {
        let at = BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets[at] += 1;
        self.sum_seconds += seconds;
        if exemplar.is_some() {
            self.exemplars[at] = exemplar;
        }
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl Sampled {
    /// Returns a metric that is one number.
    pub fn one(metric: &'static Metric, value: Value) -> Self {
        Self { metric, points: vec![Point { labels: Vec::new(), value }] }
    }
}
