//! One keeper of all deadlines of a connection: no timer per call.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::FrameStatus;
use manifold_protocol::{Fault, Raw};
use tokio::time::{Instant, sleep_until};

use super::Connection;
use super::table::Origin;

/// A call ends after this long, questions to the client not counted, whatever progress it reports (decision 25).
pub(super) const HARD_LIMIT: Duration = Duration::from_secs(600);
/// As good as no deadline, and still one that can be reckoned with.
pub(super) const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Connection {
    /// Times out calls for as long as the connection lives.
    pub(crate) async fn keep_deadlines(self: Arc<Self>) {
        loop {
            let next = {
                let table = self.lock();
                if table.is_closed() {
                    return;
                }
                table.next_deadline
            };
            match next {
                None => self.calls.sooner.notified().await,
                Some(deadline) => tokio::select! {
                    () = self.calls.sooner.notified() => continue,
                    () = sleep_until(deadline) => {}
                },
            }
            self.expire();
        }
    }

    fn expire(&self) {
        let due = {
            let mut table = self.lock();
            let due = table.due(Instant::now());
            self.refill(table);
            due
        };
        for (id, pending) in due {
            if pending.has_questions() {
                self.end_questions_of(id);
            }
            self.show_end(id, FrameStatus::Timeout);
            self.dialect().cancel(self, id, &pending, Some(Raw::from_static(r#""timed out""#)));
            self.note_failed(&pending);
            let tool = pending.exchange.target().and_then(|target| target.tool.clone());
            let server = self.id().to_owned();
            let is_client_s = pending.origin == Origin::Client;
            pending.exchange.fail(Fault::TimedOut { server, tool, after: pending.timeout });
            if is_client_s {
                self.probe();
            }
        }
    }
}
