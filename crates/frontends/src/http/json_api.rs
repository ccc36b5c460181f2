//! Seed S2's simple JSON API: one POST, one answer, no session.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, BytesMut};
use manifold_engine::{Exchange, Flight, Gateway, Sink};
use manifold_protocol::dialect::legacy::InitializeReply;
use manifold_protocol::envelope::{self, Incoming, Message, Refusal, RefusalKind};
use manifold_protocol::{Call, Failure, Fault, Id, Method, Raw, RawObject, Reply, Revision};
use tokio::sync::oneshot;

use super::{Site, json};

/// S2-2.
pub(super) async fn health(State(site): State<Arc<Site>>) -> Response {
    let mut body = RawObject::default();
    body.set("status", Raw::from_static(r#""ok""#));
    body.set(
        "timestamp",
        Raw::string(&jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
    );
    let millis = site.started.elapsed().as_millis() as f64;
    body.set("uptime", Raw::serialize(&(millis / 1000.0)));
    json(StatusCode::OK, body.into_raw().bytes())
}

/// S2-6.
pub(super) async fn call(
    State(site): State<Arc<Site>>,
    Path(namespace): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return too_large(&site, &rejection),
    };
    let incoming = envelope::parse(body);
    let Some(gateway) = site.namespaces.get(&namespace) else { return no_namespace(&namespace, incoming) };
    match incoming {
        Err(refusal) => json(StatusCode::BAD_REQUEST, refuse(&site, &refusal)),
        Ok(Incoming::One(message)) => match answer(&site, gateway, message).await {
            Some(body) => json(StatusCode::OK, body),
            None => StatusCode::ACCEPTED.into_response(),
        },
        Ok(Incoming::Batch(messages)) => {
            let mut array = BytesMut::new();
            for message in messages {
                let answer = match message {
                    Ok(message) => answer(&site, gateway, message).await,
                    Err(refusal) => Some(refuse(&site, &refusal)),
                };
                let Some(answer) = answer else { continue };
                array.put_u8(if array.is_empty() { b'[' } else { b',' });
                array.put_slice(&answer);
            }
            if array.is_empty() {
                return StatusCode::ACCEPTED.into_response();
            }
            array.put_u8(b']');
            json(StatusCode::OK, array.freeze())
        }
    }
}

async fn answer(site: &Site, gateway: &Arc<Gateway>, message: Message) -> Option<Bytes> {
    let Message::Request { id, method, params } = message else { return None };
    let call = Call::new(method.into(), params);
    let reply = match call.method {
        Method::Initialize => Ok(initialize(gateway, &call)),
        _ => {
            let (sender, reply) = oneshot::channel();
            let (exchange, flight) = Exchange::open(Waiting(Mutex::new(Some(sender))));
            let guard = CancelOnDrop(Some(flight));
            gateway.dispatch(call, exchange);
            let reply =
                reply.await.unwrap_or_else(|_| Err(Fault::Internal("the answer was lost".to_owned()).into()));
            guard.disarm();
            reply
        }
    };
    Some(match reply {
        Ok(result) => envelope::result(&id, &result),
        Err(Failure::Peer(error)) => envelope::error(Some(&id), &error),
        Err(Failure::Fault(fault)) => envelope::error(Some(&id), &fault.to_error(site.codes)),
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
fn no_namespace(namespace: &str, incoming: Result<Incoming, Refusal>) -> Response {
    let id: Option<Id> = match incoming {
        Ok(Incoming::One(Message::Request { id, .. })) => Some(id),
        _ => None,
    };
    let mut error = RawObject::default();
    error.set("code", Raw::number(404));
    error.set("message", Raw::string(&format!("Schema '{namespace}' not found or disabled")));
    json(StatusCode::NOT_FOUND, envelope::error(id.as_ref(), &error.into_raw()))
}

fn refuse(site: &Site, refusal: &Refusal) -> Bytes {
    let fault = match refusal.kind {
        RefusalKind::Parse | RefusalKind::Unfinished => Fault::Parse,
        RefusalKind::Invalid(why) => Fault::InvalidRequest(why.to_owned()),
    };
    envelope::error(refusal.id.as_ref(), &fault.to_error(site.codes))
}

fn too_large(site: &Site, rejection: &BytesRejection) -> Response {
    let fault = Fault::TooLarge { server: None, limit_bytes: site.limit_bytes };
    json(rejection.status(), envelope::error(None, &fault.to_error(site.codes)))
}

struct Waiting(Mutex<Option<oneshot::Sender<Reply>>>);

impl Sink for Waiting {
    fn reply(&self, reply: Reply) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
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
