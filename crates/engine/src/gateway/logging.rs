//! Log levels: each client hears what it asked for, and servers say as much as the most curious client wants.

use manifold_protocol::{Call, Fault, Raw, RawObject};

use super::{Gateway, Unheard, standing};
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
        let call = Call::new(call.method.clone(), params);
        for member in &self.catalog.load().view.members {
            standing(member).log_level.clone_from(&call.params);
            let logs = member.upstream.listing().is_none_or(|listing| listing.declares("logging"));
            if logs && member.upstream.status().phase == Phase::Ready {
                let (quiet, _flight) = Exchange::open(Unheard);
                member.upstream.send(call.clone(), quiet);
            }
        }
        exchange.finish(Ok(Raw::from_static("{}")));
    }
}

impl Level {
    fn params(self) -> Raw {
        let mut params = RawObject::default();
        params.set("level", Raw::string(self.name()));
        params.into_raw()
    }
}
