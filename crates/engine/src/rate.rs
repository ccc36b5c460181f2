//! How many calls there may be in some time, for each of something: GCRA, which needs one moment per key and forgets
//! nothing at the edge of a window.
//!
//! The crate governor does the same; its clock is its own, though, and all rules that a call falls under have to be asked
//! before any of them is charged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use manifold_config::{RateRule, RateScope};
use tokio::time::Instant;

use crate::observe::Watch;
use crate::sync::Lock as _;
use crate::upstream::BoxFuture;

/// Keys that are kept here; past it those share one of whom nothing is known.
const MAX_KEYS: usize = 100_000;

/// One call as one rule counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateAsk {
    pub per: RateScope,
    /// What it is counted under, the same in every gateway with the same rule.
    pub key: String,
    pub limit: u32,
    pub window: Duration,
}

/// Whether a call may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateVerdict {
    Allowed,
    /// One rule is used up; none was charged.
    Limited {
        ask: RateAsk,
        retry_after: Duration,
    },
}

/// Counts that several gateways share.
pub trait RateStore: Send + Sync {
    /// Counts a call by all of these, or by none. `None`: nobody knows now, and each counts for itself.
    fn take(&self, asks: Vec<RateAsk>) -> BoxFuture<Option<RateVerdict>>;
}

/// The rules in force, and what was counted.
pub struct RateLimits {
    rules: ArcSwap<Vec<RateRule>>,
    local: LocalRates,
    shared: OnceLock<Arc<dyn RateStore>>,
    watch: Arc<Watch>,
    limited: [AtomicU64; RateScope::ALL.len()],
}

/// What a call is counted by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'c> {
    /// Who asks, and in which namespace; `None`: they were counted already.
    pub(crate) who: Option<(&'c str, Option<&'c str>)>,
    /// Where it goes, as far as that is known: servers, and the tool by the server's own name.
    pub(crate) targets: &'c [(String, Option<String>)],
}

impl RateLimits {
    pub(crate) fn new(watch: &Arc<Watch>, rules: &[RateRule]) -> Self {
        let limits = Self {
            rules: ArcSwap::default(),
            local: LocalRates::default(),
            shared: OnceLock::new(),
            watch: Arc::clone(watch),
            limited: Default::default(),
        };
        limits.set_rules(rules);
        limits
    }

    /// Counts by these from now on. What was counted under a rule that stays is kept.
    pub(crate) fn set_rules(&self, rules: &[RateRule]) {
        self.rules.store(Arc::new(rules.to_vec()));
        self.watch.set(Watch::RATES, !rules.is_empty());
    }

    /// Has calls counted together with other gateways.
    pub fn share(&self, store: Arc<dyn RateStore>) {
        let _ = self.shared.set(store);
    }

    /// Returns how many calls were turned away, by what the rule counted.
    pub fn limited(&self) -> impl Iterator<Item = (RateScope, u64)> + '_ {
        RateScope::ALL.into_iter().zip(self.limited.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// Returns what a call is counted by.
    pub(crate) fn asks(&self, counted: Counted<'_>) -> Vec<RateAsk> {
        let rules = self.rules.load();
        rules.iter().flat_map(|rule| asks(rule, counted)).collect()
    }

    /// Returns whether a rule counts what goes to servers.
    pub(crate) fn concern_servers(&self) -> bool {
        let rules = self.rules.load();
        rules.iter().any(|rule| matches!(rule.per, RateScope::Server | RateScope::Tool))
    }

    /// Counts a call where nobody else has to be asked.
    pub(crate) fn take_here(&self, asks: &[RateAsk]) -> RateVerdict {
        self.noted(self.local.take(asks))
    }

    /// Returns who has to be asked, where somebody has to.
    pub(crate) fn shared(&self) -> Option<&Arc<dyn RateStore>> {
        self.shared.get()
    }

    /// Counts a call together with others, and for ourselves where they cannot be reached.
    pub(crate) async fn take_shared(&self, store: &dyn RateStore, asks: Vec<RateAsk>) -> RateVerdict {
        match store.take(asks.clone()).await {
            Some(verdict) => self.noted(verdict),
            None => self.take_here(&asks),
        }
    }

    fn noted(&self, verdict: RateVerdict) -> RateVerdict {
        if let RateVerdict::Limited { ask, .. } = &verdict
            && let Some(at) = RateScope::ALL.iter().position(|scope| *scope == ask.per)
        {
            self.limited[at].fetch_add(1, Ordering::Relaxed);
        }
        verdict
    }
}

/// Returns how a rule counts a call, if it does.
fn asks(rule: &RateRule, counted: Counted<'_>) -> Vec<RateAsk> {
    let is_meant = |name: &str| rule.pattern.as_deref().is_none_or(|pattern| matches(pattern, name));
    let of_who = |name: &str| Vec::from_iter(is_meant(name).then(|| name.to_owned()));
    let of_tool = |(server, tool): &(String, Option<String>)| {
        let (tool, whole) = (tool.as_deref()?, format!("{server}/{}", tool.as_deref()?));
        (is_meant(tool) || is_meant(&whole)).then_some(whole)
    };
    let values = match (rule.per, counted.who) {
        (RateScope::Principal | RateScope::Namespace, None) => Vec::new(),
        (RateScope::Principal, Some((principal, _))) => of_who(principal),
        (RateScope::Namespace, Some((_, namespace))) => of_who(namespace.unwrap_or("default")),
        (RateScope::Server, _) => counted.targets.iter().flat_map(|(server, _)| of_who(server)).collect(),
        (RateScope::Tool, _) => counted.targets.iter().filter_map(of_tool).collect(),
    };
    let (per, window) = (rule.per.as_str(), rule.window.as_secs());
    let pattern = rule.pattern.as_deref().unwrap_or("*");
    let ask = |value: String| {
        let key = format!("{per}:{pattern}:{}/{window}:{value}", rule.limit);
        RateAsk { per: rule.per, key, limit: rule.limit, window: rule.window }
    };
    values.into_iter().map(ask).collect()
}

/// Returns whether a pattern with `*` and `?` is all of a name.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at).is_some_and(|one| *one == '?' || *one == name[read]) {
            at += 1;
            read += 1;
        } else if let Some((star_at, star_read)) = star {
            // The star takes one more.
            star = Some((star_at, star_read + 1));
            at = star_at + 1;
            read = star_read + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}

/// Counts of this process.
#[derive(Default)]
struct LocalRates {
    /// When the next call would come in its own time, if all came evenly.
    due: Mutex<HashMap<String, Instant>>,
}

impl LocalRates {
    fn take(&self, asks: &[RateAsk]) -> RateVerdict {
        let now = Instant::now();
        let mut due = self.due.locked();
        for ask in asks {
            let wait = due.get(kept(&due, &ask.key)).map_or(Duration::ZERO, |due| wait(*due, now, ask));
            if !wait.is_zero() {
                return RateVerdict::Limited { ask: ask.clone(), retry_after: wait };
            }
        }
        for ask in asks {
            if due.len() >= MAX_KEYS {
                // One whose time has come is as good as one that was never seen.
                due.retain(|_, due| *due > now);
            }
            let key = kept(&due, &ask.key).to_owned();
            let due = due.entry(key).or_insert(now);
            *due = (*due).max(now) + spacing(ask);
        }
        RateVerdict::Allowed
    }
}

/// Returns the key under which a call is counted: those who find no room share one.
fn kept<'k>(due: &HashMap<String, Instant>, key: &'k str) -> &'k str {
    if due.len() >= MAX_KEYS && !due.contains_key(key) { "other" } else { key }
}

/// The time between two calls that come evenly.
fn spacing(ask: &RateAsk) -> Duration {
    ask.window / ask.limit
}

/// Returns how long a call has to wait: `limit` may come at once, so the next may be due up to a window less one ahead.
fn wait(due: Instant, now: Instant, ask: &RateAsk) -> Duration {
    let tolerance = ask.window.saturating_sub(spacing(ask));
    due.saturating_duration_since(now).saturating_sub(tolerance)
}

#[cfg(test)]
mod tests;
