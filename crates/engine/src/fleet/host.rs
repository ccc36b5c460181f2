//! What a server instance sees of the fleet: those who use it.

use std::sync::{Arc, Mutex, Weak};

use manifold_config::{Config, ServerKey};
use manifold_protocol::{Call, Raw};
use tracing::debug;

use super::Fleet;
use crate::audience::{Audience, Users};
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::gateway::Gateway;
use crate::outbox::Outbox;
use crate::sync::Lock as _;
use crate::upstream::{Addressee, ClientFacts, Host, Standing};

/// What surrounds an instance that any gateway may use. The fleet is held weakly, so that it is not kept alive.
#[derive(Clone)]
pub(super) struct FleetHost {
    pub(super) fleet: Weak<Fleet>,
    pub(super) users: Arc<Users>,
    pub(super) standing: Arc<Mutex<Standing>>,
}

impl FleetHost {
    pub(super) fn config(&self) -> Option<Arc<Config>> {
        self.fleet.upgrade().map(|fleet| fleet.config())
    }

    /// Returns the client of all namespaces that show the server, where there is exactly one.
    fn only_client_of_all(&self) -> Option<ClientId> {
        let gateways = self.users.gateways();
        let mut peopled = gateways.iter().filter(|gateway| gateway.has_clients());
        match (peopled.next(), peopled.next()) {
            (Some(gateway), None) => gateway.only_client(),
            _ => None,
        }
    }
}

impl Host for FleetHost {
    /// There is one that is started with what the config says.
    fn instance(&self) -> Option<String> {
        Some(String::new())
    }

    fn audience(&self) -> Audience {
        self.users.audience()
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        self.users.facts()
    }

    fn standing(&self, _server: &ServerKey) -> Standing {
        self.standing.locked().clone()
    }

    fn listing_changed(&self, server: &ServerKey) {
        for gateway in self.users.gateways() {
            gateway.listing_changed();
        }
        self.status_changed(server);
    }

    fn status_changed(&self, server: &ServerKey) {
        if let Some(fleet) = self.fleet.upgrade() {
            fleet.server_changed(server);
        }
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        for gateway in self.users.gateways() {
            gateway.notice(server, method, params.clone());
        }
    }

    fn tell(&self, server: &ServerKey, to: Addressee, method: &str, params: Option<Raw>) {
        let client = match to {
            Addressee::Client(client) => Some(client),
            Addressee::Only { last_caller } => {
                self.only_client_of_all().filter(|only| last_caller.is_none_or(|last| last == *only))
            }
        };
        let gateways = self.users.gateways();
        let told = |client| gateways.iter().any(|one| one.tell(server, client, method, params.clone()));
        if !client.is_some_and(told) {
            debug!(server = %server.id, method, "told to nobody: it may be any client's");
        }
    }

    fn ask(&self, server: &ServerKey, last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        // A question outside any call has one natural addressee only where one namespace shows the server.
        match self.users.gateways().as_slice() {
            [only] => only.ask(server, last_caller, call, exchange),
            _ => Gateway::answer_alone(self.config(), server, call, exchange),
        }
    }

    fn only_client(&self) -> Option<Arc<Outbox>> {
        self.users.only_outbox()
    }
}
