//! Staying awake between messages that follow each other at once.
//!
//! Falling asleep and being woken takes a thread longer than passing a message on. With one call at a time each message is
//! answered within a few dozen microseconds, so whoever polls looks for the next one that long before it lets the
//! thread sleep. It costs nothing where nothing is gained: under load nobody sleeps anyway, and after a few looks in vain,
//! as with a server that takes its time, it is given up until messages come quickly again.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep;

/// How long the next message is looked for: what a quick server or client takes, being woken included.
const LOOK: Duration = Duration::from_micros(120);
/// How long nobody polls after several messages came at once.
const BUSY: Duration = Duration::from_millis(10);
/// So many looks in vain, more than those that found something, end it.
const MOST_LUCK: u32 = 8;
/// Without luck, one message in so many is followed by a look.
const SELDOM: u32 = 64;

/// There is one: the messages it looks for are those of the whole process.
static POLLING: BusyPoll = BusyPoll::new();

/// Notes that a message, or several at once, has come in.
pub fn mark() {
    POLLING.mark();
}

/// Polls for ever. Where there is one processor, that would only be in the way of whoever is to answer; where
/// several threads share the work, one of them may sleep on what is looked for.
pub async fn keep() {
    let is_alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
    if is_alone && available_parallelism().map_or(1, NonZero::get) > 1 {
        POLLING.keep().await;
    }
}

struct BusyPoll {
    marks: AtomicU64,
    is_asleep: AtomicBool,
    wake: Notify,
}

/// What a look came to.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Messages came one by one, for as long as they did.
    Found,
    Vain,
    /// Several came at once.
    Busy,
}

impl BusyPoll {
    const fn new() -> Self {
        Self { marks: AtomicU64::new(0), is_asleep: AtomicBool::new(false), wake: Notify::const_new() }
    }

    fn mark(&self) {
        self.marks.fetch_add(1, Ordering::Relaxed);
        // Looked at first: this is on the way of every message.
        if self.is_asleep.load(Ordering::Relaxed) && self.is_asleep.swap(false, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }

    async fn keep(&self) {
        let (mut luck, mut skipped) = (MOST_LUCK, 0);
        loop {
            self.is_asleep.store(true, Ordering::Relaxed);
            self.wake.notified().await;
            if luck == 0 && skipped < SELDOM {
                skipped += 1;
                continue;
            }
            skipped = 0;
            match self.look().await {
                Look::Found => luck = MOST_LUCK,
                Look::Vain => luck = luck.saturating_sub(1),
                Look::Busy => sleep(BUSY).await,
            }
        }
    }

    /// Looks for messages for as long as each comes soon after the one before.
    #[expect(
        clippy::disallowed_types,
        reason = "what is looked for takes its time where a test has stopped the clock, too"
    )]
    async fn look(&self) -> Look {
        let mut found = Look::Vain;
        let mut seen = self.marks.load(Ordering::Relaxed);
        let mut began = std::time::Instant::now();
        loop {
            // All others have their turn, and what has come in meanwhile is taken.
            yield_now().await;
            let marks = self.marks.load(Ordering::Relaxed);
            match marks.wrapping_sub(seen) {
                0 if began.elapsed() >= LOOK => return found,
                0 => {}
                1 => {
                    (seen, found) = (marks, Look::Found);
                    began = std::time::Instant::now();
                }
                _ => return Look::Busy,
            }
        }
    }
}

#[cfg(test)]
mod tests;
