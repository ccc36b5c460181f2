//! What was learnt of servers and is not on file yet.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use manifold_engine::{Lock as _, Tasks};
use tokio::time::{Instant, sleep};

use super::prune::prune;
use super::{Change, apply};

/// How long what is learnt may wait. A server tells its era and its lists within a few milliseconds, and those that start
/// together all tell together.
const MOMENT: Duration = Duration::from_millis(30);

const PRUNED_EVERY: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug)]
pub(super) struct Writer {
    tasks: Tasks,
    state: Mutex<State>,
    /// When the folder was last cleared of what nobody uses.
    pruned: Mutex<Option<Instant>>,
    /// Held from when changes are taken until they are written, so that nobody reads their file in between.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// By file, in the order they came.
    waiting: HashMap<PathBuf, Vec<Change>>,
    /// The file being written.
    current: Option<PathBuf>,
}

impl Writer {
    pub(super) fn new(tasks: &Tasks) -> Self {
        let (state, pruned, writing) = Default::default();
        Self { tasks: tasks.clone(), state, pruned, writing }
    }

    pub(super) fn add(self: &Arc<Self>, file: PathBuf, changes: impl Iterator<Item = Change>) {
        let mut state = lock(&self.state);
        let is_first = state.waiting.is_empty();
        state.waiting.entry(file).or_default().extend(changes);
        drop(state);
        if is_first {
            let me = Arc::clone(self);
            self.tasks.spawn_background(async move {
                sleep(MOMENT).await;
                // Files may be slow, and calls are under way.
                let _ = tokio::task::spawn_blocking(move || me.write_all()).await;
            });
        }
    }

    /// Writes what waits for this file. Nobody waits here for another's.
    pub(super) fn settle(&self, file: &Path) {
        let concerns =
            |state: &State| state.waiting.contains_key(file) || state.current.as_deref() == Some(file);
        if !concerns(&lock(&self.state)) {
            return;
        }
        let _turn = lock(&self.writing);
        let mut state = lock(&self.state);
        let Some(changes) = state.waiting.remove(file) else { return };
        state.current = Some(file.to_owned());
        drop(state);
        apply(file, changes.into_iter());
        lock(&self.state).current = None;
    }

    /// Writes until nothing waits: what comes after that begins anew.
    fn write_all(&self) {
        let next = || lock(&self.state).waiting.keys().next().cloned();
        let mut folder = None;
        while let Some(file) = next() {
            self.settle(&file);
            folder = file.parent().map(Path::to_owned);
        }
        if let Some(folder) = folder.filter(|_| self.is_time_to_prune()) {
            prune(&folder, SystemTime::now());
        }
    }

    fn is_time_to_prune(&self) -> bool {
        let mut pruned = lock(&self.pruned);
        let is_time = pruned.is_none_or(|at| at.elapsed() > PRUNED_EVERY);
        if is_time {
            *pruned = Some(Instant::now());
        }
        is_time
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}
