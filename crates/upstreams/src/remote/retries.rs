//! When a request is sent again: only if it was never written, or was refused for now.

use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;

use super::client::Unreached;

/// A server that wants us to wait longer than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The tries that one request has left.
pub(crate) struct Retries {
    left: u32,
    delay: Duration,
}

impl Retries {
    pub(crate) fn new(retries: u32, delay: Duration) -> Self {
        Self { left: retries, delay }
    }

    /// Rests before the request is sent again; gives back why it must not be. Where the server asks for more than the time
    /// left, its word says more than that the time was over.
    pub(crate) async fn rest(
        &mut self,
        server: &str,
        why: Unreached,
        time_left: Option<Duration>,
    ) -> Result<(), Unreached> {
        let rest = match &why {
            Unreached::Connect(_) => self.delay,
            Unreached::Status { status: 429 | 503, retry_after: Some(after), .. }
                if *after <= time_left.map_or(LONGEST_WAIT, |left| left.min(LONGEST_WAIT)) =>
            {
                *after
            }
            _ => return Err(why),
        };
        let Some(left) = self.left.checked_sub(1) else { return Err(why) };
        self.left = left;
        debug!(server, "retrying: {why}");
        sleep(rest).await;
        Ok(())
    }
}
