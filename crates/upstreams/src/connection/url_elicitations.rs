//! Who was sent to which address by a server. The server tells when such a visit is over, long after the call it was
//! wanted in, and that is nobody else's affair (M13).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use manifold_engine::ClientId;
use manifold_engine::Lock as _;
use manifold_protocol::{Call, Method, Raw};

/// UrlElicitations that are remembered; of an older one nobody is told.
const MAX_VISITS: usize = 1024;
/// What a server refuses a call with until somebody has been at an address.
const VISIT_REQUIRED: &str = "-32042";

#[derive(Default)]
pub(super) struct UrlElicitations {
    sent: Mutex<VecDeque<(String, ClientId)>>,
}

impl UrlElicitations {
    /// Notes whom a question sends to an address, if it does.
    pub(super) fn note_question(&self, call: &Call, client: Option<ClientId>) {
        if call.method == Method::Elicit
            && let (Some(visit), Some(client)) = (call.text_param("elicitationId"), client)
        {
            self.note(visit, client);
        }
    }

    /// Notes whom an error sends to addresses, if it does.
    pub(super) fn note_error(&self, error: &Raw, client: Option<ClientId>) {
        let Some(client) = client else { return };
        if error.get("code").is_none_or(|code| code.as_str() != VISIT_REQUIRED) {
            return;
        }
        let visits = error.path(&["data", "elicitations"]).and_then(|visits| visits.elements());
        for visit in visits.into_iter().flatten() {
            if let Some(id) = id_of(&visit) {
                self.note(id, client);
            }
        }
    }

    /// Returns who made the visit that is over by now.
    pub(super) fn over(&self, params: Option<&Raw>) -> Option<ClientId> {
        let id = id_of(params?)?;
        let mut sent = self.lock();
        let at = sent.iter().position(|(visit, _)| *visit == id)?;
        sent.remove(at).map(|(_, client)| client)
    }

    fn note(&self, visit: String, client: ClientId) {
        let mut sent = self.lock();
        if sent.len() == MAX_VISITS {
            sent.pop_front();
        }
        sent.push_back((visit, client));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, ClientId)>> {
        self.sent.locked()
    }
}

fn id_of(visit: &Raw) -> Option<String> {
    Some(visit.get("elicitationId")?.to_text()?.into_owned())
}
