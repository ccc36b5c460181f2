//! How this crate starts a task: through whoever waits for all of them at shutdown.

use crate::http::BoxFuture;

/// Starts tasks. A refresh is one, so that a caller that gives up does not take a rotated token with it.
pub trait Spawn: Send + Sync {
    /// Starts a task that shutdown waits for.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Starts a task that only ever waits for news; shutdown does not wait for it.
    fn spawn_background(&self, task: BoxFuture<'static, ()>);
}
