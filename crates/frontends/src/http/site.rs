//! What is served over HTTP, and by which rules.

use std::sync::Arc;

use manifold_config::{ClientLimits, Profile};
use manifold_engine::{Budget, Health};
use manifold_protocol::CodeSet;
use tokio::time::Instant;

use super::admission::Admission;
use super::callback::Callbacks;
use super::namespaces::Namespaces;
use crate::admin::SharedPage;
use crate::replica::Replica;

/// What HTTP serves.
pub struct Site {
    pub namespaces: Arc<Namespaces>,
    pub codes: CodeSet,
    pub profile: Profile,
    pub admission: Arc<Admission>,
    pub limit_bytes: usize,
    /// What all messages under way may take up.
    pub budget: Budget,
    pub limits: ClientLimits,
    pub port: u16,
    /// How clients reach us.
    pub url: String,
    pub started: Instant,
    /// What balancers are told.
    pub health: Arc<Health>,
    /// The page, where the config wants it here.
    pub page: Option<SharedPage>,
    /// Who takes what browsers come back with, where they may come back here.
    pub callbacks: Option<Arc<dyn Callbacks>>,
    /// Who we are among several, where there are.
    pub replica: Option<Arc<Replica>>,
}

/// One client may hold one part in so many of what all may hold.
const SHARES: usize = 4;

impl Site {
    /// Opens the share of one client: a session, or a connection that has none (M6).
    pub(super) fn share_of_one(&self, most_bytes: usize) -> Budget {
        self.budget.part(most_bytes.min(self.budget.limit_bytes() / SHARES))
    }
}
