//! Notifications of the client: a call taken back, roots that changed, the end.

use manifold_protocol::{Id, Raw, notification};
use tracing::debug;

use super::{Received, Session};

impl Session {
    pub(super) fn notification(&self, method: &str, params: Option<Raw>) -> Received {
        debug!(method, "notification");
        match method {
            notification::EXIT | "exit" => return Received::Exit,
            notification::CANCELLED => self.cancelled(params.as_ref()),
            notification::ROOTS_CHANGED => {
                if let Ok(gateway) = &self.destination.gateway {
                    gateway.tell_servers(notification::ROOTS_CHANGED, params);
                }
            }
            _ => {}
        }
        Received::Done
    }

    fn cancelled(&self, params: Option<&Raw>) {
        let id = params.and_then(|params| Id::from_raw(&params.get("requestId")?));
        let Some(in_flight) = id.and_then(|id| self.forget(&id)) else { return };
        in_flight.flight.cancel(params.and_then(|params| params.get("reason")));
        in_flight.lane.skip();
        self.one_done();
    }
}
