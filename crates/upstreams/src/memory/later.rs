//! What was learnt is written a little later, by a thread that serves nobody: a file system may take ten milliseconds
//! over one small file, and no list waits for that.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::Change;

/// How long after the first news all of it is written. A start brings two for each server, its era and its lists.
const SETTLE: Duration = Duration::from_millis(200);

/// News that is not written yet.
#[derive(Default)]
pub(super) struct Later {
    news: Mutex<HashMap<PathBuf, Vec<Change>>>,
    arrived: Notify,
    /// Held by whoever writes, so that nobody reads a file between a change and its writing.
    writing: Mutex<()>,
}

impl Later {
    pub(super) fn add(&self, file: PathBuf, changes: impl Iterator<Item = Change>) {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).entry(file).or_default().extend(changes);
        self.arrived.notify_one();
    }

    /// Waits until there is news and it is time to write it.
    pub(super) async fn due(&self) {
        self.arrived.notified().await;
        sleep(SETTLE).await;
    }

    /// Writes all news by `write`.
    pub(super) fn write_all(&self, write: impl Fn(&Path, Vec<Change>)) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let news = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        for (file, changes) in news {
            write(&file, changes);
        }
    }

    /// Writes the news of one file, which is about to be read.
    pub(super) fn write_one(&self, file: &Path, write: impl Fn(&Path, Vec<Change>)) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.news.lock().unwrap_or_else(PoisonError::into_inner).remove(file);
        if let Some(changes) = changes {
            write(file, changes);
        }
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").finish_non_exhaustive()
    }
}
