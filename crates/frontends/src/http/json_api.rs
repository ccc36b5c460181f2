//! Seed S2's simple JSON API: one POST, one answer, no session.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use hyper::{Response, StatusCode};
use manifold_engine::{Exchange, Flight, Gateway, Sink};
use manifold_protocol::dialect::legacy::{self, InitializeReply};
use manifold_protocol::envelope::{self, Incoming, Message, Refusal};
use manifold_protocol::{Call, Caller, Failure, Fault, Id, Method, Parcel, Raw, RawObject, Reply, Revision};
use tokio::sync::oneshot;
use tracing::{debug, error};

use super::body::{Body, bare, json};
use super::{Shared, Site};
use crate::session::refusal_fault;

/// S2-6.
pub(super) async fn call(body: Bytes, namespace: &str, shared: &Shared) -> Response<Body> {
    let site = &shared.site;
    let incoming = envelope::parse(body);
    let Some(gateway) = &site.rooms.find(Some(namespace)) else {
        return no_namespace(namespace, incoming.ok());
    };
    match incoming {
        Err(refusal) => json(StatusCode::BAD_REQUEST, refuse(site, &refusal)),
        Ok(Incoming::One(message)) => match begin(site, gateway, message) {
            Some(answer) => json(StatusCode::OK, answer.await),
            None => bare(StatusCode::ACCEPTED),
        },
        Ok(Incoming::Batch(messages)) => answer_batch(site, gateway, messages).await,
    }
}

async fn answer_batch(
    site: &Site,
    gateway: &Arc<Gateway>,
    messages: Vec<Result<Message, Refusal>>,
) -> Response<Body> {
    // All are on their way before the first is waited for.
    let begun: Vec<_> =
        messages.into_iter().map(|one| one.map(|message| begin(site, gateway, message))).collect();
    let mut array = BytesMut::new();
    for one in begun {
        let answer = match one {
            Ok(None) => continue,
            Ok(Some(answer)) => answer.await,
            Err(refusal) => refuse(site, &refusal).into(),
        };
        array.put_u8(if array.is_empty() { b'[' } else { b',' });
        answer.pieces().into_iter().for_each(|piece| array.put(piece));
    }
    if array.is_empty() {
        return bare(StatusCode::ACCEPTED);
    }
    array.put_u8(b']');
    json(StatusCode::OK, array.freeze())
}

/// Sends a request on its way at once; the future is its answer. Other messages have none.
fn begin(
    site: &Site,
    gateway: &Arc<Gateway>,
    message: Message,
) -> Option<impl Future<Output = Parcel> + use<>> {
    let Message::Request { id, method, params } = message else { return None };
    debug!(method = method.as_str(), "request");
    let call = Call::new(method.into(), params).by(Arc::new(nobody()));
    let (sender, reply) = oneshot::channel();
    let waiting = Waiting { reply: Mutex::new(Some(sender)), gateway: Arc::clone(gateway) };
    let (exchange, flight) = Exchange::open(waiting);
    // A client that hangs up has no other way to say that it no longer wants to know.
    let guard = CancelOnDrop(Some(flight));
    if call.method == Method::Initialize {
        exchange.finish(Ok(initialize(gateway, &call)));
    } else if catch_unwind(AssertUnwindSafe(|| gateway.dispatch(call, exchange))).is_err() {
        // It broke this call alone: its exchange answered as it was dropped (F29).
        error!("a call panicked; it was answered with an internal error");
    }
    let codes = site.codes;
    Some(async move {
        let reply =
            reply.await.unwrap_or_else(|_| Err(Fault::Internal("the answer was lost".to_owned()).into()));
        guard.disarm();
        match reply {
            Ok(answer) => legacy::answer(&id, &answer),
            Err(Failure::Peer(error)) => envelope::error(Some(&id), &legacy::error(&error)).into(),
            Err(Failure::Fault(fault)) => envelope::error(Some(&id), &fault.to_error(codes)).into(),
        }
    })
}

/// Returns who asks here: somebody who says nothing of itself and cannot be asked anything.
fn nobody() -> Caller {
    Caller {
        capabilities: Raw::from_static("{}"),
        info: None,
        log_level: None,
        comes_back: false,
        is_back: false,
    }
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

struct Waiting {
    reply: Mutex<Option<oneshot::Sender<Reply>>>,
    gateway: Arc<Gateway>,
}

impl Sink for Waiting {
    fn ask(&self, call: Call, exchange: Exchange) {
        self.gateway.decline(&call, exchange);
    }

    fn reply(&self, reply: Reply) {
        let waiting = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            // The client hung up meanwhile.
            let _ = waiting.send(reply);
        }
    }
}

/// Takes the call back if the client hangs up before it is answered.
struct CancelOnDrop(Option<Arc<Flight<dyn Sink>>>);

impl CancelOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(flight) = self.0.take() {
            flight.cancel(None);
        }
    }
}
