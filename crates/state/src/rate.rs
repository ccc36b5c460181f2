//! How often something may be done, over all replicas: GCRA, with the clock of the store. Where that is away each replica
//! counts for itself, and allows its part.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Store;

/// So many counters are kept here; past it those that no longer say anything go.
const MAX_LOCAL: usize = 65_536;

/// Takes one of each, or of none. Returns which is used up, counted from 1, and for how many microseconds; 0 where none is.
static TAKE: LazyLock<redis::Script> = LazyLock::new(|| {
    redis::Script::new(
        r"
        local time = redis.call('TIME')
        local now = time[1] * 1000000 + time[2]
        local dues = {}
        for at, key in ipairs(KEYS) do
            local limit, window = tonumber(ARGV[2 * at - 1]), tonumber(ARGV[2 * at])
            local due = tonumber(redis.call('GET', key) or '0')
            if due < now then due = now end
            due = due + window / limit
            local wait = due - window - now
            if wait > 0 then return {at, math.ceil(wait)} end
            dues[at] = due
        end
        for at, key in ipairs(KEYS) do
            redis.call('SET', key, string.format('%.0f', dues[at]), 'PX', math.ceil((dues[at] - now) / 1000) + 1)
        end
        return {0, 0}",
    )
});

/// One of `limit` in `window`, under a name that all replicas count it by.
#[derive(Debug, Clone, Copy)]
pub struct Take<'k> {
    pub key: &'k str,
    pub limit: u32,
    pub window: Duration,
}

/// The first that is used up, by its place among those that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    pub at: usize,
    pub wait: Duration,
}

#[derive(Default)]
pub(crate) struct LocalRates {
    /// When each will have been used up to its limit no longer.
    due: Mutex<HashMap<String, Instant>>,
}

impl Store {
    /// Takes one of each, or of none where one is used up.
    pub async fn take(&self, takes: &[Take<'_>]) -> Result<(), UsedUp> {
        let mut script = TAKE.prepare_invoke();
        for take in takes {
            // One tag for all, as a script has the keys of one slot.
            script.key(self.key(&format!("rl:{{rates}}:{}", take.key)));
            script.arg(take.limit.max(1)).arg(take.window.as_micros() as u64);
        }
        let taken: Result<(usize, u64), _> = self.shared.connection.run(&script).await;
        match taken {
            Ok((0, _)) => Ok(()),
            Ok((at, wait)) => Err(UsedUp { at: at - 1, wait: Duration::from_micros(wait) }),
            Err(_) => self.shared.rates.take(takes, u32::try_from(self.nodes()).unwrap_or(1)),
        }
    }
}

impl LocalRates {
    /// Takes one of our part of each, or of none.
    pub(crate) fn take(&self, takes: &[Take<'_>], replicas: u32) -> Result<(), UsedUp> {
        let now = Instant::now();
        let mut all = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_LOCAL {
            all.retain(|_, due| *due > now);
        }
        let mut dues = Vec::with_capacity(takes.len());
        for (at, take) in takes.iter().enumerate() {
            let limit = (take.limit / replicas.max(1)).max(1);
            let due =
                all.get(take.key).copied().filter(|due| *due > now).unwrap_or(now) + take.window / limit;
            let wait = due.saturating_duration_since(now + take.window);
            if !wait.is_zero() {
                return Err(UsedUp { at, wait });
            }
            dues.push(due);
        }
        all.extend(takes.iter().map(|take| take.key.to_owned()).zip(dues));
        Ok(())
    }
}
