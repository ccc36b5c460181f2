//! One server alone, for the other replicas: where it runs at one of several gateways, they reach it here.

use std::sync::Arc;

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use manifold_protocol::envelope;

use super::admission::Entry;
use super::answers::problem;
use super::body::Body;
use super::forward::is_by_replica;
use super::modern::{self, Sender};
use super::peer::{Origin, Peer};
use super::shared::Shared;
use crate::replica::SERVERS;

/// Lets another replica in to the servers that run here. What clients are asked for is not asked for: it is no client's
/// request, but one that the other has let in.
pub(super) fn admit(head: &Parts, peer: &Peer, shared: &Shared) -> Option<Entry> {
    let is_wanted = head.method == Method::POST && head.uri.path().starts_with(SERVERS);
    let is_let_in = is_wanted && is_by_replica(&head.headers, shared.site.replica.as_deref()?);
    is_let_in.then(|| Entry::In(shared.site.admission.admit_gateway(peer.address)))
}

/// Answers a request of another replica; `None` where it is none.
pub(super) async fn answer(
    head: &Parts,
    body: Bytes,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Option<Response<Body>> {
    let path = head.uri.path();
    let replica = shared.site.replica.as_deref().filter(|_| path.starts_with(SERVERS))?;
    if !is_by_replica(&head.headers, replica) {
        return None;
    }
    let served = shared.site.namespaces.served();
    let Some(gateway) = served.alone.get(path) else {
        return Some(problem(StatusCode::NOT_FOUND, "no such server is run for other replicas here"));
    };
    let seen = gateway.traffic().is_watched().then(|| body.clone());
    let incoming = match envelope::parse(body) {
        Ok(incoming) => incoming,
        Err(refusal) => return Some(modern::refuse(&refusal)),
    };
    // Behind one connection there are many clients, and none of them may hear what another's call is asked (H3): here each
    // call is a client of its own.
    let peer = Peer::new(origin.peer.address, &shared.site);
    let origin = Origin { peer: &peer, ..origin };
    let sender = Sender { head, gateway, namespace: Some(path), origin, seen: seen.as_ref() };
    let answered = modern::post(sender, incoming, false, shared).await;
    Some(answered.unwrap_or_else(|_| problem(StatusCode::BAD_REQUEST, "replicas speak without sessions")))
}
