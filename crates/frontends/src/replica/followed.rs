//! Waiting until the other replicas have followed a change: their client's next request may come to any of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use manifold_engine::Lock as _;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// One that takes longer is not waited for: a change is not held up by a replica that is stuck.
const PATIENCE: Duration = Duration::from_millis(50);

/// Changes that others were told of and have not all followed.
#[derive(Default)]
pub(crate) struct Followed {
    waiting: Mutex<HashMap<u64, Waiting>>,
}

struct Waiting {
    missing: usize,
    done: oneshot::Sender<()>,
}

/// Goes with whoever waits, also where that one is given up.
struct Entry<'a> {
    followed: &'a Followed,
    number: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.followed.waiting.locked().remove(&self.number);
    }
}

impl Followed {
    /// Tells others of a change by its number, and waits until so many of them have followed.
    pub(crate) async fn by(&self, others: usize, number: u64, tell: impl FnOnce()) {
        if others == 0 {
            return tell();
        }
        let (done, all) = oneshot::channel();
        self.waiting.locked().insert(number, Waiting { missing: others, done });
        let _entry = Entry { followed: self, number };
        tell();
        let _ = timeout(PATIENCE, all).await;
    }

    /// Counts one that has followed.
    pub(crate) fn count(&self, number: u64) {
        let mut waiting = self.waiting.locked();
        let Some(change) = waiting.get_mut(&number) else { return };
        change.missing -= 1;
        if change.missing == 0
            && let Some(change) = waiting.remove(&number)
        {
            let _ = change.done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_are_waited_for_but_not_for_long() {
        let followed = Followed::default();
        let begun = tokio::time::Instant::now();
        followed.by(0, 1, || {}).await;
        followed
            .by(2, 2, || {
                followed.count(7);
                followed.count(2);
                followed.count(2);
                followed.count(2);
            })
            .await;
        assert!(begun.elapsed() < PATIENCE);
        followed.by(2, 3, || followed.count(3)).await;
        assert!(begun.elapsed() >= PATIENCE && followed.waiting.locked().is_empty());
    }
}
