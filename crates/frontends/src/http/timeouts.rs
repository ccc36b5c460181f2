//! How long is waited for whom.

use std::time::Duration;

use manifold_engine::Budget;
use tokio::time::sleep;

/// A head must have come whole within this time of its first byte, the first one within this time of connecting, and a
/// body must keep coming (T30).
pub(super) const REQUEST_PATIENCE: Duration = Duration::from_secs(25);
/// How long a connection may rest between requests.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a client may leave an answer unread.
pub(super) const WRITE_PATIENCE: Duration = Duration::from_secs(60);
/// How long a client that has left too much unread may take nothing at all.
pub(super) const UNREAD_PATIENCE: Duration = Duration::from_millis(200);
/// The slowest a long body may come.
pub(super) const SLOWEST_BYTES_PER_MS: u64 = 16;

/// Resolves when a client has had more to read than it may for a while.
pub(super) async fn overdue(owed: Option<&Budget>) {
    let Some(owed) = owed else { return std::future::pending().await };
    loop {
        owed.overdrawn().await;
        sleep(UNREAD_PATIENCE).await;
        if owed.is_stuck(UNREAD_PATIENCE) {
            return;
        }
    }
}
