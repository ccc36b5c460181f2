//! The folder of the store under watch: who signs in or out in another process is heard of here within a moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::Tasks;
use manifold_upstreams::SignIns;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::watch::follow_folder;

/// The store is read once nothing has happened in it for this long, and after so long in any case.
const SETTLE: Duration = Duration::from_millis(30);
const PATIENCE: Duration = Duration::from_millis(300);

/// Takes up what changes in the store, for as long as the gateway runs.
pub(crate) fn watch_store(folder: PathBuf, sign_ins: Arc<SignIns>, tasks: &Tasks) {
    let changed = Arc::new(Notify::new());
    let told = Arc::clone(&changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading it is no change, or reading would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            told.notify_one();
        }
    });
    let mut watcher = match watcher {
        Ok(watcher) => watcher,
        Err(error) => return warn!("who signs in elsewhere will not be noticed: {error}"),
    };
    follow_folder(&mut watcher, &folder);
    tasks.spawn_background(async move {
        loop {
            changed.notified().await;
            let end = Instant::now() + PATIENCE;
            while Instant::now() < end
                && timeout_at(end.min(Instant::now() + SETTLE), changed.notified()).await.is_ok()
            {
            }
            follow_folder(&mut watcher, &folder);
            sign_ins.stored_anew().await;
        }
    });
}
