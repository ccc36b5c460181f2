//! The session as the engine knows it: somebody to be told, and asked.

use std::sync::Weak;

use manifold_engine::{Cancel, Client, ClientAbout, Exchange};
use manifold_protocol::envelope;
use manifold_protocol::{Call, Fault, Raw, notification};

use super::{Phase, Session};

/// The session as the engine holds it; weak, so that a client that left is let go.
pub(super) struct Handle(pub(super) Weak<Session>);

impl Client for Handle {
    fn notify(&self, method: &str, params: Option<Raw>) {
        if let Some(session) = self.0.upgrade()
            && session.lock().phase != Phase::New
        {
            let message = envelope::notification(method, params.as_ref());
            session.show_within(None, &message);
            match method {
                // Said once per change, and never again if it is lost.
                notification::TOOLS_CHANGED
                | notification::RESOURCES_CHANGED
                | notification::PROMPTS_CHANGED => session.outlet.ask(message),
                // Where it is said matters to a client that listens on the answer to its call.
                notification::MESSAGE => session.lane_in_use().tell(message),
                _ => session.outlet.tell(message),
            }
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        match self.0.upgrade() {
            Some(session) => session.ask(call, exchange, &session.outlet, None),
            None => exchange.fail(Fault::ClientCannot { what: "questions any more; it is gone".to_owned() }),
        }
    }

    fn disconnect(&self) -> bool {
        self.0.upgrade().is_some_and(|session| session.disconnect())
    }

    fn about(&self) -> ClientAbout {
        self.0.upgrade().map(|session| session.about()).unwrap_or_default()
    }
}

impl Cancel for Handle {
    fn cancel(&self, number: u64, reason: Option<Raw>) {
        if let Some(session) = self.0.upgrade() {
            session.withdraw(number, reason);
        }
    }
}
