//! Learning what servers offer before a list is answered: a few at a time, and never for longer than a client
//! will wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::upstream::Upstream;

/// How many servers are discovered at once (S1-28).
pub(crate) const AT_ONCE: usize = 4;
/// How long one server may hold a place (S1-29), and how long a list waits in all (decision 18). A slower server
/// goes on to its start timeout and is announced when it is there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Discovers `upstreams`, returning when all are settled or patience is over.
pub(crate) async fn discover(upstreams: Vec<Arc<dyn Upstream>>, places: Arc<Semaphore>) {
    let deadline = Instant::now() + PATIENCE;
    let mut running = JoinSet::new();
    for upstream in upstreams {
        let places = Arc::clone(&places);
        running.spawn(async move {
            let Ok(_place) = places.acquire_owned().await else { return };
            // Dropping the future gives the place back; the server's own task goes on.
            let _ = timeout(PATIENCE, upstream.discover()).await;
        });
    }
    let all = async { while running.join_next().await.is_some() {} };
    if timeout_at(deadline, all).await.is_err() {
        // Those still queued go on behind the answer.
        running.detach_all();
    }
}
