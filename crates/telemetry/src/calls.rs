//! What calls add up to.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Mutex;

use foldhash::fast::RandomState;
use manifold_engine::{CallEnd, CallRecord, Lock as _, Observer};
use manifold_protocol::Method;

use crate::names::{BYTES, CALLS, CLIENT_DURATION, Metric, SERVER_DURATION};
use crate::outcome;
use crate::sample::{Exemplar, Point, Sampled, Times, Value};

/// Series of one metric; further ones are counted together.
const MAX_SERIES: usize = 2_000;
/// Names of tools that are remembered to be listed.
const MAX_LISTED: usize = 10_000;
const OTHER: &str = "other";
/// What stands for the gateway where a server would be named.
const OURSELVES: &str = "manifold";

/// Says whether a server is known to have a tool.
type Lists = dyn Fn(&str, &str) -> bool + Send + Sync;

/// Counts calls. Only what is configured or listed is named: what clients write makes no series.
pub struct CallMetrics {
    lists: Box<Lists>,
    hasher: RandomState,
    /// Tools that were found to be listed, by the hash of their server and their name.
    listed: Mutex<HashSet<u64, RandomState>>,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    answered: Series<Times>,
    asked: Series<Times>,
    calls: Series<u64>,
    bytes_in: u64,
    bytes_out: u64,
}

/// The series of one metric, by the hash of their labels.
struct Series<T> {
    found: HashMap<u64, Entry<T>, RandomState>,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { found: HashMap::default() }
    }
}

struct Entry<T> {
    labels: Vec<String>,
    /// Goes with its server.
    server: Option<String>,
    value: T,
}

impl CallMetrics {
    /// Makes one that asks `lists` whether a server is known to have a tool before it names it.
    pub fn new(lists: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        let lists = Box::new(lists);
        Self { lists, hasher: RandomState::default(), listed: Mutex::default(), counted: Mutex::default() }
    }

    /// Returns whether a tool may be named. A list is searched while nobody waits for what is counted.
    fn is_listed(&self, server: Option<&str>, tool: &str) -> bool {
        let Some(server) = server else { return false };
        let key = self.hasher.hash_one((server, tool));
        if self.listed.locked().contains(&key) {
            return true;
        }
        if !(self.lists)(server, tool) {
            return false;
        }
        let mut listed = self.listed.locked();
        if listed.len() >= MAX_LISTED {
            listed.clear();
        }
        listed.insert(key)
    }

    /// Returns what was counted. Series of servers that are no longer `known` end.
    pub fn sample(&self, known: impl Fn(&str) -> bool) -> Vec<Sampled> {
        let mut counted = self.counted.locked();
        let Counted { answered, asked, calls, bytes_in, bytes_out } = &mut *counted;
        answered.forget(&known);
        asked.forget(&known);
        calls.forget(&known);
        let times = |times: &Times| Value::Times(Box::new(times.clone()));
        let bytes = |direction: &str, bytes: u64| Point {
            labels: vec![direction.to_owned()],
            value: Value::Count(bytes),
        };
        vec![
            answered.sample(&SERVER_DURATION, times),
            asked.sample(&CLIENT_DURATION, times),
            calls.sample(&CALLS, |count| Value::Count(*count)),
            Sampled { metric: &BYTES, points: vec![bytes("in", *bytes_in), bytes("out", *bytes_out)] },
        ]
    }
}

impl Observer for CallMetrics {
    fn ended(&self, record: &CallRecord, end: &CallEnd) {
        let target = record.target.as_deref();
        let method = match &record.method {
            Method::Other(_) => OTHER,
            known => known.as_str(),
        };
        let server = target.map(|target| target.server.as_str());
        let tool = target.and_then(|target| target.tool.as_deref()).unwrap_or_default();
        let tool = if tool.is_empty() || self.is_listed(server, tool) { tool } else { "" };
        let error = outcome::error_label(end);
        let transport = if record.address.is_some() { "tcp" } else { "pipe" };
        let exemplar = |span| {
            let trace = record.trace.as_ref().filter(|trace| trace.sampled)?;
            Some((trace.trace, span))
        };
        let spans = record.trace.as_ref().map(|trace| (trace.server_span, trace.client_span));
        let took = end.took.as_secs_f64();
        let mut counted = self.counted.locked();
        let (key, labels) = self.at(&counted.answered, [method, tool, &error, transport]);
        let seen = spans.and_then(|(span, _)| exemplar(span)).map(|(trace, span)| Exemplar {
            trace,
            span,
            seconds: took,
        });
        counted.answered.entry(key, &labels, server).add(took, seen);
        if let (Some(server), Some(sent)) = (server, record.sent) {
            let waited = sent.saturating_duration_since(record.began).as_secs_f64();
            let took = (took - waited).max(0.0);
            let (key, labels) = self.at(&counted.asked, [method, tool, &error, server]);
            let seen = spans.and_then(|(_, span)| exemplar(span)).map(|(trace, span)| Exemplar {
                trace,
                span,
                seconds: took,
            });
            counted.asked.entry(key, &labels, Some(server)).add(took, seen);
        }
        let labels = [server.unwrap_or(OURSELVES), outcome::word(end)];
        let key = self.hasher.hash_one(labels);
        let (key, labels) = match counted.calls.has_room_for(key) {
            true => (key, labels),
            false => (0, [OTHER, OTHER]),
        };
        *counted.calls.entry(key, &labels, server) += 1;
        counted.bytes_in += record.request_bytes as u64;
        counted.bytes_out += end.response_bytes as u64;
    }
}

impl CallMetrics {
    /// Finds where a call is counted: under its own labels, or with all that find no room.
    fn at<'l>(&self, series: &Series<Times>, labels: [&'l str; 4]) -> (u64, [&'l str; 4]) {
        let key = self.hasher.hash_one(labels);
        match series.has_room_for(key) {
            true => (key, labels),
            false => (0, [OTHER, OTHER, OTHER, OTHER]),
        }
    }
}

impl<T: Default> Series<T> {
    /// Returns whether a series is there, or may come; the last place is for those that may not.
    fn has_room_for(&self, key: u64) -> bool {
        self.found.contains_key(&key) || self.found.len() < MAX_SERIES - 1
    }

    fn entry(&mut self, key: u64, labels: &[&str], server: Option<&str>) -> &mut T {
        let is_shared = labels.first() == Some(&OTHER) && key == 0;
        let new = || Entry {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            server: server.filter(|_| !is_shared).map(str::to_owned),
            value: T::default(),
        };
        &mut self.found.entry(key).or_insert_with(new).value
    }

    fn forget(&mut self, known: impl Fn(&str) -> bool) {
        self.found.retain(|_, entry| entry.server.as_deref().is_none_or(&known));
    }

    fn sample(&self, metric: &'static Metric, value: impl Fn(&T) -> Value) -> Sampled {
        let points = self.found.values();
        let points = points.map(|entry| Point { labels: entry.labels.clone(), value: value(&entry.value) });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|a, b| a.labels.cmp(&b.labels));
        Sampled { metric, points }
    }
}

#[cfg(test)]
pub(crate) mod tests;
