//! What a session's client has said of itself, for operators.

use manifold_admin::ClientTransport;
use manifold_engine::{Audience, ClientAbout, Principal};

use super::Session;

impl Session {
    pub(super) fn about(&self) -> ClientAbout {
        let state = self.lock();
        let info = state.caller.as_ref().and_then(|caller| caller.info.as_ref());
        let member = |key: &str| Some(ClientAbout::shown(&info?.get(key)?.to_text()?));
        ClientAbout {
            principal: principal(&self.destination.requester.principal),
            name: member("name"),
            version: member("version"),
            revision: state.revision.map(|revision| revision.as_str().to_owned()),
            transport: Some(match self.destination.audience {
                Audience::One => ClientTransport::Stdio,
                Audience::Shared => ClientTransport::Http,
            }),
            pid: None,
            cwd: None,
            calls_in_flight: Some(state.flights.len()),
        }
    }

    /// Tells operators that the client has said who it is.
    pub(super) fn tell_who_it_is(&self) {
        if let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) {
            gateway.client_changed(*client);
        }
    }
}

fn principal(principal: &Principal) -> Option<manifold_admin::Principal> {
    match principal {
        Principal::Gateway => None,
        Principal::Local => Some(manifold_admin::Principal::Local),
        Principal::Token(name) => Some(manifold_admin::Principal::Token { name: Some(name.to_string()) }),
    }
}
