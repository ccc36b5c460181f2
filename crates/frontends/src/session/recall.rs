//! What a client has asked of its session at another replica: the log level, and what it is subscribed to.

use std::collections::HashSet;
use std::sync::Arc;

use manifold_engine::{ClientId, Exchange, Gateway, Requester, Sink};
use manifold_protocol::{Call, Caller, Method, Raw, Reply};
use tracing::debug;

use super::Session;
use crate::replica::SessionNotes;

impl Session {
    /// Notes that the client has a subscription, or no longer, so that it is not taken up twice.
    pub(crate) fn note_subscription(&self, uri: &str, is_there: bool) {
        let subscribed = &mut self.lock().subscribed;
        match is_there {
            true => subscribed.insert(uri.to_owned()),
            false => subscribed.remove(uri),
        };
    }

    /// Notes that the client may have read the lists at another replica, so that it hears of changes here.
    pub(crate) fn may_have_listed(&self) {
        if let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) {
            gateway.may_have_looked(*client);
        }
    }

    /// Takes up what is noted of the session, and lets go of what no longer is.
    pub(crate) fn recall(self: &Arc<Self>, notes: &SessionNotes) {
        let wanted: HashSet<String> = notes.subscriptions.iter().cloned().collect();
        let (level, mut calls) = {
            let mut state = self.lock();
            let about = |method: Method, uri: &String| {
                let mut call = Call::new(method, None);
                call.set_param("uri", Raw::string(uri));
                call
            };
            let news = wanted.difference(&state.subscribed);
            let mut calls: Vec<Call> = news.map(|uri| about(Method::ResourcesSubscribe, uri)).collect();
            let old = state.subscribed.difference(&wanted);
            calls.extend(old.map(|uri| about(Method::ResourcesUnsubscribe, uri)));
            state.subscribed = wanted;
            let has = state.caller.as_ref().and_then(|caller| caller.log_level.clone());
            let level = notes.level.as_deref().map(Raw::string).filter(|level| has.as_ref() != Some(level));
            if let (Some(level), Some(caller)) = (&level, &mut state.caller) {
                *caller = Arc::new(Caller { log_level: Some(level.clone()), ..(**caller).clone() });
            }
            (level, calls)
        };
        if let Some(level) = level {
            let mut call = Call::new(Method::SetLevel, None);
            call.set_param("level", level);
            calls.push(call);
        }
        let caller = self.lock().caller.clone();
        let (Ok(gateway), Some(client)) = (&self.destination.gateway, self.client.get()) else { return };
        for call in calls {
            let recalling = Recalling {
                client: *client,
                gateway: Arc::clone(gateway),
                requester: Arc::clone(&self.destination.requester),
            };
            let (exchange, _flight) = Exchange::open(recalling);
            gateway.dispatch(Call { caller: caller.clone(), ..call }, exchange);
        }
    }
}

/// Takes the word of the servers on what a client asked elsewhere; the client has had its answer.
struct Recalling {
    client: ClientId,
    gateway: Arc<Gateway>,
    requester: Arc<Requester>,
}

impl Sink for Recalling {
    fn reply(&self, reply: Reply) {
        if reply.is_err() {
            debug!("what a client had asked of its session elsewhere cannot be had here");
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        self.gateway.decline(&call, exchange);
    }

    fn client(&self) -> Option<ClientId> {
        Some(self.client)
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        Some(&self.requester)
    }
}
