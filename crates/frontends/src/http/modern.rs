//! The same endpoint for clients without sessions: every POST is whole in itself, and its answer ends it.

mod headers;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ALLOW, AUTHORIZATION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Response, StatusCode};
use manifold_engine::{Gateway, Principal, Requester};
use manifold_protocol::dialect::modern;
use manifold_protocol::envelope::{Incoming, Message, Refusal};
use manifold_protocol::{Fault, Id, Method, Raw, Revision};

use super::accepts::{Accepts, PLAIN_PATIENCE};
use super::answers::{self, bare, json, streaming};
use super::body::Body;
use super::modern_lane::{self, First, Guard, LaneBody, PostLane};
use super::peer::Origin;
use super::shared::Shared;
use super::standing::Standing;
use crate::modern::{Request, Seen, Verdict, refusal};
use crate::session::refusal_fault;
use crate::tap::tap;

/// Whether anybody knows a method may take asking around; a stream would have to say before that it is known.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(10);

/// Returns whether a request names a revision in its header that has no sessions, or that nobody knows.
pub(super) fn is_named(headers: &HeaderMap) -> bool {
    let version = headers.get(modern::headers::VERSION);
    version.is_some_and(|version| version.to_str().ok().and_then(Revision::parse).is_none())
}

/// Who sent a request, and where it came in.
#[derive(Clone, Copy)]
pub(super) struct Sender<'r> {
    pub(super) head: &'r Parts,
    pub(super) gateway: &'r Arc<Gateway>,
    pub(super) namespace: Option<&'r str>,
    pub(super) origin: Origin<'r>,
    /// The message, where anybody watches.
    pub(super) seen: Option<&'r Bytes>,
}

/// Answers what is of this era; gives back what belongs to a session.
pub(super) async fn post(
    sender: Sender<'_>,
    incoming: Incoming,
    has_session: bool,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Incoming> {
    let is_named = is_named(&sender.head.headers) && !has_session;
    match incoming {
        // What the body says counts; a header may be anybody's.
        Incoming::One(Message::Request { id, method, params })
            if modern::version_of(params.as_ref()).is_some()
                || (is_named && method.as_str() != "initialize") =>
        {
            Ok(request(sender, id, method.into(), params, shared).await)
        }
        Incoming::One(Message::Notification { .. }) if is_named => Ok(bare(StatusCode::ACCEPTED)),
        Incoming::One(Message::Response { .. }) if is_named => {
            Ok(bad_request(None, &Fault::InvalidRequest("nobody was asked anything".to_owned())))
        }
        Incoming::Batch(_) if is_named => {
            Ok(bad_request(None, &Fault::InvalidRequest("a body is one message".to_owned())))
        }
        rest => Err(rest),
    }
}

async fn request(
    sender: Sender<'_>,
    id: Id,
    method: Method,
    params: Option<Raw>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let Sender { head, gateway, namespace, origin, seen } = sender;
    let (headers, Origin { peer, requester, .. }) = (&head.headers, origin);
    if let Err(fault) = headers::check(headers, &method, params.as_ref(), gateway, &requester.principal) {
        return bad_request(Some(&id), &fault);
    }
    let accepts = Accepts::of(headers);
    let is_listening = method == Method::Listen;
    let patience = match (&method, accepts) {
        (Method::Listen, _) => Some(PLAIN_PATIENCE),
        (_, Accepts::JsonOnly) => None,
        (Method::Other(_), _) => Some(UNKNOWN_PATIENCE),
        (_, Accepts::JsonFirst | Accepts::EventsFirst) => Some(PLAIN_PATIENCE),
    };
    let entered = match if is_listening { peer.listen() } else { peer.begin(1) } {
        Ok(entered) => entered,
        Err(fault) => return answers::busy(refusal(Some(&id), &fault), 1),
    };
    let over = is_listening
        .then(|| Standing::of(headers, head.uri.path(), origin, (gateway, requester), shared).over());
    let lane = PostLane::new(patience.is_some(), &peer.budget);
    let (requester, entrance) = (Arc::clone(requester), entrance(headers, namespace, requester));
    let seen = seen.map(|message| Seen::new(tap(gateway, Some(peer.client)), message.clone()));
    let request = Request { id, method, params, requester, entrance, client: peer.client, seen };
    // A client that hangs up takes its request back, whether it waits for a stream or for a plain answer.
    let guard = Guard::new(shared.modern.serve(gateway, request, Arc::clone(&lane) as _), entered);
    match lane.first(patience).await {
        // Whoever would rather have a stream gets one, unless the status must say more.
        First::Answer(Verdict::Served, answer) if accepts == Accepts::EventsFirst => {
            streaming(Body::whole(modern_lane::encode([answer.into_bytes()].into_iter())))
        }
        First::Answer(Verdict::Busy(after), answer) => answers::busy(answer, after),
        First::Answer(verdict, answer) => {
            let mut response = json(status(verdict), answer);
            response.body_mut().owe_to(&peer.budget);
            response
        }
        First::Refused => answers::overloaded(peer.budget.limit_bytes(), shared.site.codes),
        First::Stream => streaming(Body::lane(LaneBody::new(lane, guard).until(over.flatten()))),
    }
}

/// Answers a text that is no message.
pub(super) fn refuse(refusal: &Refusal) -> Response<Body> {
    bad_request(refusal.id.as_ref(), &refusal_fault(refusal))
}

/// Answers methods of HTTP's that only sessions need.
pub(super) fn only_post() -> Response<Body> {
    let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

fn bad_request(id: Option<&Id>, fault: &Fault) -> Response<Body> {
    json(StatusCode::BAD_REQUEST, refusal(id, fault))
}

fn status(verdict: Verdict) -> StatusCode {
    match verdict {
        Verdict::Served => StatusCode::OK,
        Verdict::BadRequest => StatusCode::BAD_REQUEST,
        Verdict::UnknownMethod => StatusCode::NOT_FOUND,
        Verdict::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// Says where a request came in and by which credential. Somebody whom an authorization server vouches for is the same with
/// the next token.
fn entrance(headers: &HeaderMap, namespace: Option<&str>, who: &Requester) -> Vec<u8> {
    let mut entrance = namespace.map_or_else(Vec::new, |namespace| format!("/{namespace}").into_bytes());
    entrance.push(0);
    let is_user = matches!(who.principal, Principal::User(_));
    if let Some(credential) = headers.get(AUTHORIZATION).filter(|_| !is_user) {
        entrance.extend_from_slice(credential.as_bytes());
    }
    entrance
}
