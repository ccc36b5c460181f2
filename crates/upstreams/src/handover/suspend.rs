//! Letting go of all servers, for the program that takes our place.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use manifold_config::Server;
use manifold_engine::{Lock as _, Phase, Upstream as _};
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use super::{Handover, SavedServer, SavedTrouble, definition};
use crate::Upstreams;
use crate::supervisor::{Supervised, Suspended};

/// How long a supervisor may take over letting go of its server. One that is busy with its end takes longer, and its server
/// goes with us.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often we look whether a start is over.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const KEY_BYTES: usize = 32;

/// A supervisor that may have something to let go of.
pub(crate) struct Live {
    pub(crate) server: Arc<Server>,
    /// `None`: no other program could know it again.
    pub(crate) instance: Option<String>,
    pub(crate) supervised: Weak<Supervised>,
}

impl Upstreams {
    /// Waits until no server is being started, but no longer than this: one whose start is under way when all are suspended is
    /// ended, and started again by whoever asks for it.
    pub async fn starts_settled(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let is_starting = || {
            let live = self.live.locked();
            let mut supervised = live.iter().filter_map(|live| live.supervised.upgrade());
            supervised.any(|supervised| supervised.status().phase == Phase::Starting)
        };
        while is_starting() && Instant::now() < deadline {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Lets go of every server that is a process, for the program that takes our place. From then on nothing here starts, ends
    /// or answers anything: calls that were handed to a server are answered by that program, others are forgotten, and
    /// whoever took them has to ask again. Calls of remote servers fail.
    pub async fn suspend(&self) -> io::Result<Handover> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let live = std::mem::take(&mut *self.live.locked());
        let suspending = live.into_iter().map(|live| async move {
            let supervised = live.supervised.upgrade()?;
            let suspended = match timeout(PATIENCE, supervised.suspend(live.instance.is_some())).await {
                Ok(suspended) => suspended?,
                Err(_) => {
                    warn!(server = %live.server.key.id, "it is not carried over: its supervisor is busy");
                    return None;
                }
            };
            Some((live.server, live.instance?, suspended))
        });
        let servers: Vec<_> = join_all(suspending).await.into_iter().flatten().collect();
        let mut handover = Handover::new(&key, self.processes.suspend().await?);
        handover.servers = servers
            .into_iter()
            .map(|(server, instance, Suspended { is_stopped, lives, trouble, process })| SavedServer {
                schema: server.key.schema.clone(),
                id: server.key.id.clone(),
                instance,
                definition: definition(&key, &server),
                is_stopped,
                lives,
                trouble: trouble.and_then(SavedTrouble::of),
                process,
            })
            .collect();
        Ok(handover)
    }
}
