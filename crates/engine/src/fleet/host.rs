//! What a server instance sees of the fleet: those who use it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use manifold_admin::Hop;
use manifold_config::{Config, Root, Server, ServerKey};
use manifold_protocol::{Call, Method, Raw};
use tracing::debug;

use super::{Fleet, roots};
use crate::audience::{Audience, Users};
use crate::changes::ClientId;
use crate::control::instance_key;
use crate::exchange::Exchange;
use crate::gateway::{Gateway, answer_from_config, roots_of};
use crate::outbox::Outbox;
use crate::sync::Lock as _;
use crate::traffic::{Party, Tap};
use crate::upstream::{Addressee, ClientFacts, Host, LoggedLine, Standing};

/// What surrounds an instance that any gateway may use. The fleet is held weakly, so that it is not kept alive.
#[derive(Clone)]
pub(super) struct FleetHost {
    /// What the instance is known by in a process that takes our place; none where nobody could tell whose it is.
    pub(super) known_as: Option<String>,
    /// What it is started with, as a number, where that is some client's.
    pub(super) started_with: Option<u64>,
    pub(super) fleet: Weak<Fleet>,
    pub(super) server: Arc<Server>,
    pub(super) users: Arc<Users>,
    pub(super) standing: Arc<Mutex<Standing>>,
    /// How often it has been started.
    pub(super) starts: Arc<AtomicU64>,
}

impl FleetHost {
    fn config(&self) -> Option<Arc<Config>> {
        self.fleet.upgrade().map(|fleet| fleet.config())
    }

    /// Returns where the messages of the next start are seen.
    pub(super) fn tap_of(&self, instance: Option<String>) -> Tap {
        let generation = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fleet.upgrade() {
            Some(fleet) => Tap::new(fleet.traffic(), self.party(instance, generation)),
            None => Tap::unwatched(),
        }
    }

    /// Shows a line to those who watch traffic.
    pub(super) fn show_line(&self, fleet: &Fleet, line: &LoggedLine, instance: Option<String>) {
        if fleet.traffic().is_watched() {
            let party = self.party(instance, self.starts.load(Ordering::Relaxed));
            Tap::new(fleet.traffic(), party).stderr(&line.line);
        }
    }

    fn party(&self, instance: Option<String>, generation: u64) -> Party {
        Party {
            hop: Hop::Server,
            server: Some(self.server.key.id.clone()),
            instance,
            generation: Some(generation),
            ..Party::default()
        }
    }

    /// Answers a question that has no client to go to.
    pub(super) fn answer_alone(&self, call: &Call, exchange: Exchange) {
        answer_from_config(self.roots().as_deref(), call, exchange);
    }

    /// Returns the roots that the config has for the server.
    fn roots(&self) -> Option<Vec<Root>> {
        let config = self.config()?;
        Some(roots_of(Some(&self.server), &config.settings).to_vec())
    }

    /// Answers with the roots of all who use the server; where none has any, with those of the config.
    fn answer_roots_of_all(&self, gateways: &[Arc<Gateway>], call: &Call, exchange: Exchange) {
        let (Some(fleet), true) = (self.fleet.upgrade(), self.server.roots.is_empty()) else {
            return self.answer_alone(call, exchange);
        };
        let asked: Vec<_> = gateways.iter().filter_map(|gateway| gateway.ask_for_roots(call)).collect();
        if asked.is_empty() {
            return self.answer_alone(call, exchange);
        }
        let me = self.clone();
        let call = call.clone();
        fleet.tasks().spawn_background(async move {
            match roots::of_all(asked).await {
                Some(roots) => exchange.finish(Ok(roots)),
                None => me.answer_alone(&call, exchange),
            }
        });
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
    fn instance(&self) -> Option<String> {
        self.known_as.clone()
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

    fn wants_logs(&self) -> bool {
        self.fleet.upgrade().is_some_and(|fleet| fleet.wants_logs())
    }

    fn logged(&self, server: &ServerKey, line: LoggedLine) {
        if let Some(fleet) = self.fleet.upgrade() {
            let instance = fleet.instance_label(server, self.started_with);
            self.show_line(&fleet, &line, instance.clone());
            fleet.logged(server, &line, instance);
        }
    }

    fn tap(&self) -> Tap {
        self.tap_of(self.started_with.map(instance_key))
    }

    fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
        let gateways = self.users.gateways();
        for gateway in &gateways {
            gateway.notice(server, gateways.len() == 1, method, params.clone());
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

    fn ask(&self, _server: &ServerKey, last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        // A question outside any call has one natural addressee only where one namespace shows the server.
        match self.users.gateways().as_slice() {
            [only] => only.ask(&self.server, last_caller, call, exchange),
            several if call.method == Method::ListRoots => {
                self.answer_roots_of_all(several, &call, exchange);
            }
            _ => self.answer_alone(&call, exchange),
        }
    }

    fn only_client(&self) -> Option<Arc<Outbox>> {
        self.users.only_outbox()
    }
}
