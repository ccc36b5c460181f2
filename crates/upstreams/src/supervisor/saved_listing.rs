//! What a server offered in an earlier run, to clients like the present one and to others.

use std::sync::{Arc, Mutex, MutexGuard};

use manifold_config::{Server, ServerStart};
use manifold_engine::{Audience, Host, Listing, Lock as _, Withheld};
use manifold_protocol::{Era, Raw};

use super::Launcher;
use crate::cache::{Cache, ListingKey, Others, now};

pub(super) struct SavedListing {
    server: Arc<Server>,
    host: Arc<dyn Host>,
    cache: Cache,
    /// The capabilities for which it was last looked up.
    looked_up: Mutex<Option<Raw>>,
    /// What it offered others, where many share it.
    others: Mutex<Others>,
}

impl SavedListing {
    pub(super) fn of(launcher: &impl Launcher) -> Self {
        Self {
            server: Arc::clone(launcher.server()),
            host: Arc::clone(launcher.host()),
            cache: launcher.cache().clone(),
            looked_up: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// Looks up what the server offered when it was told of a client such as the present one, if there is another than
    /// before. One that only an operator may start offers nothing before it runs.
    pub(super) fn anew(&self) -> Option<Option<Arc<Listing>>> {
        let capabilities = self.host.client_facts().capabilities.clone();
        let mut looked_up = self.looked_up.locked();
        if looked_up.as_ref() == Some(&capabilities) {
            return None;
        }
        let is_manual = self.server.start == ServerStart::Manual;
        let lists = self.cache.lists(&self.server);
        let listing = lists.as_ref().filter(|_| !is_manual);
        let listing = listing.and_then(|lists| lists.told(&self.server, &capabilities)).map(Arc::new);
        if self.is_shared() {
            let era = lists.as_ref().map_or(Era::Legacy, |lists| lists.era);
            let told = ListingKey::of(&self.server, era, &capabilities);
            self.others().recall(told, era, lists.as_ref(), listing.as_ref());
        }
        *looked_up = Some(capabilities);
        Some(listing)
    }

    /// Takes note of what was read just now from the server itself, in this era.
    pub(super) fn listed(&self, told: &ListingKey, era: Era, listing: &Arc<Listing>) {
        if self.is_shared() {
            self.others().read(told, era, listing, now());
        }
    }

    /// Forgets what others were offered: it is read again when it is needed.
    pub(super) fn listed_elsewhere(&self) {
        self.others().forget();
    }

    /// Returns what of the present listing is not for some.
    pub(super) fn withheld(&self) -> Option<Arc<dyn Withheld>> {
        if !self.is_shared() {
            return None;
        }
        let mut others = self.others();
        others.remember(|| self.cache.lists(&self.server));
        Some(Arc::new(others.withheld(&self.server, now())?))
    }

    fn is_shared(&self) -> bool {
        self.host.audience() == Audience::Shared
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        self.others.locked()
    }
}
