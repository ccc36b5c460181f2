//! Which namespaces are served; replaced as a whole when the config changes.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use manifold_config::Config;
use manifold_engine::{ClientId, Gateway};
use tokio::sync::Notify;

/// The namespaces as they are now. Requests look without a lock; a new plan counts for those that come after it.
pub struct Rooms {
    plan: ArcSwap<Plan>,
    changed: Notify,
}

/// Every namespace that is served.
#[derive(Clone)]
pub struct Plan {
    /// Every enabled namespace by id.
    pub namespaces: HashMap<String, Arc<Gateway>>,
    /// The one at `/mcp`.
    pub default: Option<Arc<Gateway>>,
    pub config: Arc<Config>,
}

impl Rooms {
    pub fn new(plan: Plan) -> Self {
        Self { plan: ArcSwap::from_pointee(plan), changed: Notify::new() }
    }

    pub fn plan(&self) -> Arc<Plan> {
        self.plan.load_full()
    }

    pub fn replace(&self, plan: Plan) {
        self.plan.store(Arc::new(plan));
        self.changed.notify_one();
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the namespace of that name, or the one selected where none is named.
    pub(super) fn find(&self, namespace: Option<&str>) -> Option<Arc<Gateway>> {
        let plan = self.plan.load();
        match namespace {
            None => plan.default.clone(),
            Some(id) => plan.namespaces.get(id).cloned(),
        }
    }
}

impl Plan {
    /// Tells that a client without a session is gone; all namespaces have the same servers.
    pub(super) fn client_left(&self, client: ClientId) {
        if let Some(gateway) = self.namespaces.values().chain(&self.default).next() {
            gateway.passed_by(client);
        }
    }

    /// Tells that we are leaving: no list waits for servers any more (D2); all namespaces have the same servers.
    pub(super) fn leave(&self) {
        if let Some(gateway) = self.namespaces.values().chain(&self.default).next() {
            gateway.leave();
        }
    }

    pub(super) fn serves(&self, gateway: &Arc<Gateway>) -> bool {
        self.namespaces.values().chain(&self.default).any(|one| Arc::ptr_eq(one, gateway))
    }
}
