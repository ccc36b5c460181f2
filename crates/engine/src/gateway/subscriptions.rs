//! Who is subscribed to what, and the server's side of it: told once, and untold when the last one leaves.

use std::sync::Arc;

use manifold_config::ServerKey;
use manifold_protocol::{Call, Method, Raw};

use super::{Gateway, Unheard, standing};
use crate::catalog::{Catalog, ItemRoute, Member, ResourceOwner};
use crate::exchange::Exchange;
use crate::upstream::Phase;

/// Returns who owns the subscription to a URI: where nobody lists it, the server that took it.
pub(super) fn owner(catalog: &Catalog, uri: &str) -> ResourceOwner {
    match catalog.resource(uri) {
        ResourceOwner::Perhaps(members) => {
            let took = |at: &&usize| standing(catalog.member(**at)).subscriptions.contains(uri);
            match members.iter().find(took) {
                Some(at) => ResourceOwner::One(ItemRoute { member: *at, original: uri.to_owned() }),
                None => ResourceOwner::Perhaps(members),
            }
        }
        one => one,
    }
}

impl Gateway {
    /// Notes a subscription on its way to the server. It stands from now on, so that no update is missed, unless
    /// the server refuses it.
    pub(super) fn subscribing(
        self: &Arc<Self>,
        member: &Member,
        original: &str,
        exposed: &str,
        exchange: Exchange,
    ) -> Exchange {
        standing(member).subscriptions.insert(original.to_owned());
        let client = exchange.client().and_then(|id| self.clients.get(id));
        if let Some(client) = &client {
            client.subscribe(exposed);
        }
        let gateway = Arc::clone(self);
        let (key, original, exposed) = (member.key.clone(), original.to_owned(), exposed.to_owned());
        exchange.then(move |reply, outer| {
            if reply.is_err() {
                if let Some(client) = client {
                    client.unsubscribe(&exposed);
                }
                let catalog = gateway.catalog.load();
                if let Some(member) = catalog.view.members.iter().find(|member| member.key == key) {
                    gateway.drop_unwanted(member, &original);
                }
            }
            outer.finish(reply);
        })
    }

    /// Ends the server's side of a subscription that its last client left behind.
    pub(super) fn end_subscription(&self, uri: &str) {
        let catalog = self.catalog.load();
        let ResourceOwner::One(route) = owner(&catalog, uri) else { return };
        let member = catalog.member(route.member);
        if self.drop_unwanted(member, &route.original) && member.upstream.status().phase == Phase::Ready {
            let mut call = Call::new(Method::ResourcesUnsubscribe, None);
            call.set_param("uri", Raw::string(&route.original));
            let (quiet, _flight) = Exchange::open(Unheard);
            member.upstream.send(call, quiet);
        }
    }

    /// Lets a subscription stand no longer unless some client wants it. Returns whether it fell.
    pub(super) fn drop_unwanted(&self, member: &Member, original: &str) -> bool {
        // Namespaces that share a server share its subscriptions.
        let unwanted = !self.fleet.gateways().iter().any(|gateway| gateway.wants(&member.key, original));
        if unwanted {
            standing(member).subscriptions.remove(original);
        }
        unwanted
    }

    /// Returns whether a client of this namespace is subscribed to a server's resource.
    fn wants(&self, server: &ServerKey, original: &str) -> bool {
        let catalog = self.catalog.load();
        let Some(at) = catalog.view.members.iter().position(|member| member.key == *server) else {
            return false;
        };
        let exposed = catalog.exposed_uri(at, original).unwrap_or_else(|| original.into());
        self.clients.all().iter().any(|entry| entry.subscribes(&exposed))
    }
}
