//! What an operator sees of a namespace, and is told of.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_admin::{self as admin, ClientChange, Happening};

use super::Gateway;
use crate::audience::Audience;
use crate::catalog::Catalog;
use crate::changes::{ClientId, Entry};
use crate::control;

impl Gateway {
    /// Returns how the servers are doing, from what is known without asking them.
    pub fn servers(&self) -> Vec<admin::Server> {
        let resolution = self.resolution.load();
        let config = resolution.as_ref().map_or_else(|| self.fleet.config(), |one| Arc::clone(&one.config));
        control::servers(&config, &self.catalog.load(), &self.discovery)
    }

    /// Tells that a client has said who it is.
    pub fn client_changed(&self, id: ClientId) {
        self.tell_of_client(ClientChange::Changed, id);
    }

    pub fn audience(&self) -> Audience {
        self.opening.audience
    }

    /// Returns whether a client has said who it is.
    pub fn is_introduced(&self) -> bool {
        self.introduced.load(Ordering::Relaxed)
    }

    pub(crate) fn session(&self, id: ClientId) -> Option<Arc<Entry>> {
        self.clients.session(id)
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Entry>> {
        self.clients.sessions()
    }

    /// Tells those who watch of a client. One that only listens for another is none.
    pub(super) fn tell_of_client(&self, change: ClientChange, id: ClientId) {
        self.fleet.feed().publish(|| Some(self.client_event(change, &*self.clients.session(id)?)));
    }

    /// Tells those who watch of a client that may be gone by now.
    pub(super) fn tell_of_entry(&self, change: ClientChange, entry: &Entry) {
        self.fleet.feed().publish(|| Some(self.client_event(change, entry)));
    }

    fn client_event(&self, change: ClientChange, entry: &Entry) -> Happening {
        Happening::Client { change, client: Box::new(control::namespace::client(self, entry)) }
    }

    /// Tells those who watch that clients see something else.
    pub(super) fn tell_of_catalog(&self, catalog: &Catalog) {
        self.fleet.feed().publish(|| {
            let namespace = self.namespace().map(str::to_owned);
            Some(Happening::Catalog { namespace, lists: control::namespace::lists(catalog) })
        });
    }
}
