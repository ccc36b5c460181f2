//! Where the lines of calls are written. Nobody waits for a disk: calls that find no room are counted and lost.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use manifold_config::AuditTarget;
use manifold_telemetry::{AuditEntry, CallAuditor};
use tracing::warn;

use super::Stdout;
use crate::logging::RotatingFile;

/// What may wait to be written.
const MAX_ENTRIES: usize = 8192;
const MAX_BYTES: usize = 32 << 20;
/// What one file may hold, and how many there may be.
const MAX_FILE_BYTES: u64 = 10 << 20;
const MAX_FILES: usize = 5;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_secs(5);

/// The lines of calls, on their way.
pub(super) struct CallLog {
    queue: SyncSender<Waiting>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    lost: AtomicU64,
    waiting_bytes: AtomicUsize,
}

enum Waiting {
    Call(Box<AuditEntry>),
    /// Is told when all before it is written.
    Flush(SyncSender<()>),
}

impl CallLog {
    pub(super) fn open(to: &AuditTarget, stdout: Stdout) -> Result<Arc<Self>, String> {
        let (name, file): (String, Box<dyn Write + Send>) = match to {
            AuditTarget::File(path) => {
                let file = RotatingFile::open(path, MAX_FILE_BYTES, MAX_FILES);
                let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
                (path.display().to_string(), Box::new(file))
            }
            AuditTarget::Stdout if stdout == Stdout::Free => {
                ("standard output".to_owned(), Box::new(io::stdout()))
            }
            AuditTarget::Stdout => {
                return Err("standard output is what is served on; name a file in `audit.file`".to_owned());
            }
        };
        let (queue, waiting) = sync_channel(MAX_ENTRIES);
        let counts = Arc::new(Counts::default());
        let written = Arc::clone(&counts);
        let writer = move || keep(&waiting, file, &name, &written);
        thread::Builder::new().name("audit".to_owned()).spawn(writer).map_err(|error| error.to_string())?;
        Ok(Arc::new(Self { queue, counts }))
    }

    /// Returns who watches calls for it.
    pub(super) fn auditor(self: &Arc<Self>, payload: bool) -> CallAuditor {
        let me = Arc::clone(self);
        CallAuditor::new(payload, move |entry| me.push(entry))
    }

    pub(super) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// Waits until all is written, but not for ever.
    pub(super) fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        if self.queue.try_send(Waiting::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(LAST_LINES);
        }
    }

    fn push(&self, entry: AuditEntry) {
        let bytes = entry.bytes();
        let has_room = self.counts.waiting_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_BYTES;
        if !has_room || self.queue.try_send(Waiting::Call(Box::new(entry))).is_err() {
            self.counts.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines for as long as calls may come.
fn keep(waiting: &Receiver<Waiting>, mut file: Box<dyn Write + Send>, name: &str, counts: &Counts) {
    let mut could_write = true;
    while let Ok(next) = waiting.recv() {
        let entry = match next {
            Waiting::Call(entry) => entry,
            Waiting::Flush(done) => {
                let _ = file.flush();
                let _ = done.send(());
                continue;
            }
        };
        let written = file.write_all(entry.line().as_bytes());
        counts.waiting_bytes.fetch_sub(entry.bytes(), Ordering::Relaxed);
        if let Err(error) = &written {
            counts.lost.fetch_add(1, Ordering::Relaxed);
            if could_write {
                warn!("{name}: calls cannot be written down: {error}; they are lost until they can");
            }
        }
        could_write = written.is_ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn standard_output_is_written_to_only_where_it_is_free() {
        assert!(CallLog::open(&AuditTarget::Stdout, Stdout::Taken).is_err());
        assert!(CallLog::open(&AuditTarget::Stdout, Stdout::Free).is_ok());
    }

    #[test]
    fn the_file_is_for_our_eyes_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let log = CallLog::open(&AuditTarget::File(path.clone()), Stdout::Taken).unwrap();
        log.flush();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(log.lost(), 0);
    }
}
