//! Refreshes ahead of time what is used, tries again what failed, and saves what the store has refused. One task per
//! sign-in, which ends with it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::Inner;
use super::flight::Want;
use crate::record::Credential;

/// No sleep is longer: the machine may have slept, and timers do not count that.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// How often a save is tried again.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// Starts the task.
pub(super) fn start(inner: &Arc<Inner>) {
    let (weak, news) = (Arc::downgrade(inner), inner.news.clone());
    inner.parts.tasks.spawn_background(Box::pin(run(weak, news)));
}

async fn run(weak: Weak<Inner>, news: Arc<Notify>) {
    loop {
        let Some(inner) = weak.upgrade() else { return };
        let step = inner.next_step();
        match step {
            Step::Refresh => {
                let _ = inner.refreshed(inner.due()).await;
            }
            Step::Save => inner.save_again().await,
            Step::Sleep(_) | Step::Wait => {}
        }
        // Only the sleep is slept without holding on to what may be dropped meanwhile.
        drop(inner);
        match step {
            Step::Sleep(time) => sleep_or_news(&news, time).await,
            Step::Save => sleep_or_news(&news, SAVE_EVERY).await,
            Step::Wait => sleep_or_news(&news, LONGEST_SLEEP).await,
            Step::Refresh => tokio::task::yield_now().await,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Refresh,
    Save,
    Sleep(Duration),
    /// There is nothing to do before somebody publishes.
    Wait,
}

impl Inner {
    fn next_step(&self) -> Step {
        let now = self.parts.clock.now();
        let memory = self.memory();
        if memory.unsaved.is_some() && memory.flight.is_none() {
            return Step::Save;
        }
        let is_used = self.is_used.load(Ordering::Relaxed);
        let has_refresh = memory.credential.as_ref().is_some_and(|credential| {
            let tokens = credential.tokens.as_ref();
            tokens.is_some_and(|tokens| tokens.refresh.is_some())
                || credential.grant == crate::settings::Grant::ClientCredentials
        });
        if let Some(at) = memory.not_before.filter(|_| has_refresh) {
            return match at.checked_sub(now).filter(|left| !left.is_zero()) {
                Some(left) => Step::Sleep(left.min(LONGEST_SLEEP)),
                None if is_used => Step::Refresh,
                None => Step::Wait,
            };
        }
        let Some(bearer) = self.snapshot.load_full().filter(|_| has_refresh) else { return Step::Wait };
        let (Some(refresh_at), Some(good_until)) = (bearer.refresh_at, bearer.good_until) else {
            return Step::Wait;
        };
        match refresh_at.checked_sub(now).filter(|left| !left.is_zero()) {
            Some(left) => Step::Sleep(left.min(LONGEST_SLEEP)),
            None if is_used => Step::Refresh,
            None if now < good_until => Step::Sleep(bearer.slice),
            // The next call refreshes.
            None => Step::Wait,
        }
    }

    /// The token to replace ahead of its time; one that is over anyway needs no force.
    fn due(&self) -> Want {
        self.current().map_or(Want::Good, |bearer| Want::Ahead(bearer.header.clone()))
    }

    /// Writes what the store has refused before. Another process may have written since: whoever has the later tokens
    /// wins.
    async fn save_again(self: &Arc<Self>) {
        let Ok(lock) = self.parts.store.lock(&self.key).await else { return };
        let Ok(found) = self.parts.store.load(&self.key).await else { return };
        let (ours, replaced) = {
            let memory = self.memory();
            match (memory.unsaved, memory.credential.clone()) {
                (Some(replaced), Some(ours)) => (ours, replaced),
                _ => return,
            }
        };
        let generation = found.as_ref().map(|found| found.generation);
        // Tokens win over none, unless there are none because somebody signed out.
        let is_newer = match &found {
            Some(found) => found.generation > replaced && (found.tokens.is_some() || found.ended.is_none()),
            None => replaced != 0,
        };
        if is_newer {
            let mut memory = self.memory();
            memory.unsaved = None;
            self.take_over(&mut memory, found);
            return;
        }
        let next = ours.generation.max(generation.unwrap_or(0) + 1);
        let ours = Credential { generation: next, ..ours };
        if self.parts.store.save(&lock, &ours, generation).await.is_ok() {
            let mut memory = self.memory();
            memory.unsaved = None;
            memory.credential = Some(ours);
            tracing::info!(server = %self.parts.server.id, "the new token is in the store");
        }
    }
}

async fn sleep_or_news(news: &Notify, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = news.notified() => {}
    }
}
