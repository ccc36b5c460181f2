//! What servers write beside the protocol, for operators: what there is, and what comes.

use std::collections::HashMap;
use std::sync::Arc;

use manifold_admin as admin;
use manifold_admin::{CommandError, LogLine};
use manifold_config::ServerKey;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::commands::find;
use super::{Control, words};
use crate::fleet::{Fleet, FollowedLine, Slot};
use crate::upstream::LoggedLine;

impl Control {
    /// Returns the last lines that all instances of a server wrote, in the order of their times; with
    /// `since_ms`, those that were written then or later, in milliseconds since the beginning of 1970.
    pub fn logs(
        &self,
        server: &admin::ServerId,
        lines: usize,
        since_ms: Option<u64>,
    ) -> Result<Vec<LogLine>, CommandError> {
        let fleet = self.fleet()?;
        let key = find(&fleet, server)?;
        Ok(fleet.written(&key, lines, since_ms).into_iter().map(|written| written.shown(&key)).collect())
    }

    /// Returns the last lines in the same way, and what follows them: no line is missed between the two, and none comes
    /// twice.
    pub fn follow_logs(
        &self,
        server: &admin::ServerId,
        lines: usize,
        since_ms: Option<u64>,
    ) -> Result<(Vec<LogLine>, LogFollower), CommandError> {
        let fleet = self.fleet()?;
        let key = find(&fleet, server)?;
        // Before the look: a line that comes meanwhile is in both.
        let receiver = fleet.log_followers().follow(&key);
        let all = fleet.written(&key, usize::MAX, None);
        let mut known = HashMap::new();
        for written in &all {
            let last = known.entry(written.instance.clone()).or_insert(0);
            *last = written.line.number.max(*last);
        }
        let is_wanted = |written: &&Written| since_ms.is_none_or(|since| written.line.at_ms >= since);
        let wanted: Vec<_> = all.iter().filter(is_wanted).collect();
        let shown = wanted[wanted.len().saturating_sub(lines)..].iter().map(|written| written.shown(&key));
        Ok((shown.collect(), LogFollower { receiver, known }))
    }
}

/// A line and who wrote it.
struct Written {
    line: LoggedLine,
    instance: Option<String>,
}

impl Written {
    fn shown(&self, server: &ServerKey) -> LogLine {
        log_line(server, &self.line, self.instance.clone())
    }
}

impl Fleet {
    /// Returns the last lines of a server, in the order of their times.
    fn written(&self, key: &ServerKey, lines: usize, since_ms: Option<u64>) -> Vec<Written> {
        let slots = self.shown(key);
        let has_several = slots.len() > 1;
        let of_slot = |slot: &Slot| {
            let label = slot.started_with.as_ref().filter(|_| has_several);
            let label = label.map(|started_with| words::instance_key(started_with.hash()));
            let written = slot.upstream.logs(lines).into_iter();
            let written = written.filter(|line| since_ms.is_none_or(|since| line.at_ms >= since));
            let written = written.map(move |line| Written {
                instance: line.client.map(words::client_instance).or_else(|| label.clone()),
                line,
            });
            written.collect::<Vec<_>>()
        };
        let mut all: Vec<Written> = slots.iter().flat_map(of_slot).collect();
        all.sort_by_key(|written| (written.line.at_ms, written.line.number));
        all.drain(..all.len().saturating_sub(lines));
        all
    }

    /// Returns what tells the instance of a slot from others in a log, where there are several.
    pub(crate) fn instance_label(&self, key: &ServerKey, hash: Option<u64>) -> Option<String> {
        let hash = hash?;
        (self.shown(key).len() > 1).then(|| words::instance_key(hash))
    }
}

/// Writes a line in the operator's words.
pub(crate) fn log_line(server: &ServerKey, line: &LoggedLine, instance: Option<String>) -> LogLine {
    LogLine {
        time: words::time(line.at_ms),
        server: Some(server.id.clone()),
        instance,
        line: line.line.clone(),
    }
}

/// The lines of a server as they are written.
pub struct LogFollower {
    receiver: Receiver<FollowedLine>,
    /// The number of the last line that was known of each instance when it began.
    known: HashMap<Option<String>, u64>,
}

/// What a follower gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Line(Arc<LogLine>),
    /// It was too slow: so many lines are missing here.
    Missed(u64),
}

impl LogFollower {
    /// Waits for the next line; `None` once the gateway is gone.
    pub async fn next(&mut self) -> Option<Followed> {
        loop {
            match self.receiver.recv().await {
                Ok((number, line)) => {
                    if self.known.get(&line.instance).is_none_or(|known| number > *known) {
                        return Some(Followed::Line(line));
                    }
                }
                Err(RecvError::Lagged(missed)) => return Some(Followed::Missed(missed)),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
