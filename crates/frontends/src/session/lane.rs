//! Where what belongs to one message of the client goes.

use std::sync::Arc;

use manifold_protocol::Outgoing;

use super::batch::Batch;
use super::outlet::Outlet;

/// Where what belongs to one message of the client goes.
#[derive(Clone)]
pub(super) struct Lane {
    pub(super) outlet: Arc<dyn Outlet>,
    /// The batch it came in, whose answers leave together.
    pub(super) batch: Option<Arc<Batch>>,
}

impl Lane {
    pub(super) fn of(outlet: &Arc<dyn Outlet>) -> Self {
        Self { outlet: Arc::clone(outlet), batch: None }
    }

    pub(super) fn answer(&self, message: impl Into<Outgoing>) {
        let message = message.into();
        match &self.batch {
            Some(batch) => batch.add(message),
            None => self.outlet.answer(message),
        }
    }

    /// Answers that the same may be asked again after so many seconds.
    pub(super) fn answer_busy(&self, message: Outgoing, retry_after_secs: u64) {
        match &self.batch {
            Some(batch) => batch.add(message),
            None => self.outlet.answer_busy(message, retry_after_secs),
        }
    }

    /// Tells that no answer will come.
    pub(super) fn skip(&self) {
        match &self.batch {
            Some(batch) => batch.skip(),
            None => self.outlet.abandon(),
        }
    }
}
