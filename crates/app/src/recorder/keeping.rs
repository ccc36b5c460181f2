//! The thread of one recording: from the stream of traffic into its file.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_admin::{Matcher, Recording, RecordingChange, TrafficItem};
use manifold_engine::{Lock as _, Subscription};
use manifold_recording::{EndedBy, Writer};
use tracing::warn;

use super::Tell;

/// How long a frame may wait before somebody looks for it.
const PAUSE: Duration = Duration::from_millis(100);

/// How many frames are written between two looks at whether it shall end.
const AT_ONCE: usize = 1024;

/// How a recording comes to its end, unless it cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a footer.
    Stopped,
    /// With a footer that says so: the gateway ends.
    GatewayEnded,
    /// Another process goes on with the file.
    Suspended,
    /// Messages came faster than they were written, and some are gone.
    Overrun,
}

/// What one thread has.
pub(super) struct Keeping {
    pub(super) subscription: Subscription,
    pub(super) matcher: Matcher,
    pub(super) writer: Writer,
    /// What others are told of it.
    pub(super) seen: Arc<Mutex<Recording>>,
    pub(super) tell: Tell,
    /// The program does not end for want of clients meanwhile.
    pub(super) _hold: Box<dyn Send + Sync>,
}

/// How far it has come.
enum Written {
    All,
    Some,
    /// Up to where messages are missing.
    ToGap,
}

impl Keeping {
    pub(super) fn keep(mut self, orders: &Receiver<Ending>) {
        let ended = self.until_told(orders);
        let is_suspended = matches!(ended, Ok(Ending::Suspended));
        let is_ours = matches!(ended, Ok(Ending::GatewayEnded));
        // A recording that cannot be used any more shall not go on being fed.
        drop(self.subscription);
        let unwritten = |error| format!("it ended by itself, as it could not be written: {error}");
        let counts = self.writer.counts();
        let problem = match ended {
            Ok(Ending::Stopped) => self.writer.end(EndedBy::Stopped).err().map(unwritten),
            Ok(Ending::Suspended) => self.writer.flush().err().map(unwritten),
            Ok(ending @ (Ending::Overrun | Ending::GatewayEnded)) => {
                let why = match ending {
                    Ending::Overrun => EndedBy::Overrun,
                    _ => EndedBy::GatewayEnded,
                };
                let written = self.writer.end(why).err().map(unwritten);
                written.or_else(|| why.problem().map(str::to_owned))
            }
            Err(error) => {
                // Where there is room for its last line after all, that says so, too.
                let _ = self.writer.end(EndedBy::Unwritable);
                Some(unwritten(error))
            }
        };
        let recording = {
            let mut seen = self.seen.locked();
            seen.is_running = false;
            (seen.frames, seen.lost, seen.bytes) = counts;
            seen.problem = problem;
            seen.clone()
        };
        if let Some(problem) = recording.problem.as_ref().filter(|_| !is_ours) {
            warn!(recording = recording.name, lost = recording.lost, "{problem}");
        }
        if !is_suspended {
            (self.tell)(RecordingChange::Stopped, &recording);
        }
    }

    fn until_told(&mut self, orders: &Receiver<Ending>) -> std::io::Result<Ending> {
        let mut told = None;
        loop {
            let pause = match (self.write_some()?, told) {
                (Written::ToGap, _) => return Ok(Ending::Overrun),
                // What had passed when the order came belongs to it.
                (Written::All, Some(ending)) => return Ok(ending),
                (Written::All, None) => PAUSE,
                (Written::Some, _) => Duration::ZERO,
            };
            if told.is_none() {
                told = match orders.recv_timeout(pause) {
                    Ok(ending) => Some(ending),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => Some(Ending::Stopped),
                };
            }
        }
    }

    /// Writes what has come.
    fn write_some(&mut self) -> std::io::Result<Written> {
        for _ in 0..AT_ONCE {
            let Some(item) = self.subscription.try_next() else {
                self.writer.flush()?;
                self.show();
                return Ok(Written::All);
            };
            match &item {
                TrafficItem::Frame(frame) if !self.matcher.matches(frame, frame.t) => {}
                TrafficItem::Frame(_) => self.writer.write(&item)?,
                TrafficItem::Gap { .. } => {
                    self.writer.write(&item)?;
                    return Ok(Written::ToGap);
                }
            }
        }
        self.show();
        Ok(Written::Some)
    }

    fn show(&self) {
        let mut seen = self.seen.locked();
        (seen.frames, seen.lost, seen.bytes) = self.writer.counts();
    }
}
