//! LiteMCP over HTTP: GET tells the tool, POST uses it; a WebSocket at the same address carries whole messages.

use std::num::NonZeroU64;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use hyper::header::{CONNECTION, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use manifold_engine::{Direction, Link};
use manifold_protocol::dialect::litemcp::ToolCall;
use manifold_protocol::{Fault, Id, Raw};

use super::answers::{self, json, problem};
use super::body::Body;
use super::granted::{self, Closed};
use super::headers::wants_websocket;
use super::peer::Origin;
use super::shared::Shared;
use super::standing::Standing;
use super::websocket;
use crate::litemcp::Service;

/// Calls may take long, and their clients are told that we wait (section 2.4).
const KEEP_ALIVE: HeaderValue = HeaderValue::from_static("timeout=180, max=100");

fn unknown(namespace: &str) -> Response<Body> {
    problem(StatusCode::NOT_FOUND, &format!("Namespace '{namespace}' not found or disabled"))
}

/// Answers a request for one tool, or for the one that stands for all.
pub(super) async fn answer(
    head: &Parts,
    body: Bytes,
    namespace: &str,
    tool: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let Some(gateway) = shared.site.namespaces.find(Some(namespace)) else {
        return unknown(namespace);
    };
    match granted::enter(head, &gateway, origin.requester, shared) {
        Ok(()) => {}
        Err(Closed::Hidden) => return unknown(namespace),
        Err(Closed::Scope(response)) => return *response,
    }
    let refused = tool.filter(|_| head.method == Method::POST);
    let refused =
        refused.and_then(|tool| granted::refuse_tool(head, tool, &gateway, origin.requester, shared));
    if let Some(response) = refused {
        return response;
    }
    let service = Service::new(Ok(Arc::clone(&gateway)), tool.map(str::to_owned))
        .of_client(origin.peer.client, origin.requester);
    match head.method {
        Method::GET if wants_websocket(&head.headers) => {
            let who = (&gateway, origin.requester);
            let standing = Standing::of(&head.headers, head.uri.path(), origin, who, shared);
            websocket::open(head, service, standing, origin.peer, shared)
        }
        Method::GET => match service.describe().await {
            Ok(tool) => json(StatusCode::OK, tool.encode().bytes()),
            Err(fault) if is_unknown(&fault) => problem(StatusCode::NOT_FOUND, &fault.message()),
            Err(fault) => problem(StatusCode::BAD_GATEWAY, &fault.message()),
        },
        _ => match origin.peer.begin(1) {
            Ok(_entered) => call(head.version, body, &service).await,
            Err(fault) => answers::over_limit(&fault, shared.site.codes),
        },
    }
}

async fn call(version: Version, body: Bytes, service: &Service) -> Response<Body> {
    let number = show_call(service, &body);
    let call = match Raw::parse(body).map(|raw| ToolCall::parse(&raw)) {
        Ok(Some(call)) => call,
        Ok(None) => {
            return problem(StatusCode::BAD_REQUEST, "the body must have `tool`, and `arguments` as a list");
        }
        Err(why) => return problem(StatusCode::BAD_REQUEST, &why.to_string()),
    };
    // Only the address can be wrong here: what goes wrong with the call is part of its result.
    if let Some(fault) = service.missing().await.filter(is_unknown) {
        return problem(StatusCode::NOT_FOUND, &fault.message());
    }
    let (result, retry_after) = service.call(call, number).await;
    let result = result.encode().bytes();
    if let Some(tap) = service.watched() {
        tap.answered(Direction::Out, &ONLY, false, &result);
    }
    let mut response = match retry_after {
        Some(seconds) => answers::busy(result, seconds),
        None => json(StatusCode::OK, result),
    };
    // HTTP/2 has no such headers.
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Keep-Alive"));
        response.headers_mut().insert(HeaderName::from_static("keep-alive"), KEEP_ALIVE);
    }
    response
}

/// What the one call of a request is known by where it is watched: it has no id of its own.
static ONLY: LazyLock<Id> = LazyLock::new(|| Id::number(0));

/// Shows the call to whoever watches, and returns its number.
fn show_call(service: &Service, body: &Bytes) -> Option<NonZeroU64> {
    let tap = service.watched()?;
    let tool = Raw::parse(body.clone()).ok().and_then(|call| Some(call.get("tool")?.to_text()?.into_owned()));
    tap.asked(Direction::In, &ONLY, ("call", tool.as_deref()), body, Link::default());
    tap.number_of(&ONLY)
}

fn is_unknown(fault: &Fault) -> bool {
    matches!(fault, Fault::UnknownTool(_) | Fault::UnknownToolOf { .. } | Fault::UnknownServer { .. })
}
