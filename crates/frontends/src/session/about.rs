//! What a session's client has said of itself, for operators.

use manifold_admin::ClientTransport;
use manifold_engine::{Audience, ClientAbout, Principal};
use manifold_protocol::Raw;
use manifold_protocol::dialect::modern;

use super::Session;

impl Session {
    pub(super) fn about(&self) -> ClientAbout {
        let state = self.lock();
        let passing = state.passing.as_ref();
        let info = state.caller.as_ref().and_then(|caller| caller.info.as_ref());
        let info = info.or_else(|| passing.map(|(info, _)| info));
        let member = |key: &str| Some(ClientAbout::shown(&info?.get(key)?.to_text()?));
        let process = self.destination.requester.process();
        ClientAbout {
            principal: principal(&self.destination.requester.principal),
            name: member("name"),
            version: member("version"),
            revision: state
                .revision
                .map(|revision| revision.as_str().to_owned())
                .or_else(|| passing.map(|(_, revision)| revision.clone())),
            transport: Some(match self.destination.audience {
                Audience::One => ClientTransport::Stdio,
                Audience::Shared => ClientTransport::Http,
            }),
            pid: process.and_then(|process| process.pid),
            cwd: process.and_then(|process| process.cwd.clone()),
            shim: process.and_then(|process| process.shim.as_deref()).map(ClientAbout::shown),
            calls_in_flight: Some(state.flights.len()),
        }
    }

    /// Notes what a client says of itself that makes single requests by the same way.
    pub(crate) fn note_passing(&self, params: Option<&Raw>) {
        let info = modern::client_info_of(params).unwrap_or_else(|| Raw::from_static("{}"));
        let revision = modern::version_of(params);
        let revision = revision.as_ref().and_then(|revision| revision.to_text()).unwrap_or_default();
        self.lock().passing = Some((info.detached(), ClientAbout::shown(&revision)));
        self.tell_who_it_is();
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
        Principal::User(user) => Some(manifold_admin::Principal::Token { name: Some(user.to_string()) }),
        Principal::Certificate(subject) => {
            Some(manifold_admin::Principal::Token { name: Some(subject.to_string()) })
        }
    }
}
