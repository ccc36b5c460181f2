//! What a supervisor is given to supervise.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::Server;
use manifold_engine::Host;
use manifold_protocol::Fault;
use manifold_protocol::dialect::ServerFacts;

use super::CALL_BACKOFF;
use crate::cache::Cache;
use crate::connection::Connection;
use crate::handover::SavedProcess;
use crate::logs::LogRing;

/// Brings a server to life. A seam, so that the diagram below is tested without processes.
pub(crate) trait Launcher: Send + Sync + 'static {
    type Life: Life;

    fn server(&self) -> &Arc<Server>;

    fn host(&self) -> &Arc<dyn Host>;

    fn logs(&self) -> &Arc<LogRing>;

    fn cache(&self) -> &Cache;

    /// Returns how often calls may start a server that fails, where they do not stop.
    fn call_backoff(&self) -> Duration {
        CALL_BACKOFF
    }

    /// Starts the server and shakes hands. Dropping the future ends what it started.
    fn launch(&self) -> impl Future<Output = Result<Running<Self::Life>, Fault>> + Send;

    /// Returns why a start would come to nothing, where that is known without trying.
    fn held_back(&self) -> Option<Fault> {
        None
    }

    /// Tells a launch under way that nobody wants it any more.
    fn give_up(&self) -> GivenUp {
        GivenUp::IsDropped
    }

    /// Waits until nothing is left of launches that failed or were given up.
    fn gone(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What becomes of a launch that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// It ends what it started in good order, and then itself.
    EndsByItself,
    /// There is nothing to be ended in good order.
    IsDropped,
}

/// A server that has shaken hands.
pub(crate) struct Running<L> {
    pub(crate) connection: Arc<Connection>,
    pub(crate) said: ServerFacts,
    pub(crate) pid: Option<u32>,
    pub(crate) life: L,
}

/// What keeps a server alive; dropping it ends the server.
pub(crate) trait Life: Send + 'static {
    /// Whether it can go on when another program takes our place.
    const OUTLIVES_US: bool = false;

    /// Waits for the server's end and says how it came.
    fn ended(&mut self) -> impl Future<Output = Ending> + Send;

    /// Lets go of the server without its end, where it can outlive us. `None`: it has ended, and its calls have failed.
    fn suspend(self, said: &ServerFacts) -> impl Future<Output = Option<SavedProcess>> + Send
    where
        Self: Sized,
    {
        let _ = said;
        std::future::ready(None)
    }

    /// Ends the server step by step.
    fn stop(self) -> impl Future<Output = ()> + Send;
}

/// How a server's life ended.
pub(crate) enum Ending {
    /// It exited, with which code where it had one; the text says how.
    Exited { code: Option<i64>, how: String },
    /// It lives, but takes or gives no more messages.
    Silent,
}
