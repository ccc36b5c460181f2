//! Between those who log and what is written: whoever logs never waits (F39), and lines that find no room, or cannot
//! be written, are lost and counted (F32).

use manifold_engine::Lock as _;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use manifold_config::redact;
use tokio::time::Instant;
use tracing::warn;

/// What may wait to be written.
const MAX_BYTES: usize = 1 << 20;

/// Lines on their way to one log.
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Lines the writer is done with, so that those who wait see it work.
    done: AtomicU64,
    /// Lines that were not written, in all.
    lost: AtomicU64,
}

/// How long to wait for a log to be written.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// For the next line: a log that nobody reads is not waited for.
    pub(crate) stalled: Duration,
    /// For all of them.
    pub(crate) total: Duration,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that found no room since the writer last looked.
    lost: u64,
    /// The writer has taken lines and is at work on them.
    is_writing: bool,
}

impl Queue {
    /// Starts a thread that writes what is queued. It ends with the process.
    pub(crate) fn start(name: &str, log: impl Write + Send + 'static) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            done: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        let writer = Writer { queue: Arc::clone(&queue), name: name.to_owned(), log, lost: 0 };
        thread::Builder::new().name("log".to_owned()).spawn(move || writer.run())?;
        Ok(queue)
    }

    /// Waits until all is written, or for as long as `patience` lasts.
    pub(crate) fn flush(&self, patience: Patience) {
        let busy = |state: &mut State| !state.lines.is_empty() || state.is_writing;
        let deadline = Instant::now() + patience.total;
        loop {
            let done = self.done.load(Ordering::Relaxed);
            let left = deadline.saturating_duration_since(Instant::now()).min(patience.stalled);
            let waited = self.changed.wait_timeout_while(self.lock(), left, busy);
            let timed_out = waited.is_ok_and(|(_state, waited)| waited.timed_out());
            let stalled = done == self.done.load(Ordering::Relaxed);
            if !timed_out || stalled || Instant::now() >= deadline {
                return;
            }
        }
    }

    /// Returns how many lines were not written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.bytes + line.len() > MAX_BYTES {
            state.lost += 1;
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.to_vec());
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for lines, and takes them all with the number of those lost.
    fn take(&self) -> (VecDeque<Vec<u8>>, u64) {
        let mut state = self.lock();
        state.is_writing = false;
        self.changed.notify_all();
        while state.lines.is_empty() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_writing = true;
        state.bytes = 0;
        (std::mem::take(&mut state.lines), std::mem::take(&mut state.lost))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// Each write is one line: the log's formatter hands them over whole.
impl Write for &Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The end of a queue where lines are written.
struct Writer<W> {
    queue: Arc<Queue>,
    name: String,
    log: W,
    /// Lines lost and not yet told of.
    lost: u64,
}

impl<W: Write> Writer<W> {
    fn run(mut self) {
        loop {
            let (lines, unqueued) = self.queue.take();
            self.lost += unqueued;
            let could_write = self.lost == unqueued;
            let mut failure = None;
            for line in lines {
                // Whatever is logged, a server's words among it, is rid of secrets here, where nobody waits (M11).
                if let Err(error) = self.log.write_all(redact(&String::from_utf8_lossy(&line)).as_bytes()) {
                    self.lost += 1;
                    self.queue.lost.fetch_add(1, Ordering::Relaxed);
                    failure = Some(error);
                }
                self.queue.done.fetch_add(1, Ordering::Relaxed);
            }
            match failure {
                // Said once: it goes to the other log, if there is one.
                Some(error) if could_write => {
                    warn!("{}: the log cannot be written: {error}; lines are lost until it can", self.name);
                }
                None if self.lost > 0 => {
                    warn!("{}: {} lines of the log were lost", self.name, std::mem::take(&mut self.lost));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
