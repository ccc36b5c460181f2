//! The old HTTP+SSE transport (2024-11-05): one stream for everything the server says, POSTs for the client.

use std::sync::Arc;

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use manifold_protocol::envelope;

use super::answers::{self, bare, json};
use super::body::Body;
use super::granted::{self, Closed};
use super::peer::Origin;
use super::sessions::{Entrance, HttpSession, expects_answer};
use super::shared::Shared;
use super::standing::{Standing, closed_or_over};
use crate::session::{Outlet, refusal_fault};

/// Opens a session that lasts as long as its stream.
pub(super) fn open(
    head: &Parts,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let site = &shared.site;
    let unknown = || answers::problem(StatusCode::NOT_FOUND, "no such namespace");
    let Some(gateway) = site.namespaces.find(namespace) else { return unknown() };
    match granted::enter(head, &gateway, origin.requester, shared) {
        Ok(()) => {}
        Err(Closed::Hidden) => return unknown(),
        Err(Closed::Scope(response)) => return *response,
    }
    let Some(session) = HttpSession::new(site, &gateway, Entrance::OldSse, origin) else {
        return answers::problem(StatusCode::SERVICE_UNAVAILABLE, "no session id could be made");
    };
    let listening =
        match origin.peer.listen().and_then(|entered| shared.sessions.add(&session).map(|()| entered)) {
            Ok(entered) => entered,
            Err(fault) => return answers::over_limit(&fault, shared.site.codes),
        };
    shared.let_be_ended(&session);
    let endpoint = Bytes::from(format!("event: endpoint\ndata: /messages?sessionId={}\n\n", session.id));
    let standing =
        Standing::of(&head.headers, head.uri.path(), origin, (&gateway, session.requester()), shared);
    let (closed, answered) = (closed_or_over(shared, standing), Arc::clone(&session.session));
    let body = session.general.attach(0, endpoint, async move {
        closed.await;
        // Its answers come on this stream as well.
        answered.settled().await;
    });
    let (shared, id) = (Arc::downgrade(shared), session.id.clone());
    let mut response = answers::events(body.on_end(move || {
        drop(listening);
        if let Some(shared) = shared.upgrade() {
            shared.sessions.remove(&id);
        }
    }));
    response.body_mut().owe_to(&session.budget);
    response
}

/// Takes a message; whatever follows from it is said on the session's stream.
pub(super) fn post(head: &Parts, body: Bytes, origin: Origin<'_>, shared: &Arc<Shared>) -> Response<Body> {
    let query = head.uri.query().unwrap_or("");
    let id = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("sessionId=").or_else(|| pair.strip_prefix("session_id=")));
    let Some(session) = id.and_then(|id| shared.sessions.get(id, &Entrance::OldSse, origin.requester)) else {
        return answers::problem(StatusCode::NOT_FOUND, "the session is unknown or over; open /sse anew");
    };
    let seen = session.session.tap().is_on().then(|| body.clone());
    match envelope::parse(body) {
        Ok(incoming) => {
            let who = origin.requester;
            if let Some(response) = granted::refuse(head, &incoming, &session.gateway, who, shared) {
                return response;
            }
            // What a call is told it hears on the stream; that there is no room it hears at once.
            if let Some(fault) = session.session.is_full().filter(|_| expects_answer(&incoming)) {
                return answers::over_limit(&fault, shared.site.codes);
            }
            if let Some(seen) = &seen {
                session.session.show_heard(seen);
            }
            session.session.receive_on(incoming, &(Arc::clone(&session.general) as Arc<dyn Outlet>));
            bare(StatusCode::ACCEPTED)
        }
        Err(refusal) => {
            let error = refusal_fault(&refusal).to_error(shared.site.codes);
            json(StatusCode::BAD_REQUEST, envelope::error(refusal.id.as_ref(), &error))
        }
    }
}
