//! The handshake: what a client says of itself as it comes, and what it is told.

use std::sync::Arc;

use manifold_config::Profile;
use manifold_engine::{Audience, ClientFacts};
use manifold_protocol::dialect::legacy::InitializeReply;
use manifold_protocol::{Call, Caller, Fault, Raw, Revision};

use super::{Phase, Session};

impl Session {
    pub(super) fn initialize(self: &Arc<Self>, call: &Call) -> Result<Raw, Fault> {
        let gateway = self.destination.gateway.as_ref().map_err(Clone::clone)?;
        let Some(requested) = call.text_param("protocolVersion") else {
            return Err(Fault::InvalidParams("`protocolVersion` is missing".to_owned()));
        };
        let member =
            |key: &str| call.params.as_ref().and_then(|params| params.get(key)).map(|raw| raw.detached());
        let capabilities = member("capabilities").unwrap_or_else(|| Raw::from_static("{}"));
        let info =
            member("clientInfo").unwrap_or_else(|| Raw::from_static(r#"{"name":"manifold","version":"0"}"#));
        let revision = Revision::negotiate(&requested);
        self.open_for(revision, capabilities.clone(), info.clone());
        let echoes = self.destination.profile == Profile::McpAllInOne;
        let echoed: Vec<&str> = ["roots", "sampling"]
            .into_iter()
            .filter(|capability| echoes && capabilities.get(capability).is_some())
            .collect();
        let introduction = match self.destination.audience {
            Audience::One => gateway.introduce(ClientFacts { capabilities, info, revision }),
            // Servers shared by many are told nothing of any one client (decision 29).
            Audience::Shared => gateway.introduction(),
        };
        let reply = InitializeReply {
            revision,
            name: &introduction.name,
            version: &introduction.version,
            instructions: introduction.instructions.as_deref(),
            echoed: &echoed,
        };
        Ok(reply.encode())
    }

    /// Opens the session to a client that has said this of itself, here or at another replica.
    pub(crate) fn open_for(&self, revision: Revision, capabilities: Raw, info: Raw) {
        if let Some(name) = info.get("name").as_ref().and_then(Raw::to_text) {
            self.destination.requester.set_name(&name);
        }
        {
            let mut state = self.lock();
            state.phase = Phase::Open;
            state.revision = Some(revision);
            state.caller = Some(Arc::new(Caller {
                capabilities,
                info: Some(info.clone()),
                log_level: None,
                retries: false,
                is_retry: false,
                words: Default::default(),
            }));
        }
        self.introduce_to_tap(Some(&info));
        self.tell_who_it_is();
    }
}
