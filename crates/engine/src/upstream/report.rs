//! How the instances of a server are doing, for operators.

use manifold_protocol::Fault;
use tokio::time::Instant;

use super::{CallTally, Status};
use crate::changes::ClientId;

/// One process or session of a server.
#[derive(Debug, Clone)]
pub struct InstanceReport {
    /// Whose own it is; `None`: everybody's.
    pub client: Option<ClientId>,
    pub status: Status,
    pub is_unresponsive: bool,
    pub history: History,
    /// `None` where nobody counts.
    pub calls: Option<CallTally>,
}

/// What an instance has gone through; `None` where nobody keeps count.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What it speaks, as it wrote it.
    pub revision: Option<String>,
    /// How often it has come up.
    pub lives: Option<u64>,
    /// Starts in a row that came to nothing.
    pub failures: Option<u32>,
    /// What went wrong last, and when.
    pub last_fault: Option<(Fault, Instant)>,
    /// Since when it fails, over however many tries. Answering a call ends that, as does a long life.
    pub failing_since: Option<Instant>,
    /// When it is started again by itself.
    pub retry_at: Option<Instant>,
}
