//! Resources: found by address, listed or not.

use std::collections::VecDeque;
use std::sync::Arc;

use manifold_config::Sharing;
use manifold_protocol::{Call, Failure, Fault, Kind, Method, Raw};

use super::{Gateway, subscriptions};
use crate::catalog::{Catalog, ResourceOwner};
use crate::changes::Topic;
use crate::exchange::{AnswerStep, Exchange};
use crate::policy;
use crate::router;

/// The search for a resource nobody lists.
struct Search {
    catalog: Arc<Catalog>,
    members: VecDeque<usize>,
    uri: String,
    call: Call,
    /// The first refusal that says more than "not found".
    refusal: Option<Failure>,
    tried: bool,
}

impl Gateway {
    pub(super) fn resource(self: &Arc<Self>, call: Call, exchange: Exchange, asked: bool) {
        let Some(uri) = call.text_param("uri") else {
            return exchange.fail(Fault::InvalidParams("`uri` must be the address of a resource".to_owned()));
        };
        let catalog = self.catalog.load_full();
        let owner = match call.method {
            Method::ResourcesUnsubscribe => subscriptions::owner(&catalog, &uri),
            _ => catalog.resource(&uri),
        };
        match owner.shown_to(exchange.principal()) {
            ResourceOwner::One(route) => {
                let refusal = policy::refusal(exchange.principal(), route.decisions, Kind::Resources, &uri);
                // What was begun may be ended, whatever the rules have come to since.
                if let Some(fault) = refusal.filter(|_| call.method != Method::ResourcesUnsubscribe) {
                    return exchange.fail(fault);
                }
                self.send_resource(&catalog, route.member, &route.original, &uri, call, exchange);
            }
            ResourceOwner::Perhaps(members) if asked => {
                let search =
                    Search { catalog, members: members.into(), uri, call, refusal: None, tried: false };
                self.search(search, exchange);
            }
            ResourceOwner::Perhaps(_) => {
                self.with_listings(exchange, move |gateway, exchange| gateway.resource(call, exchange, true));
            }
        }
    }

    /// Asks each server that may know an unlisted resource; the first success counts.
    fn search(self: &Arc<Self>, mut search: Search, exchange: Exchange) {
        let Some(next) = search.members.pop_front() else {
            return match search.refusal {
                Some(failure) => exchange.finish(Err::<Raw, _>(failure)),
                None => {
                    exchange.note_refusal(|| self.why_denied(Kind::Resources, &search.uri));
                    exchange.fail(Fault::UnknownResource(search.uri));
                }
            };
        };
        let (catalog, uri, call) = (Arc::clone(&search.catalog), search.uri.clone(), search.call.clone());
        // The word of the only one that may know is the answer, whatever it is.
        let is_only = search.members.is_empty() && !search.tried;
        search.tried = true;
        let gateway = Arc::clone(self);
        let attempt = if is_only {
            exchange
        } else {
            exchange.then(move |reply, outer| match reply {
                Ok(_) => outer.finish(reply),
                Err(failure) => {
                    // "I do not know it" says less than any other refusal.
                    if !is_not_found(&failure) {
                        search.refusal.get_or_insert(failure);
                    }
                    gateway.search(search, outer);
                }
            })
        };
        self.send_resource(&catalog, next, &uri, &uri, call, attempt);
    }

    fn send_resource(
        self: &Arc<Self>,
        catalog: &Catalog,
        at: usize,
        original: &str,
        exposed: &str,
        mut call: Call,
        mut exchange: Exchange,
    ) {
        let member = catalog.member(at);
        exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
        if original != exposed {
            call.set_param("uri", Raw::string(original));
            let (original, exposed) = (original.to_owned(), exposed.to_owned());
            let step = AnswerStep::RenameContents { original: original.clone(), exposed: exposed.clone() };
            exchange = exchange.then_step(step, move |reply, outer| {
                outer.finish(reply.map(|answer| {
                    answer.map(|result| router::rename_contents(&result, &original, &exposed))
                }));
            });
        }
        let exchange = match call.method {
            Method::ResourcesSubscribe => {
                match self.subscribing(member, original, exposed, exchange) {
                    Some(exchange) => exchange,
                    // Nobody is left to be told.
                    None => return,
                }
            }
            Method::ResourcesUnsubscribe => {
                if let Some(id) = exchange.client() {
                    self.clients.unsubscribe(id, Topic::Resource, exposed);
                }
                // An instance that is the client's own is told whoever else wants it of others.
                let is_shared =
                    member.server.as_ref().is_none_or(|server| server.shared != Sharing::PerClient);
                if !self.drop_unwanted(member, original) && is_shared {
                    return exchange.finish(Ok(Raw::from_static("{}")));
                }
                exchange
            }
            _ => exchange,
        };
        member.upstream.send(call, exchange);
    }
}

fn is_not_found(failure: &Failure) -> bool {
    match failure {
        Failure::Peer(error) => {
            error.get("code").is_some_and(|code| matches!(code.as_str(), "-32002" | "-32601" | "-32602"))
        }
        Failure::Fault(fault) => matches!(fault, Fault::UnknownMethod(_)),
    }
}
