//! A server that cannot work as configured: it offers nothing and tells every caller why.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::{Server, ServerFault};
use manifold_engine::{BoxFuture, Exchange, Listing, LoggedLine, Order, Phase, Status, Upstream};
use manifold_protocol::{Call, Fault, Raw};
use tokio::time::Instant;

pub(crate) struct Broken {
    fault: Fault,
    phase: Phase,
    since: Instant,
}

impl Broken {
    /// Returns the stand-in for a server that is disabled or faulty, `None` for one that can work.
    pub(crate) fn of(server: &Server) -> Option<Self> {
        let id = || server.key.id.clone();
        let (fault, phase) = if !server.enabled {
            let reason = "it is disabled in the config".to_owned();
            (Fault::NotRunning { server: id(), reason }, Phase::Stopped)
        } else {
            let fault = match server.fault.clone()? {
                ServerFault::MissingVariable { variable, credential: true } => {
                    Fault::Authentication { server: id(), variable }
                }
                other => Fault::FailedToStart { server: id(), reason: other.message() },
            };
            (fault.clone(), Phase::Failed(fault))
        };
        Some(Self { fault, phase, since: Instant::now() })
    }
}

impl Upstream for Broken {
    fn send(&self, _call: Call, exchange: Exchange) {
        exchange.fail(self.fault.clone());
    }

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

    fn listing(&self) -> Option<Arc<Listing>> {
        None
    }

    fn status(&self) -> Status {
        Status { phase: self.phase.clone(), pid: None, since: self.since }
    }

    fn logs(&self, _lines: usize) -> Vec<LoggedLine> {
        vec![LoggedLine::now(self.fault.message())]
    }

    fn discover(&self) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        let answer = if order == Order::Stop { Ok(()) } else { Err(self.fault.clone()) };
        Box::pin(std::future::ready(answer))
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}
