//! What a server offered in an earlier run to clients like the present one.

use std::sync::{Arc, Mutex, PoisonError};

use manifold_config::{Server, ServerStart};
use manifold_engine::{Host, Listing};
use manifold_protocol::Raw;

use super::Launcher;
use crate::cache::Cache;

pub(super) struct SavedListing {
    server: Arc<Server>,
    host: Arc<dyn Host>,
    cache: Cache,
    /// The capabilities for which it was last looked up.
    looked_up: Mutex<Option<Raw>>,
}

impl SavedListing {
    pub(super) fn of(launcher: &impl Launcher) -> Self {
        Self {
            server: Arc::clone(launcher.server()),
            host: Arc::clone(launcher.host()),
            cache: launcher.cache().clone(),
            looked_up: Mutex::default(),
        }
    }

    /// Looks up what the server offered when it was told of a client such as the present one, if there is another than
    /// before. One that only an operator may start offers nothing before it runs.
    pub(super) fn anew(&self) -> Option<Option<Arc<Listing>>> {
        let capabilities = self.host.client_facts().capabilities.clone();
        let mut looked_up = self.looked_up.lock().unwrap_or_else(PoisonError::into_inner);
        if looked_up.as_ref() == Some(&capabilities) {
            return None;
        }
        let is_manual = self.server.start == ServerStart::Manual;
        let listing = (!is_manual).then(|| self.cache.listing_for(&self.server, &capabilities)).flatten();
        *looked_up = Some(capabilities);
        Some(listing.map(Arc::new))
    }
}
