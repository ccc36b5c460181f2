//! One instance of a server, as the fleet keeps it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use manifold_config::{
    Server, ServerKey, Sharing, StartedWith, Transport, same_but_for_start, same_connection,
};

use super::InstanceKey;
use crate::audience::{Audience, Users};
use crate::changes::ClientId;
use crate::resolution::ResolvedServer;
use crate::upstream::{Phase, Standing, Upstream};

/// One instance of a server of the fleet.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) server: Arc<Server>,
    pub(crate) instance: InstanceKey,
    /// What it is started with, where that is some client's.
    pub(crate) started_with: Option<Arc<StartedWith>>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) standing: Arc<Mutex<Standing>>,
    /// The gateways that show it.
    pub(crate) users: Arc<Users>,
}

/// An instance that a gateway wants to use, whether or not it is there.
pub(crate) struct Wanted {
    pub(crate) server: Arc<Server>,
    pub(super) instance: InstanceKey,
    pub(super) started_with: Option<Arc<StartedWith>>,
    /// What the client's session is known by from one process to the next.
    pub(super) session: Option<Arc<str>>,
}

impl Wanted {
    /// Wants a server as the config in force has it.
    pub(crate) fn defined(server: &Server, audience: Audience, user: ClientId) -> Self {
        let instance = own_where_it_must(InstanceKey::DEFINED, server, audience, user);
        Self { server: Arc::new(server.clone()), instance, started_with: None, session: None }
    }

    /// Wants a server as a client has resolved it.
    pub(crate) fn resolved(
        resolved: &ResolvedServer,
        audience: Audience,
        user: ClientId,
        session: Option<&Arc<str>>,
    ) -> Self {
        let ResolvedServer { server, started_with } = resolved;
        // What is built in is started with nothing of a client's: all have the one of the config.
        if matches!(server.transport, Transport::Builtin(_)) {
            return Self::defined(server, audience, user);
        }
        let instance = InstanceKey::started_with(started_with.hash());
        Self {
            instance: own_where_it_must(instance, server, audience, user),
            server: Arc::clone(server),
            started_with: Some(Arc::clone(started_with)),
            session: session.cloned(),
        }
    }
}

impl Wanted {
    /// Wants a server as it is for another account than its own, where the namespace names one: what it offers and answers
    /// is that account's alone.
    pub(crate) fn by_account(&mut self, accounts: &BTreeMap<String, String>) {
        let Some(account) = accounts.get(&self.server.key.id) else { return };
        let mut server = (*self.server).clone();
        let Transport::Remote(spec) = &mut server.transport else { return };
        let Some(sign_in) = spec.sign_in.as_mut().filter(|sign_in| sign_in.account != *account) else {
            return;
        };
        sign_in.account.clone_from(account);
        self.instance = self.instance.for_account(account);
        self.server = Arc::new(server);
    }
}

/// A client with a gateway of its own has, of a server with `shared: false`, an instance of its own. Where many share a
/// gateway, theirs are told apart behind it.
fn own_where_it_must(
    instance: InstanceKey,
    server: &Server,
    audience: Audience,
    user: ClientId,
) -> InstanceKey {
    if audience == Audience::One && is_per_client(server) { instance.own(user) } else { instance }
}

/// Returns whether each client has an instance; what is built in keeps nothing between calls.
pub(super) fn is_per_client(server: &Server) -> bool {
    server.shared == Sharing::PerClient && !matches!(server.transport, Transport::Builtin(_))
}

impl Slot {
    pub(super) fn is(&self, server: &ServerKey, instance: InstanceKey) -> bool {
        self.server.key == *server && self.instance == instance
    }

    /// Returns whether it is what the config says, for everybody, and so there for as long as the config is.
    pub(crate) fn is_defined(&self) -> bool {
        self.instance == InstanceKey::DEFINED
    }

    /// Returns whether others than the client it was made for may use it.
    pub(super) fn is_for_many(&self) -> bool {
        matches!(self.server.shared, Sharing::Default | Sharing::Everybody)
    }

    /// Returns whether it may go on under this definition.
    pub(super) fn fits(&self, server: &Server) -> bool {
        match self.started_with {
            Some(_) => same_but_for_start(&self.server, server),
            None => same_connection(&self.server, server),
        }
    }

    /// Returns whether anybody uses it, or it runs all the same.
    pub(crate) fn is_live(&self) -> bool {
        !self.users.is_empty() || matches!(self.upstream.status().phase, Phase::Ready | Phase::Starting)
    }
}
