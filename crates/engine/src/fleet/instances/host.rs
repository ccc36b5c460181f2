//! What an instance sees of the fleet: one client.

use std::sync::{Arc, Mutex, Weak};

use manifold_config::{ServerKey, Settings};
use manifold_protocol::{Call, Caller, Raw};
use tracing::debug;

use super::super::FleetHost;
use super::{PerClient, lock};
use crate::audience::Audience;
use crate::changes::ClientId;
use crate::control::client_instance;
use crate::exchange::Exchange;
use crate::traffic::Tap;
use crate::upstream::{Addressee, ClientFacts, Host, LoggedLine, Standing};

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

    fn wants_logs(&self) -> bool {
        self.fleet.wants_logs()
    }

    fn logged(&self, server: &ServerKey, line: LoggedLine) {
        if let Some(fleet) = self.fleet.fleet.upgrade() {
            let instance = Some(client_instance(self.client));
            self.fleet.show_line(&fleet, &line, instance.clone());
            fleet.logged(server, &line, instance);
        }
    }

    fn tap(&self) -> Tap {
        self.fleet.tap_of(Some(client_instance(self.client)))
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        self.tell(server, Addressee::Client(self.client), method, params);
    }

    fn tell(&self, server: &ServerKey, _to: Addressee, method: &str, params: Option<Raw>) {
        self.fleet.tell(server, Addressee::Client(self.client), method, params);
    }

    fn ask(&self, _server: &ServerKey, _last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        let gateways = self.fleet.users.gateways();
        match gateways.iter().find(|gateway| gateway.knows(self.client)) {
            Some(gateway) => gateway.ask_client(&self.fleet.server, self.client, call, exchange),
            None => self.fleet.answer_alone(&call, exchange),
        }
    }
}

/// What surrounds the instance that only reads lists.
pub(super) struct ListerHost {
    pub(super) owner: Weak<PerClient>,
    pub(super) fleet: FleetHost,
}

impl Host for ListerHost {
    fn audience(&self) -> Audience {
        Audience::Shared
    }

    fn client_facts(&self) -> Arc<ClientFacts> {
        self.fleet.client_facts()
    }

    fn standing(&self, _server: &ServerKey) -> Standing {
        Standing::default()
    }

    fn listing_changed(&self, _server: &ServerKey) {
        if let Some(owner) = self.owner.upgrade() {
            owner.listed_by_lister();
        }
    }

    fn status_changed(&self, server: &ServerKey) {
        self.fleet.status_changed(server);
    }

    fn wants_logs(&self) -> bool {
        self.fleet.wants_logs()
    }

    fn logged(&self, server: &ServerKey, line: LoggedLine) {
        self.fleet.logged(server, line);
    }

    fn tap(&self) -> Tap {
        self.fleet.tap_of(None)
    }

    fn notice(&self, server: &ServerKey, method: &str, _params: Option<Raw>) {
        debug!(server = %server.id, method, "told to nobody: it was said while lists were read");
    }

    fn tell(&self, server: &ServerKey, _to: Addressee, method: &str, _params: Option<Raw>) {
        debug!(server = %server.id, method, "told to nobody: it was said while lists were read");
    }

    fn ask(&self, _server: &ServerKey, _last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        self.fleet.answer_alone(&call, exchange);
    }
}
