//! One connection: each request to its route, each answer with what holds for all of them.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use manifold_admin::{CommandError, Effect, ErrorCode, Method as Verb, Route};
use tokio::net::UnixStream;

use super::answer::{Answer, json, not_allowed, options, refusal};
use super::audit::Audited;
use super::peer::{Peer, Scope};
use super::request::{Asked, MAX_BODY_BYTES};
use super::route::{self, Found};
use super::{
    Office, access, ask, clients, config, daemon, events, items, later, logs, questions, recordings, servers,
    setup, traffic, web,
};

/// Says of which event an answer knows.
const EVENT: HeaderName = HeaderName::from_static("manifold-event");

/// What is kept for a connection before its other end reads it.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// What is read of somebody who has not been let in: a code.
const MAX_CODE_BYTES: usize = 4 << 10;

/// Answers whoever is at the other end of a connection to the control socket, until it leaves.
pub async fn serve(socket: UnixStream, office: Office) {
    let peer = Peer::of(&socket);
    serve_connection(TokioIo::new(socket), peer, office).await;
}

/// Answers a peer over any connection. What it asked for is taken back when it leaves.
pub async fn serve_connection(connection: impl Read + Write + Unpin, peer: Peer, office: Office) {
    let peer = Arc::new(peer);
    let answering = service_fn(move |request| {
        let (office, peer) = (office.clone(), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(answer(&office, &peer, request).await) }
    });
    // One that broke off has been told all it will be.
    let _ = hyper::server::conn::http1::Builder::new()
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(connection, answering)
        .await;
}

pub(super) async fn answer<B>(office: &Office, peer: &Arc<Peer>, request: Request<B>) -> Answer
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    // Looked at first: what happens meanwhile may be in the answer too, and nothing is left out.
    let at = office.control.cursor();
    let (answer, changes) = match route::find(request.method(), request.uri().path()) {
        Found::Route(route, name) => {
            (routed(office, peer, route, name, request).await, route.effect == Effect::Changes)
        }
        Found::NotAllowed(allow) if request.method() == Method::OPTIONS => (options(&allow), false),
        Found::NotAllowed(allow) => (not_allowed(&allow), false),
        Found::Unknown => (refusal(&unknown(request.uri().path())), false),
    };
    let at = if changes { office.control.cursor() } else { at };
    with_headers(answer, &at.to_string())
}

async fn routed<B>(
    office: &Office,
    peer: &Arc<Peer>,
    route: &'static Route,
    name: Option<String>,
    request: Request<B>,
) -> Answer
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    // What takes its time is not cut short for want of clients. Who only looks keeps nothing from ending.
    let holds = route.effect != Effect::Reads && !daemon::ends_it(route.path);
    let hold = holds.then(|| office.program.hold());
    let (head, body) = request.into_parts();
    let mut audited = Audited::begin(office, peer, route, &head.headers, name.as_deref());
    let read = async {
        access::check(peer, route)?;
        let max_bytes = if peer.scope == Scope::Nobody { MAX_CODE_BYTES } else { MAX_BODY_BYTES };
        Asked::read(head.headers, head.uri.query(), body, name, max_bytes).await
    };
    let asked = match read.await {
        Ok(asked) => asked,
        Err(error) => return ended(audited, refusal(&error)),
    };
    audited.note_body(&asked.body);
    if later::is_wanted(route, &asked) {
        let order = later::Order { office: office.clone(), peer: Arc::clone(peer), route, asked };
        return order.begin(audited, hold);
    }
    if daemon::ends_it(route.path) {
        audited.done_first();
    }
    let answer = handle(office, peer, route, &asked).await;
    ended(audited, answer.unwrap_or_else(|error| refusal(&error)))
}

/// Tells the audit what came of a request.
fn ended(audited: Audited, answer: Answer) -> Answer {
    audited.end(&answer);
    answer
}

/// Every route, and who answers it.
pub(super) async fn handle(
    office: &Office,
    peer: &Arc<Peer>,
    route: &Route,
    asked: &Asked,
) -> Result<Answer, CommandError> {
    match (route.method, route.path) {
        (Verb::Get, "/v1/about") => Ok(json(&office.program.about())),
        (Verb::Get, "/v1/snapshot") => Ok(json(&servers::snapshot(office))),
        (Verb::Get, "/v1/events") => events::stream(office, asked),
        (Verb::Get, "/v1/servers") => Ok(json(&servers::all(office))),
        (Verb::Get, "/v1/servers/{id}") => servers::one(office, asked),
        (Verb::Get, "/v1/servers/{id}/logs") => logs::read(office, asked).await,
        (Verb::Post, path) if path.starts_with("/v1/servers/{id}/") => {
            servers::order(office, peer, asked, path).await
        }
        (Verb::Get, "/v1/tools" | "/v1/resources" | "/v1/prompts") => {
            items::page(office, peer, asked, route.path).await
        }
        (Verb::Post, "/v1/call" | "/v1/read" | "/v1/prompt" | "/v1/complete") => {
            ask::ask(office, peer, asked, route.path).await
        }
        (Verb::Post, "/v1/questions/{id}") => questions::answer(office, asked),
        (Verb::Get, "/v1/clients") => Ok(json(&office.control.snapshot().clients)),
        (Verb::Get, "/v1/clients/{id}") => clients::one(office, asked),
        (Verb::Delete, "/v1/clients/{id}") => clients::disconnect(office, asked).await,
        (Verb::Get, "/v1/namespaces") => Ok(json(&office.control.snapshot().namespaces)),
        (Verb::Get, "/v1/permissions") => clients::permissions(office, asked),
        (Verb::Put, "/v1/permissions") => config::permit(office, peer, asked).await,
        (Verb::Get, "/v1/config") => config::read(office).await,
        (Verb::Post, "/v1/config/check") => config::check(office, asked).await,
        (Verb::Put, "/v1/config") => config::write(office, peer, asked).await,
        (Verb::Put, "/v1/config/servers/{id}") => config::put_server(office, peer, asked).await,
        (Verb::Delete, "/v1/config/servers/{id}") => config::remove_server(office, peer, asked).await,
        (Verb::Post, "/v1/config/servers/{id}/rename") => config::rename_server(office, peer, asked).await,
        (Verb::Get, "/v1/traffic") => traffic::stream(office, peer, asked),
        (Verb::Get, "/v1/recordings") => recordings::list(office).await,
        (Verb::Post, "/v1/recordings") => recordings::start(office, asked).await,
        (Verb::Get, "/v1/recordings/{id}") => recordings::export(office, peer, asked).await,
        (Verb::Delete, "/v1/recordings/{id}") => recordings::stop(office, asked).await,
        (Verb::Post, "/v1/web/session") => web::session(office, asked),
        (Verb::Post, "/v1/web/token") => web::token(office, asked),
        (Verb::Get, "/v1/audit") => daemon::audited(office, asked),
        (_, path) if path == "/v1/doctor" || path.starts_with("/v1/setup/") => {
            setup::run(office, route, asked).await
        }
        (Verb::Get, "/v1/daemon") => daemon::status(office),
        (Verb::Post, "/v1/daemon/reload") => daemon::reload(office).await,
        (Verb::Post, path) if path.starts_with("/v1/daemon/") => daemon::order(office, path).await,
        _ => Err(unknown(route.path)),
    }
}

fn unknown(path: &str) -> CommandError {
    CommandError {
        hint: Some("docs/api.md lists all there are".to_owned()),
        ..CommandError::new(ErrorCode::UnknownRoute, format!("there is no resource {path}"))
    }
}

pub(super) fn with_headers(mut answer: Answer, at: &str) -> Answer {
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(at) = HeaderValue::from_str(at) {
        headers.insert(EVENT, at);
    }
    answer
}
