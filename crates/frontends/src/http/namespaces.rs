//! Which namespaces are served; replaced as a whole when the config changes.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use manifold_config::Config;
use manifold_engine::{ClientId, Gateway};
use tokio::sync::Notify;

/// The namespaces as they are now. Requests look without a lock; a new set counts for those that come after it.
pub struct Namespaces {
    served: ArcSwap<Served>,
    changed: Notify,
}

/// Every namespace that is served.
#[derive(Clone)]
pub struct Served {
    /// Every enabled namespace by id.
    pub namespaces: HashMap<String, Arc<Gateway>>,
    /// The one at `/mcp`.
    pub default: Option<Arc<Gateway>>,
    /// Servers that run at one of several gateways, each by the path at which the others reach it here.
    pub alone: HashMap<String, Arc<Gateway>>,
    pub config: Arc<Config>,
}

impl Namespaces {
    pub fn new(served: Served) -> Self {
        Self { served: ArcSwap::from_pointee(served), changed: Notify::new() }
    }

    pub fn served(&self) -> Arc<Served> {
        self.served.load_full()
    }

    pub fn replace(&self, served: Served) {
        self.served.store(Arc::new(served));
        self.changed.notify_one();
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns the namespace of that name, or the one selected where none is named.
    pub(super) fn find(&self, namespace: Option<&str>) -> Option<Arc<Gateway>> {
        let served = self.served.load();
        match namespace {
            None => served.default.clone(),
            Some(id) => served.namespaces.get(id).cloned(),
        }
    }
}

impl Served {
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
        self.namespaces
            .values()
            .chain(&self.default)
            .chain(self.alone.values())
            .any(|one| Arc::ptr_eq(one, gateway))
    }
}
