//! What is told to whoever asks whether we are fit to be sent work.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::sync::Lock as _;

/// Whether we are fit to be sent work, as a balancer asks. Parts that stand in for something missing report here.
#[derive(Default)]
pub struct Health {
    /// Everything was there once: what is restarted later keeps nobody away.
    was_ready: AtomicBool,
    draining: CancellationToken,
    degraded: Mutex<BTreeMap<&'static str, String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// Not everything is known yet.
    Starting,
    Ready,
    /// Work is done, some of it less well.
    Degraded,
    /// We are about to end.
    Draining,
}

impl Fitness {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Draining => "draining",
        }
    }

    /// Returns whether work may be sent.
    pub fn is_fit(self) -> bool {
        matches!(self, Self::Ready | Self::Degraded)
    }
}

impl Health {
    /// Says that no work should be sent from now on.
    pub fn drain(&self) {
        self.draining.cancel();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Resolves once no work should be sent any more.
    pub fn draining(&self) -> impl Future<Output = ()> + Send + 'static {
        self.draining.clone().cancelled_owned()
    }

    /// Says that a part works less well than it should, and why.
    pub fn degrade(&self, part: &'static str, why: impl Into<String>) {
        let why = why.into();
        let before = self.degraded.locked().insert(part, why.clone());
        if before.as_ref() != Some(&why) {
            warn!(part, "degraded: {why}");
        }
    }

    /// Says that a part works as it should again.
    pub fn recover(&self, part: &'static str) {
        if self.degraded.locked().remove(part).is_some() {
            info!(part, "no longer degraded");
        }
    }

    /// Returns the parts that work less well than they should, and why.
    pub fn degraded(&self) -> Vec<(&'static str, String)> {
        self.degraded.locked().iter().map(|(part, why)| (*part, why.clone())).collect()
    }

    /// Returns how we are; `settled` looks whether everything is known, until it once was.
    pub fn fitness(&self, settled: impl FnOnce() -> bool) -> Fitness {
        if self.is_draining() {
            return Fitness::Draining;
        }
        if !self.was_ready.load(Ordering::Relaxed) {
            if !settled() {
                return Fitness::Starting;
            }
            self.was_ready.store(true, Ordering::Relaxed);
        }
        match self.degraded.locked().is_empty() {
            true => Fitness::Ready,
            false => Fitness::Degraded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_once_is_ready_until_the_end() {
        let health = Health::default();
        assert_eq!(health.fitness(|| false), Fitness::Starting);
        assert_eq!(health.fitness(|| true), Fitness::Ready);
        assert_eq!(
            health.fitness(|| false),
            Fitness::Ready,
            "a server that is started again keeps nobody away"
        );
        health.degrade("redis", "it does not answer");
        assert_eq!(health.fitness(|| true), Fitness::Degraded);
        assert_eq!(health.degraded(), [("redis", "it does not answer".to_owned())]);
        health.recover("redis");
        assert_eq!(health.fitness(|| true), Fitness::Ready);
        health.drain();
        assert_eq!(health.fitness(|| true), Fitness::Draining);
    }
}
