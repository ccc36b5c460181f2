//! A cgroup for each server, where the system lets us make one: what a server starts never leaves it by forking, by
//! clearing its environment or by killing guard and keeper (L15).
//!
//! The folders are below our own cgroup and named `manifold-PID-BEGAN-NUMBER`. The gateway makes one before a start and
//! hands it to the keeper, which forks the server into it. Nothing waits for their removal: they are put on a list, from
//! which the guard's owner takes them when they are empty. Each stays locked for as long as gateway or keeper live, so that
//! a later gateway can tell what nobody looks after any more.

mod folder;
mod place;

#[cfg(test)]
mod tests;

use manifold_engine::Lock as _;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use nix::unistd::Pid;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::saved::{SavedCgroup, SavedCgroups};
use super::unix::{self, Wait};
use place::Name;

/// The number of the next. Hosts share the count: their names have all else in common.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// How long it has to be quiet before we look for what others left: no start waits for that.
const QUIET: Duration = Duration::from_millis(100);

/// How long we try to remove a folder. Only a process stuck in the kernel takes as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// As above, when we are about to leave.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// The cgroups of a host's servers. A handle: clones share them.
#[derive(Clone, Debug)]
pub(super) struct Cgroups(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The folder in which ours are made; none where none can be.
    place: OnceLock<Option<PathBuf>>,
    list: Mutex<List>,
    /// Tells that there is something to remove.
    news: Notify,
    /// Whether somebody is at it.
    is_removing: AtomicBool,
}

#[derive(Debug, Default)]
struct List {
    entries: Vec<Entry>,
    /// Whether none is made any more: it failed once, or we are leaving.
    closed: bool,
    /// Whether what others left was looked for.
    looked: bool,
}

/// A folder that is there.
#[derive(Debug)]
struct Entry {
    name: Name,
    /// Since when it is to be removed.
    leaving: Option<Instant>,
    /// Those whom we killed in it, and may have to reap.
    killed: HashSet<Pid>,
}

/// The cgroup of one server; its drop is the end of all in it.
#[derive(Debug)]
pub(super) struct ServerCgroup {
    shared: Arc<Shared>,
    name: Name,
    folder: File,
}

impl ServerCgroup {
    pub(super) fn folder(&self) -> &File {
        &self.folder
    }

    /// Returns what whoever takes our place needs to have it. The drop of this one is its end for as long as `Cgroups` are
    /// not suspended, too.
    pub(super) fn save(&self) -> io::Result<SavedCgroup> {
        let folder = OwnedFd::from(self.folder.try_clone()?);
        Ok(SavedCgroup { name: self.name.to_string(), folder: folder.into() })
    }

    /// Has it removed, and killed what may still be in it.
    pub(super) fn leave(&self) {
        let mut list = self.shared.list();
        if let Some(entry) = list.entries.iter_mut().find(|entry| entry.name == self.name) {
            entry.leaving.get_or_insert_with(Instant::now);
            drop(list);
            self.shared.news.notify_one();
        }
    }
}

impl Drop for ServerCgroup {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Cgroups {
    /// Returns cgroups below our own, which is looked for with the first server.
    pub(super) fn below_ours() -> Self {
        Self::with(OnceLock::new())
    }

    /// Returns cgroups in the folder given, or none at all.
    pub(super) fn at(place: Option<PathBuf>) -> Self {
        Self::with(OnceLock::from(place))
    }

    fn with(place: OnceLock<Option<PathBuf>>) -> Self {
        Self(Arc::new(Shared {
            place,
            list: Mutex::default(),
            news: Notify::new(),
            is_removing: AtomicBool::new(false),
        }))
    }

    /// Makes a cgroup for a server, if the system lets us.
    pub(super) fn make(&self) -> Option<ServerCgroup> {
        let place = self.0.place.get_or_init(place::find).as_deref()?;
        if self.0.list().closed {
            return None;
        }
        match self.try_make(place) {
            Ok(made) => Some(made),
            Err(error) => {
                use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, Unsupported};
                // What else may fail, such as a want of descriptors, may be over at the next start.
                let is_lasting = matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | Unsupported);
                self.0.list().closed |= is_lasting;
                tracing::debug!(%error, place = %place.display(), "no cgroup can be made, servers run without");
                None
            }
        }
    }

    fn try_make(&self, place: &Path) -> io::Result<ServerCgroup> {
        let name = Name::ours(NEXT.fetch_add(1, Ordering::Relaxed))?;
        let path = place.join(name.to_string());
        fs::create_dir(&path)?;
        let mut list = self.0.list();
        match File::open(&path) {
            Ok(folder) if !list.closed => {
                // Whoever holds it this instant looks at what is stale, and goes by our name then.
                let _ = folder.try_lock_shared();
                list.entries.push(Entry { name, leaving: None, killed: HashSet::new() });
                Ok(ServerCgroup { shared: Arc::clone(&self.0), name, folder })
            }
            opened => {
                let _ = fs::remove_dir(&path);
                Err(opened.err().unwrap_or_else(|| io::ErrorKind::Interrupted.into()))
            }
        }
    }

    /// Removes folders as they fall empty, and looks once for what earlier gateways left. Never ends; may be dropped at any
    /// time and begun anew.
    pub(super) async fn tend(&self) {
        loop {
            match self.next_step() {
                Step::Look => {
                    sleep(QUIET).await;
                    self.look_for_stale();
                }
                Step::Retry(after) => sleep(after).await,
                Step::Wait => self.0.news.notified().await,
            }
            self.remove_leaving_aside().await;
        }
    }

    /// Kills all that is in any of them. Those whom the servers' end leaves to us are reaped when the folders go.
    pub(super) async fn kill_all(&self) {
        let shared = Arc::clone(&self.0);
        let _ = spawn_blocking(move || {
            let Some(place) = shared.place() else { return };
            let names: Vec<Name> = shared.list().entries.iter().map(|entry| entry.name).collect();
            for name in names {
                let killed = folder::kill(&place.join(name.to_string()));
                if let Some(entry) = shared.list().entries.iter_mut().find(|entry| entry.name == name) {
                    entry.killed.extend(killed);
                }
            }
        })
        .await;
    }

    /// Returns what whoever takes our place has to know; nothing is made or removed here any more.
    pub(super) fn suspend(&self) -> SavedCgroups {
        let mut list = self.0.list();
        let leaving = list.entries.iter().filter(|entry| entry.leaving.is_some());
        let saved = SavedCgroups {
            is_place_known: self.0.place.get().is_some(),
            place: self.place().map(Path::to_owned),
            next: NEXT.load(Ordering::Relaxed),
            leaving: leaving.map(|entry| entry.name.to_string()).collect(),
            is_closed: list.closed,
            has_looked: list.looked,
        };
        list.closed = true;
        list.entries.clear();
        saved
    }

    /// Goes on with the cgroups of the program whose place we took, but for those of its servers.
    pub(super) fn resume(saved: SavedCgroups) -> Self {
        NEXT.fetch_max(saved.next, Ordering::Relaxed);
        let place = if saved.is_place_known { OnceLock::from(saved.place) } else { OnceLock::new() };
        let cgroups = Self::with(place);
        {
            let mut list = cgroups.0.list();
            (list.closed, list.looked) = (saved.is_closed, saved.has_looked);
            for name in saved.leaving.iter().filter_map(|name| name.parse().ok()) {
                list.entries.push(Entry { name, leaving: Some(Instant::now()), killed: HashSet::new() });
            }
        }
        cgroups
    }

    /// Takes over the cgroup of a server that runs; none if its name is not one of ours.
    pub(super) fn take_over(&self, saved: SavedCgroup) -> Option<ServerCgroup> {
        let name = saved.name.parse().ok()?;
        let folder = File::from(OwnedFd::from(saved.folder));
        self.0.list().entries.push(Entry { name, leaving: None, killed: HashSet::new() });
        Some(ServerCgroup { shared: Arc::clone(&self.0), name, folder })
    }

    /// Kills all that is in any of them and removes them, as far as that is possible within a second; makes no more.
    pub(super) async fn clear(&self) {
        let began = Instant::now();
        self.close();
        while !self.0.list().entries.is_empty() && began.elapsed() < LAST_PATIENCE {
            sleep(Duration::from_millis(2)).await;
            self.remove_leaving_aside().await;
        }
    }

    /// Kills all that is in any of them, removes those that are empty, and makes no more.
    pub(super) fn close(&self) {
        let mut list = self.0.list();
        list.closed = true;
        for entry in &mut list.entries {
            entry.leaving.get_or_insert_with(Instant::now);
        }
        drop(list);
        self.0.remove_leaving();
    }

    fn place(&self) -> Option<&Path> {
        self.0.place()
    }

    fn next_step(&self) -> Step {
        let list = self.0.list();
        let waited = list.entries.iter().filter_map(|entry| entry.leaving).map(|since| since.elapsed()).min();
        match waited {
            Some(waited) => {
                Step::Retry((waited / 4).clamp(Duration::from_millis(2), Duration::from_millis(200)))
            }
            None if !list.looked && !list.closed && self.place().is_some() => Step::Look,
            None => Step::Wait,
        }
    }

    fn look_for_stale(&self) {
        let Some(place) = self.place() else { return };
        let found = place::stale(place);
        let mut list = self.0.list();
        list.looked = true;
        for name in found {
            tracing::debug!(%name, "clearing away the cgroup of a gateway that is gone");
            list.entries.push(Entry { name, leaving: Some(Instant::now()), killed: HashSet::new() });
        }
    }

    /// Tries once to remove those that are to go, where the file system may take its time. A try goes on to its end if this
    /// is dropped, and there is one at a time.
    async fn remove_leaving_aside(&self) {
        let has_leaving = self.0.list().entries.iter().any(|entry| entry.leaving.is_some());
        if !has_leaving || self.0.is_removing.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = Arc::clone(&self.0);
        let _ = spawn_blocking(move || {
            shared.remove_leaving();
            shared.is_removing.store(false, Ordering::Relaxed);
        })
        .await;
    }
}

/// What is next for who tends them.
enum Step {
    Look,
    Retry(Duration),
    Wait,
}

impl Shared {
    /// Tries once to remove those that are to go. The list is not held meanwhile: starts need it.
    fn remove_leaving(&self) {
        let Some(place) = self.place() else { return };
        let leaving: Vec<Name> = {
            let list = self.list();
            list.entries.iter().filter(|entry| entry.leaving.is_some()).map(|entry| entry.name).collect()
        };
        for name in leaving {
            let path = place.join(name.to_string());
            let removed = folder::remove(&path);
            let killed = if removed.is_err() { folder::kill(&path) } else { Vec::new() };
            let mut list = self.list();
            let Some(at) = list.entries.iter().position(|entry| entry.name == name) else { continue };
            let Some(entry) = list.entries.get_mut(at) else { continue };
            entry.killed.extend(killed);
            entry.killed.retain(|pid| matches!(unix::reap(*pid), Wait::Running));
            let is_done = removed.is_ok() && entry.killed.is_empty();
            let is_given_up = entry.leaving.is_some_and(|since| since.elapsed() > PATIENCE);
            if !is_done && is_given_up {
                tracing::debug!(%name, "a cgroup could not be removed");
            }
            if is_done || is_given_up {
                list.entries.remove(at);
            }
        }
    }

    fn place(&self) -> Option<&Path> {
        self.place.get()?.as_deref()
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.locked()
    }
}
