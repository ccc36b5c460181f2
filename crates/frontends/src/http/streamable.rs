//! The standard MCP endpoint: Streamable HTTP for the revisions with sessions; what has none goes its own way.

mod lane;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method as HttpMethod, Response, StatusCode};
use manifold_engine::{Access, Gateway, Wish, add_transport};
use manifold_protocol::envelope::{self, Incoming, Message, Refusal};
use manifold_protocol::{Fault, Id, Revision};

use super::accepts::{Accepts, PLAIN_PATIENCE, accepts_events};
use super::answers::{self, bare, events, json};
use super::body::Body;
use super::forward;
use super::granted::{self, Closed};
use super::headers::SESSION_ID;
use super::modern;
use super::news;
use super::peer::Origin;
use super::resume;
use super::sealed;
use super::sessions::{Entrance, HttpSession, expects_answer};
use super::shared::Shared;
use super::standing::{Standing, closed_or_over};
use super::stream::{Stream, parse_event_id, priming};
use super::timeouts::UNREAD_PATIENCE;
use crate::replica::Replica;
use crate::session::{Outlet, refusal_fault};
use lane::{First, PostLane};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Answers at `/mcp` or `/mcp/{namespace}`.
pub(super) async fn answer(
    head: &Parts,
    body: Bytes,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let site = &shared.site;
    let found = site.namespaces.find(namespace);
    let entered = found.as_ref().map(|gateway| granted::enter(head, gateway, origin.requester, shared));
    let found = match entered {
        None | Some(Ok(())) => found,
        Some(Err(Closed::Hidden)) => None,
        Some(Err(Closed::Scope(response))) => return *response,
    };
    let Some(gateway) = found else {
        let plan = site.namespaces.served();
        let is_shown = |gateway: &Gateway| gateway.access(origin.requester, Wish::Enter) != Access::Hidden;
        let shown = plan.namespaces.iter().filter(|(_, gateway)| is_shown(gateway));
        let mut names: Vec<&str> = shown.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let what = namespace
            .map_or_else(|| "no namespace is selected".to_owned(), |id| format!("no namespace '{id}'"));
        return answers::problem(StatusCode::NOT_FOUND, &format!("{what}; there are: {}", names.join(", ")));
    };
    match head.method {
        HttpMethod::GET | HttpMethod::DELETE
            if modern::is_named(&head.headers)
                && !sealed::is_named(&head.headers, shared)
                && known_session(&head.headers, namespace, origin, shared).is_none() =>
        {
            modern::only_post()
        }
        HttpMethod::POST => post(head, body, &gateway, namespace, origin, shared).await,
        HttpMethod::GET => get(head, &gateway, namespace, origin, shared).await,
        HttpMethod::DELETE => delete(&head.headers, &gateway, namespace, origin, shared).await,
        _ => {
            let mut response = bare(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
            response
        }
    }
}

async fn post(
    head: &Parts,
    body: Bytes,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let accepts = Accepts::of(&head.headers);
    // Others may have to be given it.
    let linked = shared.site.replica.as_deref().filter(|replica| replica.link().is_some());
    let whole = linked.map(|replica| (replica, body.clone()));
    let seen = gateway.traffic().is_watched().then(|| body.clone());
    let mut incoming = match envelope::parse(body) {
        Ok(incoming) => incoming,
        Err(refusal) => return no_message(&refusal, &head.headers, shared),
    };
    if gateway.observers().is_tracing() {
        take_trace(&head.headers, &mut incoming);
    }
    if let Some(response) = granted::refuse(head, &incoming, gateway, origin.requester, shared) {
        return response;
    }
    if let Some((_, whole)) = &whole
        && let Some(response) = Box::pin(forward::elsewhere(head, whole, &incoming, shared)).await
    {
        return response;
    }
    let known = match known_session(&head.headers, namespace, origin, shared) {
        None if sealed::is_named(&head.headers, shared) => {
            match Box::pin(sealed::make_anew(&head.headers, gateway, namespace, origin, shared)).await {
                Ok(made) => made,
                Err(response) => return *response,
            }
        }
        known => known,
    };
    let sender = modern::Sender { head, gateway, namespace, origin, seen: seen.as_ref() };
    let incoming = match modern::post(sender, incoming, known.is_some(), shared).await {
        Ok(response) => return response,
        Err(incoming) => incoming,
    };
    let session = match head.headers.get(SESSION_ID) {
        Some(_) => match known {
            Some(session) => session,
            None => return unknown_session(shared),
        },
        None if is_initialize(&incoming) => {
            return initialize(incoming, seen, gateway, namespace, origin, shared).await;
        }
        None => return unnamed_session(shared),
    };
    if matches!(&incoming, Incoming::Batch(_))
        && !session.session.revision().is_some_and(Revision::has_batches)
    {
        let why = "batches exist in protocol revision 2025-03-26 only";
        return invalid(StatusCode::BAD_REQUEST, why, shared);
    }
    if let Some(response) = asked_elsewhere(&incoming, &session, shared) {
        return response;
    }
    let wish = whole.as_ref().and_then(|_| news::wish_of(&incoming));
    if let Some((replica, _)) = &whole {
        news::tell_cancelled(&incoming, &session, replica);
    }
    if let Some(seen) = &seen {
        session.session.show_heard(seen);
    }
    if !expects_answer(&incoming) {
        session.session.receive_on(incoming, &(Arc::clone(&session.general) as Arc<dyn Outlet>));
        return bare(StatusCode::ACCEPTED);
    }
    if session.budget.is_stuck(UNREAD_PATIENCE) {
        return answers::overloaded(session.budget.limit_bytes(), shared.site.codes);
    }
    let answers = if whole.is_some() { ids_of(&incoming) } else { Vec::new() };
    let lane = PostLane::answering(Arc::clone(&session), accepts != Accepts::JsonOnly, answers);
    let outlet = Arc::clone(&lane) as Arc<dyn Outlet>;
    let (outlet, granted) = match &wish {
        Some(_) => {
            let (judging, granted) = news::judging(outlet);
            (judging, Some(granted))
        }
        None => (outlet, None),
    };
    session.session.receive_on(incoming, &outlet);
    drop(outlet);
    let patience = match accepts {
        Accepts::EventsFirst => Some(Duration::ZERO),
        Accepts::JsonFirst => Some(PLAIN_PATIENCE),
        Accepts::JsonOnly => None,
    };
    let first = lane.first(patience).await;
    if let (Some(wish), Some(granted), Some(replica)) = (wish, granted, &shared.site.replica) {
        let (noting, noted) = (Arc::clone(&session), Arc::clone(replica));
        let note = async move {
            if granted.await == Ok(true) {
                news::note(wish, &noting, &noted).await;
            }
        };
        match &first {
            // Its client may ask elsewhere next.
            First::Answer(_) => Box::pin(note).await,
            _ => replica.tasks.spawn_background(note),
        }
    }
    let response = match first {
        First::Answer(answer) => json(StatusCode::OK, answer),
        First::Nothing => bare(StatusCode::ACCEPTED),
        First::TurnedAway(answer, after) => answers::busy(answer, after),
        First::Refused => answers::overloaded(session.budget.limit_bytes(), shared.site.codes),
        First::Stream(stream) => events_of(&stream, &session),
    };
    // A call may have taken long; what follows within a minute finds the session still there.
    if accepts == Accepts::JsonOnly {
        session.touch();
    }
    with_session(response, &session)
}

/// Gives a request the trace that its head belongs to. In the message itself another may be named, which counts more.
#[cold]
fn take_trace(headers: &HeaderMap, incoming: &mut Incoming) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let (Some(parent), Incoming::One(Message::Request { params, .. })) = (text("traceparent"), incoming) {
        *params = add_transport(params.take(), parent, text("tracestate"));
    }
}

/// Opens a session: it exists only once its handshake has succeeded.
async fn initialize(
    incoming: Incoming,
    seen: Option<Bytes>,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let Some(session) = sealed::prepare(&incoming, gateway, namespace, origin, shared) else {
        return answers::problem(StatusCode::SERVICE_UNAVAILABLE, "no session id could be made");
    };
    if let Some(seen) = &seen {
        session.session.show_heard(seen);
    }
    let lane = PostLane::new(Arc::clone(&session), false);
    session.session.receive_on(incoming, &(Arc::clone(&lane) as Arc<dyn Outlet>));
    let First::Answer(answer) = lane.first(None).await else { return bare(StatusCode::ACCEPTED) };
    let response = json(StatusCode::OK, answer);
    if session.session.revision().is_none() {
        session.session.close();
        return response;
    }
    if let Err(fault) = shared.sessions.add(&session) {
        session.session.close();
        return answers::over_limit(&fault, shared.site.codes);
    }
    shared.let_be_ended(&session);
    with_session(response, &session)
}

async fn get(
    head: &Parts,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let headers = &head.headers;
    if !accepts_events(headers) {
        return answers::problem(StatusCode::NOT_ACCEPTABLE, "Accept must include text/event-stream");
    }
    if headers.get(SESSION_ID).is_none() {
        return unnamed_session(shared);
    }
    let session = match find_session(headers, gateway, namespace, origin, shared).await {
        Ok(Some(session)) => session,
        Ok(None) => return unknown_session(shared),
        Err(response) => return *response,
    };
    let last_seen = headers.get(LAST_EVENT_ID).map(|id| id.to_str().ok().and_then(parse_event_id));
    // Whoever says a stream knows more of it than its log.
    if let Some(Some((number, _))) = last_seen
        && session.stream(number).is_none()
        && let Some(response) = Box::pin(forward::stream_elsewhere(head, number, shared)).await
    {
        return response;
    }
    let beat = Bytes::from_static(b":\n\n");
    let who = (gateway, session.requester());
    let standing = Standing::of(headers, head.uri.path(), origin, who, shared);
    let closing = closed_or_over(shared, standing);
    let reader = match session.listen() {
        Ok(reader) => reader,
        Err(fault) => return answers::over_limit(&fault, shared.site.codes),
    };
    let body = match last_seen {
        None => {
            resume::take_over(&session, None, shared).await;
            session.general.attach(session.general.last_taken(), beat, closing)
        }
        Some(Some((0, event))) => {
            resume::take_over(&session, Some(event), shared).await;
            // What another replica has said is no number of ours.
            let is_known = session.sid.is_none() || session.general.has_said(event);
            session.general.attach(if is_known { event } else { 0 }, beat, closing).holding()
        }
        Some(seen) => match find_stream(&session, seen, shared).await {
            Some((stream, event)) => stream.attach(event, beat, closing).holding(),
            // There is no such stream any more, and the session's own must not be taken for it.
            None => return bare(absent_stream(seen, shared)),
        },
    };
    with_session(events(body.on_end(move || drop(reader))), &session)
}

async fn delete(
    headers: &HeaderMap,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    match find_session(headers, gateway, namespace, origin, shared).await {
        Ok(Some(session)) => {
            shared.sessions.end(&session);
            if let Some(sid) = &session.sid {
                shared.tell_end(sid).await;
            }
            bare(StatusCode::NO_CONTENT)
        }
        Err(response) => *response,
        Ok(None) => invalid(StatusCode::NOT_FOUND, "the session is unknown or over", shared),
    }
}

/// Returns what is said of a stream that there is not: where its replica alone could go on with it and cannot be asked, the
/// client begins anew.
fn absent_stream(seen: Option<(u64, u64)>, shared: &Shared) -> StatusCode {
    let is_elsewhere = shared.site.replica.as_ref().is_some_and(|replica| {
        let owner = seen.and_then(|(number, _)| Replica::of_number(number));
        replica.link().is_none() && owner.is_some_and(|owner| owner != replica.number())
    });
    if is_elsewhere { StatusCode::NOT_FOUND } else { StatusCode::METHOD_NOT_ALLOWED }
}

/// Finds the stream that a client comes back for, here or at another replica.
async fn find_stream(
    session: &Arc<HttpSession>,
    seen: Option<(u64, u64)>,
    shared: &Shared,
) -> Option<(Arc<Stream>, u64)> {
    let (number, event) = seen?;
    match session.stream(number) {
        Some(stream) => Some((stream, event)),
        None => Some((Box::pin(resume::follow(session, number, event, shared)).await?, event)),
    }
}

/// Returns the ids of the requests that came in.
fn ids_of(incoming: &Incoming) -> Vec<Id> {
    let id = |message: &Message| match message {
        Message::Request { id, .. } => Some(id.clone()),
        _ => None,
    };
    match incoming {
        Incoming::One(message) => id(message).into_iter().collect(),
        Incoming::Batch(messages) => messages.iter().flatten().filter_map(id).collect(),
    }
}

/// Finds a session, or makes it anew where another replica knows it.
async fn find_session(
    headers: &HeaderMap,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Result<Option<Arc<HttpSession>>, Box<Response<Body>>> {
    match known_session(headers, namespace, origin, shared) {
        Some(session) => Ok(Some(session)),
        None => Box::pin(sealed::make_anew(headers, gateway, namespace, origin, shared)).await,
    }
}

/// Answers who answers a question that another replica asked.
fn asked_elsewhere(incoming: &Incoming, session: &HttpSession, shared: &Shared) -> Option<Response<Body>> {
    let replica = shared.site.replica.as_ref()?;
    let Incoming::One(Message::Response { id, .. }) = incoming else { return None };
    let asked_by = Replica::of_number(id.as_u64()?)?;
    if asked_by == replica.number() || session.session.is_asked(id) {
        return None;
    }
    let why = "another replica asked this, which cannot be reached from here; start the call again";
    Some(invalid(StatusCode::BAD_REQUEST, why, shared))
}

fn known_session(
    headers: &HeaderMap,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Shared,
) -> Option<Arc<HttpSession>> {
    let id = headers.get(SESSION_ID)?.to_str().ok()?;
    shared.sessions.get(id, &entrance(namespace), origin.requester)
}

fn entrance(namespace: Option<&str>) -> Entrance {
    Entrance::Mcp(namespace.map(str::to_owned))
}

/// Answers the rest of a call as a stream, whatever has come of it so far first.
fn events_of(stream: &Arc<Stream>, session: &HttpSession) -> Response<Body> {
    // Older clients would try to read the priming event as a message.
    let primes = session.session.revision() >= Some(Revision::V2025_11_25);
    let preamble = if primes { priming(stream.number()) } else { Bytes::from_static(b":\n\n") };
    events(stream.attach(0, preamble, std::future::pending()))
}

fn no_message(refusal: &Refusal, headers: &HeaderMap, shared: &Shared) -> Response<Body> {
    if modern::is_named(headers) {
        return modern::refuse(refusal);
    }
    let error = refusal_fault(refusal).to_error(shared.site.codes);
    json(StatusCode::BAD_REQUEST, envelope::error(refusal.id.as_ref(), &error))
}

fn unnamed_session(shared: &Shared) -> Response<Body> {
    invalid(StatusCode::BAD_REQUEST, "the Mcp-Session-Id header is missing; initialize first", shared)
}

fn unknown_session(shared: &Shared) -> Response<Body> {
    invalid(StatusCode::NOT_FOUND, "the session is unknown or over; initialize anew", shared)
}

fn invalid(status: StatusCode, why: &str, shared: &Shared) -> Response<Body> {
    let error = Fault::InvalidRequest(why.to_owned()).to_error(shared.site.codes);
    json(status, envelope::error(None, &error))
}

fn with_session(mut response: Response<Body>, session: &HttpSession) -> Response<Body> {
    response.headers_mut().insert(SESSION_ID, session.header.clone());
    response.body_mut().owe_to(&session.budget);
    response
}

fn is_initialize(incoming: &Incoming) -> bool {
    matches!(incoming, Incoming::One(Message::Request { method, .. }) if method.as_str() == "initialize")
}
