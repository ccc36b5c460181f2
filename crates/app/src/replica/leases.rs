//! The leases of servers that run at one replica, in the store that all share.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::{Secret, ServerKey};
use manifold_engine::BoxFuture;
use manifold_frontends::replica::{Replica, path_of};
use manifold_state::Store;
use manifold_upstreams::{Holder, Leases, Way};
use tracing::debug;

/// How long a lease outlives its owner.
const LASTS: Duration = Duration::from_secs(15);

pub(super) struct StoreLeases {
    pub(super) store: Store,
    pub(super) replica: Arc<Replica>,
}

impl Leases for StoreLeases {
    fn hold(&self, server: &ServerKey) -> BoxFuture<Option<Holder>> {
        let (store, replica, server) = (self.store.clone(), Arc::clone(&self.replica), server.clone());
        Box::pin(async move {
            let owner = store.hold(&name_of(&server), LASTS).await.ok()?;
            if owner == replica.number() {
                return Some(Holder::Us);
            }
            let way = replica.way_to(owner, &server).map(|way| Way {
                replica: store.node(owner).map(|node| node.name).unwrap_or_default(),
                url: way.url,
                header: (way.header.0.to_owned(), Secret::new(way.header.1)),
            });
            Some(Holder::Another(way))
        })
    }

    fn release(&self, server: &ServerKey) -> BoxFuture<()> {
        let (store, server) = (self.store.clone(), server.clone());
        Box::pin(async move {
            if store.release(&name_of(&server)).await.is_err() {
                debug!(server = server.id, "its lease runs out by itself");
            }
        })
    }
}

/// Servers of different schemas may have one id.
fn name_of(server: &ServerKey) -> String {
    path_of(server).trim_start_matches("/replica/").to_owned()
}
