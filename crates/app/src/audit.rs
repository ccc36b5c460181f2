//! What operators changed, one JSON line each, in `audit/audit.jsonl` of the state folder.
//!
//! Nobody waits for the disk: lines are queued within a bound and written by a thread, and those that find no room are
//! counted and told of in the log. Several processes write the same file.

mod file;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use manifold_admin::AuditLine;

use crate::logging::{Patience, Queue};
use file::AuditFile;

/// How long the last lines may take.
const LAST_LINES: Patience = Patience { stalled: Duration::from_secs(2), total: Duration::from_secs(5) };

/// The audit of this user. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Audit {
    queue: Arc<Queue>,
}

impl Audit {
    /// Opens the audit in a folder for state, as `$XDG_STATE_HOME` names it.
    pub(crate) fn open(state_home: &Path) -> io::Result<Self> {
        let path = path(state_home);
        let queue = Queue::start(&path.display().to_string(), AuditFile::open(&path)?)?;
        Ok(Self { queue })
    }

    /// Adds a line; one without a time gets that of now.
    pub(crate) fn append(&self, line: &AuditLine) {
        let dated = AuditLine { time: Timestamp::now().to_string(), ..line.clone() };
        let line = if line.time.is_empty() { &dated } else { line };
        if let Ok(mut bytes) = serde_json::to_vec(line) {
            bytes.push(b'\n');
            // The queue takes it or counts it as lost.
            let _ = (&*self.queue).write_all(&bytes);
        }
    }

    /// Waits until what was added is written: before the end, and before it is read.
    pub(crate) fn flush(&self) {
        self.queue.flush(LAST_LINES);
    }

    /// Returns the last lines that are written down, the oldest first. What is no such line is left out.
    pub(crate) fn last(state_home: &Path, lines: usize) -> Result<Vec<AuditLine>, String> {
        let path = path(state_home);
        file::last(&path, lines).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns why nothing can be written down, if that is so.
    pub(crate) fn fault(state_home: &Path) -> Option<String> {
        let path = path(state_home);
        file::fault(&path).map(|error| format!("{}: {error}", path.display()))
    }
}

fn path(state_home: &Path) -> PathBuf {
    state_home.join("manifold/audit/audit.jsonl")
}
