//! Seed S2's simple JSON API: one POST, one answer, no session.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use manifold_engine::{Direction, FrameStatus, Gateway, Link, Tap};
use manifold_protocol::dialect::legacy::{self, InitializeReply};
use manifold_protocol::envelope::{self, Incoming, Message, Refusal};
use manifold_protocol::{Call, Failure, Fault, Id, Method, Outgoing, Raw, RawObject, Revision};
use tracing::debug;

use super::answers::{self, bare, json};
use super::body::Body;
use super::granted::{self, Closed};
use super::peer::Origin;
use super::shared::Shared;
use super::site::Site;
use crate::one_shot::ask_as;
use crate::session::refusal_fault;
use crate::tap::tap;

/// Answers a POST of plain JSON-RPC to a namespace, without handshake or session (S2-6).
pub(super) async fn call(
    head: &Parts,
    body: Bytes,
    namespace: &str,
    origin: Origin<'_>,
    shared: &Shared,
) -> Response<Body> {
    let site = &shared.site;
    let Some(gateway) = &site.namespaces.find(Some(namespace)) else {
        return no_namespace(namespace, envelope::parse(body).ok());
    };
    match granted::enter(head, gateway, origin.requester, shared) {
        Ok(()) => {}
        Err(Closed::Hidden) => return no_namespace(namespace, envelope::parse(body).ok()),
        Err(Closed::Scope(response)) => return *response,
    }
    let tap = gateway.traffic().is_watched().then(|| Arc::new(tap(gateway, Some(origin.peer.client))));
    if let Some(tap) = &tap {
        tap.heard(&body);
    }
    let incoming = envelope::parse(body);
    let refused =
        incoming.as_ref().ok().and_then(|one| granted::refuse(head, one, gateway, origin.requester, shared));
    if let Some(response) = refused {
        return response;
    }
    match incoming {
        Err(refusal) => json(StatusCode::BAD_REQUEST, refuse(site, &refusal)),
        Ok(Incoming::One(message)) => {
            let _entered = match origin.peer.begin(usize::from(matches!(message, Message::Request { .. }))) {
                Ok(entered) => entered,
                Err(fault) => return answers::over_limit(&fault, shared.site.codes),
            };
            match begin(site, gateway, origin, message, tap.as_ref()) {
                Some(answer) => match answer.await {
                    Answered::Served(answer) => json(StatusCode::OK, answer),
                    Answered::Busy(answer, after) => answers::busy(answer, after),
                },
                None => bare(StatusCode::ACCEPTED),
            }
        }
        Ok(Incoming::Batch(messages)) => answer_batch(gateway, origin, messages, shared, tap.as_ref()).await,
    }
}

async fn answer_batch(
    gateway: &Arc<Gateway>,
    origin: Origin<'_>,
    messages: Vec<Result<Message, Refusal>>,
    shared: &Shared,
    tap: Option<&Arc<Tap>>,
) -> Response<Body> {
    let site = &shared.site;
    let requests = messages.iter().filter(|one| matches!(one, Ok(Message::Request { .. })));
    let _entered = match origin.peer.begin(requests.count()) {
        Ok(entered) => entered,
        Err(fault) if !fault.is_busy() => {
            let error = envelope::error(None, &fault.to_error(site.codes));
            return json(StatusCode::BAD_REQUEST, error);
        }
        Err(fault) => return answers::over_limit(&fault, site.codes),
    };
    // All are on their way before the first is waited for.
    let begun: Vec<_> = messages
        .into_iter()
        .map(|one| one.map(|message| begin(site, gateway, origin, message, tap)))
        .collect();
    let mut array = BytesMut::new();
    for one in begun {
        let answer = match one {
            Ok(None) => continue,
            Ok(Some(answer)) => answer.await.into_message(),
            Err(refusal) => refuse(site, &refusal).into(),
        };
        array.put_u8(if array.is_empty() { b'[' } else { b',' });
        answer.pieces().for_each(|piece| array.put_slice(piece));
    }
    if array.is_empty() {
        return bare(StatusCode::ACCEPTED);
    }
    array.put_u8(b']');
    json(StatusCode::OK, array.freeze())
}

/// What a request is answered with.
enum Answered {
    Served(Outgoing),
    /// It says to ask again after so many seconds.
    Busy(Outgoing, u64),
}

impl Answered {
    fn message(&self) -> &Outgoing {
        match self {
            Self::Served(message) | Self::Busy(message, _) => message,
        }
    }

    fn into_message(self) -> Outgoing {
        match self {
            Self::Served(message) | Self::Busy(message, _) => message,
        }
    }
}

/// Sends a request on its way at once; the future is its answer. Other messages have none.
fn begin(
    site: &Site,
    gateway: &Arc<Gateway>,
    origin: Origin<'_>,
    message: Message,
    tap: Option<&Arc<Tap>>,
) -> Option<impl Future<Output = Answered> + use<>> {
    let Message::Request { id, method, params } = message else { return None };
    debug!(method = method.as_str(), "request");
    let call = Call::new(method.into(), params);
    let begun = match call.method {
        Method::Initialize => Ok(initialize(gateway, &call)),
        _ => {
            let number = tap.and_then(|tap| tap.number_of(&id));
            Err(ask_as(gateway, call, Some(origin.peer.client), origin.requester, number))
        }
    };
    let (codes, tap) = (site.codes, tap.cloned());
    Some(async move {
        let reply = match begun {
            Ok(introduction) => Ok(introduction.into()),
            Err(answer) => answer.await,
        };
        let answered = match reply {
            Ok(answer) => Answered::Served(legacy::answer(&id, &answer)),
            Err(Failure::Peer(error)) => {
                Answered::Served(envelope::error(Some(&id), &legacy::error(&error)).into())
            }
            Err(Failure::Fault(fault)) => {
                if let (Some(tap), Fault::TimedOut { .. }) = (&tap, &fault) {
                    tap.note(Direction::In, &id, FrameStatus::Timeout);
                }
                let message = envelope::error(Some(&id), &fault.to_error(codes)).into();
                match fault.is_busy() {
                    true => Answered::Busy(message, fault.retry_after_secs().unwrap_or(1)),
                    false => Answered::Served(message),
                }
            }
        };
        if let Some(tap) = tap {
            tap.said(answered.message(), Link::default());
        }
        answered
    })
}

/// Answers a handshake nobody needs here (decision 19), for clients that make one all the same.
fn initialize(gateway: &Arc<Gateway>, call: &Call) -> Raw {
    let introduction = gateway.introduction();
    InitializeReply {
        revision: Revision::negotiate(&call.text_param("protocolVersion").unwrap_or_default()),
        name: &introduction.name,
        version: &introduction.version,
        instructions: introduction.instructions.as_deref(),
        echoed: &[],
    }
    .encode()
}

/// S2-15: the one error with a code of HTTP's.
fn no_namespace(namespace: &str, incoming: Option<Incoming>) -> Response<Body> {
    let id: Option<Id> = match incoming {
        Some(Incoming::One(Message::Request { id, .. })) => Some(id),
        _ => None,
    };
    let mut error = RawObject::default();
    error.set("code", Raw::number(404));
    error.set("message", Raw::string(&format!("Schema '{namespace}' not found or disabled")));
    json(StatusCode::NOT_FOUND, envelope::error(id.as_ref(), &error.into_raw()))
}

fn refuse(site: &Site, refusal: &Refusal) -> Bytes {
    envelope::error(refusal.id.as_ref(), &refusal_fault(refusal).to_error(site.codes))
}
