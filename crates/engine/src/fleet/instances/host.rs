//! What an instance sees of the fleet: one client.

use std::sync::{Arc, Mutex, Weak};

use manifold_config::{ServerKey, Settings};
use manifold_protocol::{Call, Caller, Raw};
use tracing::debug;

use super::super::FleetHost;
use super::{PerClient, lock};
use crate::audience::Audience;
use crate::changes::ClientId;
use crate::exchange::Exchange;
use crate::gateway::Gateway;
use crate::outbox::Outbox;
use crate::upstream::{Addressee, ClientFacts, Host, Standing};

/// What surrounds the instance of one client.
pub(super) struct InstanceHost {
    pub(super) owner: Weak<PerClient>,
    /// What the instances of all clients see.
    pub(super) fleet: FleetHost,
    pub(super) client: ClientId,
    pub(super) facts: Arc<ClientFacts>,
    pub(super) standing: Arc<Mutex<Standing>>,
}

/// Returns what a server is told of the client that makes this call.
pub(super) fn facts_of(fleet: &FleetHost, settings: &Settings, caller: Option<&Caller>) -> Arc<ClientFacts> {
    let of_all = fleet.client_facts();
    let mut facts = ClientFacts {
        capabilities: caller.map_or_else(|| Raw::from_static("{}"), |caller| caller.capabilities.clone()),
        info: caller.and_then(|caller| caller.info.clone()).unwrap_or_else(|| of_all.info.clone()),
        revision: of_all.revision,
    };
    facts.offer_roots(settings);
    Arc::new(facts)
}

impl Host for InstanceHost {
    fn audience(&self) -> Audience {
        Audience::One
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        Arc::clone(&self.facts)
    }

    /// Of what the server is wanted for, this client's part.
    fn standing(&self, server: &ServerKey) -> Standing {
        let all = self.fleet.standing(server);
        let own = lock(&self.standing);
        Standing {
            log_level: all.log_level,
            subscriptions: &all.subscriptions & &own.subscriptions,
            tasks: &all.tasks & &own.tasks,
        }
    }

    fn listing_changed(&self, _server: &ServerKey) {
        if let Some(owner) = self.owner.upgrade() {
            owner.listed_by(self.client, &self.facts);
        }
    }

    fn status_changed(&self, server: &ServerKey) {
        self.fleet.status_changed(server);
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        self.tell(server, Addressee::Client(self.client), method, params);
    }

    fn tell(&self, server: &ServerKey, _to: Addressee, method: &str, params: Option<Raw>) {
        self.fleet.tell(server, Addressee::Client(self.client), method, params);
    }

    fn ask(&self, server: &ServerKey, _last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        let gateways = self.fleet.users.gateways();
        match gateways.iter().find(|gateway| gateway.knows(self.client)) {
            Some(gateway) => gateway.ask_client(server, self.client, call, exchange),
            None => Gateway::answer_alone(self.fleet.config(), server, call, exchange),
        }
    }
}

/// What surrounds the instance that only reads lists. Where there is but one client, everything is that one's.
pub(super) struct ListerHost {
    pub(super) owner: Weak<PerClient>,
    pub(super) fleet: FleetHost,
}

impl ListerHost {
    fn is_for_one(&self) -> bool {
        self.fleet.audience() == Audience::One
    }
}

impl Host for ListerHost {
    fn audience(&self) -> Audience {
        self.fleet.audience()
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        self.fleet.client_facts()
    }

    fn standing(&self, server: &ServerKey) -> Standing {
        if self.is_for_one() { self.fleet.standing(server) } else { Standing::default() }
    }

    fn listing_changed(&self, _server: &ServerKey) {
        if let Some(owner) = self.owner.upgrade() {
            owner.listed_by_lister();
        }
    }

    fn status_changed(&self, server: &ServerKey) {
        self.fleet.status_changed(server);
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        if self.is_for_one() {
            return self.fleet.notice(server, method, params);
        }
        debug!(server = %server.id, method, "told to nobody: it was said while lists were read");
    }

    fn tell(&self, server: &ServerKey, to: Addressee, method: &str, params: Option<Raw>) {
        if self.is_for_one() {
            self.fleet.tell(server, to, method, params);
        }
    }

    fn ask(&self, server: &ServerKey, last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        if self.is_for_one() {
            return self.fleet.ask(server, last_caller, call, exchange);
        }
        Gateway::answer_alone(self.fleet.config(), server, call, exchange);
    }

    fn only_client(&self) -> Option<Arc<Outbox>> {
        self.fleet.only_client()
    }
}
