//! The config file under watch: a change on disk is taken over by difference, a broken one changes nothing.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Reloader, Tasks};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, info, warn};

/// The file is read once nothing has happened around it for this long: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(50);
/// It is read after this long even if its folder never rests.
const PATIENCE: Duration = Duration::from_millis(500);
/// Links that lead to links, at most.
const MAX_LINKS: usize = 16;

/// A file's number, and when it was written.
type Stamp = (u64, i64, i64);

/// What a file holds, and which file it is.
type Content = (Vec<u8>, Stamp);

/// Reloads the config whenever its file is written, for as long as the gateway runs. `was_read`: there was such a file.
/// `gone` hears that there is none any more: what was read last stays in force, and people are told so.
pub(crate) fn watch_config(
    path: PathBuf,
    was_read: bool,
    reloader: Arc<dyn Reloader>,
    tasks: &Tasks,
    gone: impl Fn(&Path) + Send + 'static,
) {
    let changed = Arc::new(Notify::new());
    let told = Arc::clone(&changed);
    // Any event may be the one: a link somewhere on the way may have been turned.
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if !event.is_ok_and(|event| event.kind.is_access()) {
            told.notify_one();
        }
    });
    let watcher = match watcher {
        Ok(watcher) => watcher,
        Err(error) => return warn!("changes of the config will not be noticed: {error}"),
    };
    let mut watch = Watch { path, watcher, folders: BTreeSet::new() };
    watch.follow();
    // Looked at before anybody is told that we run: what is changed from now on is seen to be another.
    let seen = watch.content();
    if was_read && seen.is_none() {
        gone(&watch.path);
    }
    tasks.spawn_background(watch.keep(seen, changed, reloader, gone));
}

/// Calls `changed` whenever a file of a folder has become another, for as long as the gateway runs.
pub(crate) fn watch_folder(folder: &Path, file: &Path, tasks: &Tasks, changed: impl Fn() + Send + 'static) {
    let noted = Arc::new(Notify::new());
    let told = Arc::clone(&noted);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if !event.is_ok_and(|event| event.kind.is_access()) {
            told.notify_one();
        }
    });
    let mut watcher = match watcher {
        Ok(watcher) => watcher,
        Err(error) => return warn!(folder = %folder.display(), "changes will not be noticed: {error}"),
    };
    follow_folder(&mut watcher, folder);
    let folder = folder.to_owned();
    let file = file.to_owned();
    tasks.spawn_background(async move {
        let mut seen = std::fs::read(&file).ok();
        loop {
            noted.notified().await;
            settle(&noted).await;
            follow_folder(&mut watcher, &folder);
            let now = std::fs::read(&file).ok();
            if now != seen {
                seen = now;
                changed();
            }
        }
    });
}

/// Watches a folder, or the nearest one above it as long as it is not there.
pub(crate) fn follow_folder(watcher: &mut RecommendedWatcher, folder: &Path) {
    for at in folder.ancestors() {
        match watcher.watch(at, RecursiveMode::NonRecursive) {
            Ok(()) => return,
            Err(error) => debug!(folder = %at.display(), "not watched: {error}"),
        }
    }
}

struct Watch {
    path: PathBuf,
    watcher: RecommendedWatcher,
    /// Folders under watch.
    folders: BTreeSet<PathBuf>,
}

impl Watch {
    async fn keep(
        mut self,
        mut seen: Option<Content>,
        changed: Arc<Notify>,
        reloader: Arc<dyn Reloader>,
        gone: impl Fn(&Path),
    ) {
        loop {
            changed.notified().await;
            settle(&changed).await;
            self.follow();
            let now = self.content();
            if now == seen {
                continue;
            }
            seen = now;
            if seen.is_none() {
                warn!(path = %self.path.display(), "the config file is gone; what was read last stays in force");
                gone(&self.path);
                continue;
            }
            // What was wrong with it has been said by whoever read it.
            if reloader.reload().await.is_ok() {
                info!(path = %self.path.display(), "a change of the config was taken over");
            }
        }
    }

    /// Returns what the file holds, if it can be read, and which file it is. One that holds again what was seen last may
    /// have held something else meanwhile, which the gateway was ordered to take over.
    fn content(&self) -> Option<Content> {
        let about = std::fs::metadata(&self.path).ok()?;
        let stamp = (about.ino(), about.mtime(), about.mtime_nsec());
        Some((std::fs::read(&self.path).ok()?, stamp))
    }

    /// Watches every folder in which a change could change the file: its own, and those of links on the way to it.
    fn follow(&mut self) {
        let wanted = folders_of(&self.path);
        for gone in self.folders.difference(&wanted) {
            // It may have vanished by itself.
            let _ = self.watcher.unwatch(gone);
        }
        let mut watched = BTreeSet::new();
        for folder in wanted {
            // One that was replaced has the same name and needs a new watch; watching the old one again costs nothing.
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(watched.insert(folder)),
                Err(error) => debug!(folder = %folder.display(), "not watched: {error}"),
            }
        }
        self.folders = watched;
    }
}

/// Waits until events have stopped coming, or patience is over.
async fn settle(changed: &Notify) {
    let end = Instant::now() + PATIENCE;
    while timeout_at(end.min(Instant::now() + SETTLE), changed.notified()).await.is_ok() {
        if Instant::now() >= end {
            return;
        }
    }
}

/// Returns the folders that hold the file, a link to it, or a link to one of its folders.
fn folders_of(path: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let mut ways = vec![path.to_path_buf()];
    for _ in 0..MAX_LINKS {
        let Some(way) = ways.pop() else { break };
        if let Some(folder) = way.parent() {
            folders.insert(or_here(folder));
        }
        for part in way.ancestors() {
            let Ok(target) = std::fs::read_link(part) else { continue };
            let Some(folder) = part.parent() else { continue };
            folders.insert(or_here(folder));
            let rest = way.strip_prefix(part).unwrap_or(Path::new(""));
            let target = folder.join(target);
            ways.push(if rest.as_os_str().is_empty() { target } else { target.join(rest) });
        }
    }
    folders
}

fn or_here(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_on_the_way_is_watched() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        let make = |path: &str| std::fs::create_dir_all(root.join(path)).unwrap();
        make("etc");
        make("releases/1");
        std::fs::write(root.join("releases/1/config.json"), "{}").unwrap();
        std::os::unix::fs::symlink("releases/1", root.join("current")).unwrap();
        std::os::unix::fs::symlink("../current/config.json", root.join("etc/config.json")).unwrap();
        let folders = folders_of(&root.join("etc/config.json"));
        let real: BTreeSet<PathBuf> = folders.iter().map(|one| one.canonicalize().unwrap()).collect();
        let wanted = [root.join("etc"), root.to_path_buf(), root.join("releases/1")];
        assert!(wanted.iter().all(|one| real.contains(&one.canonicalize().unwrap())), "{folders:?}");
    }
}
