//! How things are, as metrics.

use std::collections::BTreeMap;

use manifold_admin::{Snapshot, State};
use manifold_engine::RateLimits;

use crate::names::{
    AUDIT_LOST, CATALOG_TOOLS, DEGRADED, IN_FLIGHT, LOG_LOST, Metric, OTLP_DROPPED, RATE_LIMITED, SERVER_RSS,
    SERVER_STARTS, SERVER_STATE, SESSIONS,
};
use crate::sample::{Point, Sampled, Value};

/// Series of one metric; there are no more servers than that.
const MAX_SERIES: usize = 2_000;

/// What was lost on its way to those who look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    pub log_lines: u64,
    pub audit_lines: u64,
    pub spans: u64,
}

/// Returns how things are. `starts` is how often each server came up.
pub fn of_state(
    snapshot: &Snapshot,
    starts: &BTreeMap<String, u64>,
    rates: &RateLimits,
    losses: Losses,
) -> Vec<Sampled> {
    let (mut in_flight, mut state, mut memory) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for server in &snapshot.servers {
        let id = server.key.id.clone();
        *in_flight.entry(vec![id.clone()]).or_insert(0.0) +=
            server.calls.as_ref().and_then(|calls| calls.in_flight).unwrap_or_default() as f64;
        state.insert(vec![id.clone(), state_word(server.state).to_owned()], 1.0);
        let bytes: u64 = server.instances.iter().filter_map(|instance| instance.memory_bytes).sum();
        if bytes > 0 {
            *memory.entry(vec![id]).or_insert(0.0) += bytes as f64;
        }
    }
    let mut sessions = BTreeMap::from([(vec!["legacy".to_owned()], 0.0), (vec!["modern".to_owned()], 0.0)]);
    for client in &snapshot.clients {
        let era = client.protocol.as_ref().and_then(|protocol| protocol.era);
        let era = era.map_or_else(|| "other".to_owned(), |era| era_word(era).to_owned());
        *sessions.entry(vec![era]).or_insert(0.0) += 1.0;
    }
    let tools = snapshot.namespaces.iter().filter_map(|namespace| {
        let id = namespace.id.clone().unwrap_or_else(|| "default".to_owned());
        Some((vec![id], namespace.lists.as_ref()?.tools as f64))
    });
    let count = |metric, count| Sampled::one(metric, Value::Count(count));
    vec![
        levels(&IN_FLIGHT, in_flight),
        levels(&SERVER_STATE, state),
        counts(&SERVER_STARTS, starts.iter().map(|(id, count)| (vec![id.clone(), "ok".to_owned()], *count))),
        levels(&SERVER_RSS, memory),
        levels(&SESSIONS, sessions),
        levels(&CATALOG_TOOLS, tools),
        counts(&RATE_LIMITED, rates.limited().map(|(scope, count)| (vec![scope.as_str().to_owned()], count))),
        levels(&DEGRADED, snapshot.gateway.degraded.iter().map(|part| (vec![part.part.clone()], 1.0))),
        count(&LOG_LOST, losses.log_lines),
        count(&AUDIT_LOST, losses.audit_lines),
        count(&OTLP_DROPPED, losses.spans),
    ]
}

fn levels(metric: &'static Metric, series: impl IntoIterator<Item = (Vec<String>, f64)>) -> Sampled {
    let points = series.into_iter().map(|(labels, value)| Point { labels, value: Value::Level(value) });
    Sampled { metric, points: points.take(MAX_SERIES).collect() }
}

fn counts(metric: &'static Metric, series: impl IntoIterator<Item = (Vec<String>, u64)>) -> Sampled {
    let points = series.into_iter().map(|(labels, value)| Point { labels, value: Value::Count(value) });
    Sampled { metric, points: points.take(MAX_SERIES).collect() }
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Idle => "idle",
        State::Starting => "starting",
        State::Ready => "ready",
        State::Failed => "failed",
        State::Stopped => "stopped",
        State::Disabled => "disabled",
        State::NeedsLogin => "needs_login",
        State::Other => "other",
    }
}

fn era_word(era: manifold_admin::Era) -> &'static str {
    match era {
        manifold_admin::Era::Legacy => "legacy",
        manifold_admin::Era::Modern => "modern",
        _ => "other",
    }
}
