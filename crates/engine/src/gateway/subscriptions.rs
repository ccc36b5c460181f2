//! Who is subscribed to what, and the server's side of it: told once, and untold when the last one leaves.

use std::sync::Arc;
use std::time::Duration;

use manifold_config::ServerKey;
use manifold_protocol::{Call, Method, Raw, Reply};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Gateway, standing};
use crate::catalog::{Catalog, ItemRoute, Member, ResourceOwner};
use crate::changes::{Refusal, Topic};
use crate::exchange::Exchange;
use crate::policy::Decisions;
use crate::upstream::Phase;

/// Subscriptions whose end a server is told of together.
const AT_ONCE: usize = 1024;
/// How long it may take over that before it is told of more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns who owns the subscription to a URI: where nobody lists it, the server that took it.
pub(super) fn owner(catalog: &Catalog, uri: &str) -> ResourceOwner {
    match catalog.resource(uri) {
        ResourceOwner::Perhaps(members) => match takers(catalog, uri).next() {
            Some(member) => {
                let decisions = Decisions::ALLOW;
                ResourceOwner::One(ItemRoute { member, original: uri.to_owned(), decisions })
            }
            None => ResourceOwner::Perhaps(members),
        },
        one => one,
    }
}

/// Finds the servers at which a subscription to a URI of their own stands, whether or not they list it now.
fn takers<'c>(catalog: &'c Catalog, uri: &'c str) -> impl Iterator<Item = usize> + 'c {
    let all = 0..catalog.view.members.len();
    all.filter(move |at| standing(catalog.member(*at)).subscriptions.contains(uri))
}

impl Gateway {
    /// Notes a subscription on its way to the server. It stands from now on, so that no update is missed, unless
    /// the server refuses it or the client takes it back or leaves. `None`: it has left already, or has too many and
    /// was told so.
    pub(super) fn subscribing(
        self: &Arc<Self>,
        member: &Member,
        original: &str,
        exposed: &str,
        exchange: Exchange,
    ) -> Option<Exchange> {
        standing(member).subscriptions.insert(original.to_owned());
        let id = exchange.client();
        let noted = id.map_or(Ok(()), |id| self.clients.subscribe(id, Topic::Resource, exposed));
        if let Err(refusal) = noted {
            self.drop_unwanted(member, original);
            if refusal == Refusal::Full {
                exchange.fail(refusal.into());
            }
            return None;
        }
        let gateway = Arc::clone(self);
        let (key, original, exposed) = (member.key.clone(), original.to_owned(), exposed.to_owned());
        Some(exchange.then_or_cancelled(move |reply, outer| {
            let stands = matches!(reply, Some(Ok(_)));
            let clients = &gateway.clients;
            if let Some(id) = id.filter(|_| !stands) {
                clients.unsubscribe(id, Topic::Resource, &exposed);
            }
            // Whoever left meanwhile may have done so before the server had heard of the subscription.
            if !stands || id.is_some_and(|id| !clients.subscribes(id, Topic::Resource, &exposed)) {
                let catalog = gateway.catalog.load();
                match catalog.view.members.iter().find(|member| member.key == key) {
                    Some(member) if matches!(reply, Some(Err(_))) => {
                        gateway.drop_unwanted(member, &original);
                    }
                    Some(member) => drop(gateway.leave_resource(member, &original)),
                    None => {}
                }
            }
            if let Some(reply) = reply {
                outer.finish(reply);
            }
        }))
    }

    /// Ends the servers' side of subscriptions that their last client left behind. A server is told of many bit by bit:
    /// it has room for some thousands of calls.
    pub(super) fn end_subscriptions(self: &Arc<Self>, uris: Vec<Arc<str>>) {
        let end = |gateway: &Self, uris: &[Arc<str>]| -> Vec<_> {
            uris.iter().flat_map(|uri| gateway.end_subscription(uri)).collect()
        };
        if uris.len() <= AT_ONCE {
            end(self, &uris);
            return;
        }
        let gateway = Arc::clone(self);
        self.fleet.tasks().spawn_background(async move {
            for some in uris.chunks(AT_ONCE) {
                let told = end(&gateway, some);
                let heard = async {
                    for answer in told {
                        let _ = answer.await;
                    }
                };
                let _ = timeout(PATIENCE, heard).await;
            }
        });
    }

    fn end_subscription(&self, uri: &str) -> Vec<oneshot::Receiver<Reply>> {
        let catalog = self.catalog.load();
        let owner = match catalog.resource(uri) {
            ResourceOwner::One(route) => self.leave_resource(catalog.member(route.member), &route.original),
            ResourceOwner::Perhaps(_) => None,
        };
        // A server may have taken it when the lists were others.
        let takers = takers(&catalog, uri).filter_map(|at| self.leave_resource(catalog.member(at), uri));
        owner.into_iter().chain(takers).collect()
    }

    /// Unsubscribes from a server's resource unless some client wants it. What it says to that matters to nobody.
    fn leave_resource(&self, member: &Member, original: &str) -> Option<oneshot::Receiver<Reply>> {
        if !self.drop_unwanted(member, original) || member.upstream.status().phase != Phase::Ready {
            return None;
        }
        let mut call = Call::new(Method::ResourcesUnsubscribe, None);
        call.set_param("uri", Raw::string(original));
        let (exchange, answer) = Exchange::answered();
        member.upstream.send(call, exchange);
        Some(answer)
    }

    /// Lets a subscription stand no longer unless some client wants it. Returns whether it fell.
    pub(super) fn drop_unwanted(&self, member: &Member, original: &str) -> bool {
        // Namespaces that share a server share its subscriptions.
        let unwanted = !member.users.gateways().iter().any(|gateway| gateway.wants(&member.key, original));
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
        self.clients.has_subscribers(Topic::Resource, &exposed)
    }
}
