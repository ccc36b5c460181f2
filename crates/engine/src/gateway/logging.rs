//! Log levels: each client hears what it asked for, and servers say as much as the most curious client wants.

use manifold_protocol::{Call, Fault, Method, Raw, RawObject};

use super::{Gateway, standing};
use crate::changes::Level;
use crate::exchange::Exchange;
use crate::upstream::Phase;

impl Gateway {
    /// Sets a client's level, and that of every server, now or when it starts.
    pub(super) fn set_level(&self, call: &Call, exchange: Exchange) {
        let Some(level) = call.text_param("level").and_then(|name| Level::parse(&name)) else {
            let names = Level::NAMES.join(", ");
            return exchange.fail(Fault::InvalidParams(format!("`level` must be one of {names}")));
        };
        let lowest = self.clients.set_level(exchange.client(), level);
        let params = if lowest == level { call.params.clone() } else { Some(lowest.params()) };
        self.tell_level(&Call::new(call.method.clone(), params));
        exchange.finish(Ok(Raw::from_static("{}")));
    }

    /// Makes servers say as much as a caller wants to hear of its own call. None is told to say less again: what a
    /// client hears is chosen where it is known.
    pub(super) fn want_logs(&self, call: &Call) {
        let Some(wanted) = call.caller.as_ref().and_then(|caller| caller.log_level_of_call()) else { return };
        let Some(level) = wanted.to_text().and_then(|name| Level::parse(&name)) else { return };
        if self.clients.lower_level(level) {
            self.tell_level(&Call::new(Method::SetLevel, Some(level.params())));
        }
    }

    fn tell_level(&self, call: &Call) {
        for member in &self.catalog.load().view.members {
            standing(member).log_level.clone_from(&call.params);
            let logs = member.upstream.listing().is_none_or(|listing| listing.declares("logging"));
            if logs && member.upstream.status().phase == Phase::Ready {
                member.upstream.send(call.clone(), Exchange::detached());
            }
        }
    }
}

impl Level {
    fn params(self) -> Raw {
        let mut params = RawObject::default();
        params.set("level", Raw::string(self.name()));
        params.into_raw()
    }
}
