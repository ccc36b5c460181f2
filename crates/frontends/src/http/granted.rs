//! What a credential grants, held against a request before anything of its answer is written: a status cannot change
//! later.

use std::sync::Arc;

use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use manifold_engine::{Access, Gateway, Requester, Wish};
use manifold_protocol::envelope::{Incoming, Message};
use manifold_protocol::{Method, Raw, RawObject};
use tracing::info;

use super::answers::problem;
use super::body::Body;
use super::shared::Shared;

/// Why a namespace is not open to somebody.
pub(super) enum Closed {
    /// As if it were not there.
    Hidden,
    /// It needs other scopes.
    Scope(Box<Response<Body>>),
}

/// Lets somebody into a namespace, or says why not.
pub(super) fn enter(head: &Parts, gateway: &Gateway, who: &Requester, shared: &Shared) -> Result<(), Closed> {
    match gateway.access(who, Wish::Enter) {
        Access::Granted => Ok(()),
        Access::Hidden => Err(Closed::Hidden),
        Access::NeedsScope(scopes) => {
            Err(Closed::Scope(Box::new(needs_scope(head, who, head.method.as_str(), &scopes, shared))))
        }
    }
}

/// Answers a message, or several, of which one needs scopes that whoever sent it does not have.
pub(super) fn refuse(
    head: &Parts,
    incoming: &Incoming,
    gateway: &Gateway,
    who: &Requester,
    shared: &Shared,
) -> Option<Response<Body>> {
    // Nearly all may use everything.
    who.grants()?;
    let missing = |message: &Message| match message {
        Message::Request { method, params, .. } => {
            let method: Method = method.clone().into();
            let scopes = gateway.missing_scopes(who, &method, params.as_ref())?;
            Some((method, scopes))
        }
        _ => None,
    };
    let (method, scopes) = match incoming {
        Incoming::One(message) => missing(message),
        Incoming::Batch(messages) => messages.iter().flatten().find_map(missing),
    }?;
    Some(needs_scope(head, who, method.as_str(), &scopes, shared))
}

/// Answers a call of one tool that needs scopes which whoever calls it does not have.
pub(super) fn refuse_tool(
    head: &Parts,
    tool: &str,
    gateway: &Gateway,
    who: &Requester,
    shared: &Shared,
) -> Option<Response<Body>> {
    who.grants()?;
    let mut params = RawObject::default();
    params.set("name", Raw::string(tool));
    let method = Method::ToolsCall;
    let scopes = gateway.missing_scopes(who, &method, Some(&params.into_raw()))?;
    Some(needs_scope(head, who, method.as_str(), &scopes, shared))
}

/// Answers who lacks scopes with which, and notes it: who asks for more, or never may, is to be found in the log.
fn needs_scope(
    head: &Parts,
    who: &Requester,
    method: &str,
    scopes: &[Arc<str>],
    shared: &Shared,
) -> Response<Body> {
    let needs = scopes.join(" ");
    info!(principal = %who.principal, method, path = head.uri.path(), scope = %needs, "a scope is missing");
    let what = format!("the token lacks a scope for this; it needs: {needs}");
    let mut response = problem(StatusCode::FORBIDDEN, &what);
    let challenge = shared.site.admission.scope_challenge(head, scopes);
    if let Some(challenge) = challenge.and_then(|challenge| HeaderValue::from_str(&challenge).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}
