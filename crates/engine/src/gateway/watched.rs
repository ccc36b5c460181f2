//! What an operator sees of a namespace, and is told of.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_admin::{self as admin, ClientChange, Happening};
use manifold_protocol::Kind;

use super::Gateway;
use crate::audience::Audience;
use crate::catalog::Catalog;
use crate::changes::{ClientId, Entry};
use crate::control;
use crate::principal::{Access, Requester, Wish};

impl Gateway {
    /// Returns how the servers are doing, from what is known without asking them.
    pub fn servers(&self) -> Vec<admin::Server> {
        let resolution = self.resolution.load();
        let config = resolution.as_ref().map_or_else(|| self.fleet.config(), |one| Arc::clone(&one.config));
        control::servers(&config, &self.catalog.load(), &self.discovery)
    }

    /// Returns how the servers are doing of which somebody may use anything, with what it may use of them.
    pub fn servers_for(&self, who: &Requester) -> Vec<admin::Server> {
        if self.access(who, Wish::Other) == Access::Granted {
            return self.servers();
        }
        let resolution = self.resolution.load();
        let config = resolution.as_ref().map_or_else(|| self.fleet.config(), |one| Arc::clone(&one.config));
        let catalog = self.catalog.load();
        let mut tools: HashMap<usize, usize> = HashMap::new();
        for item in catalog.items(Kind::Tools, &who.principal) {
            if self.access(who, Wish::Tool(&item.exposed)) == Access::Granted {
                *tools.entry(item.member).or_default() += 1;
            }
        }
        let all = control::servers_at(&config, &catalog, &self.discovery);
        let used = all.filter_map(|(at, server)| {
            let lists = admin::Lists { tools: *tools.get(&at)?, ..admin::Lists::default() };
            Some(admin::Server { lists: Some(lists), ..server })
        });
        used.collect()
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
