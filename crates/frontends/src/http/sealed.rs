//! Sessions whose ids say what they are: a replica that does not know one makes it anew.

use std::sync::Arc;

use hyper::{HeaderMap, Response};
use manifold_engine::{Gateway, Requester};
use manifold_protocol::envelope::{Incoming, Message};
use manifold_protocol::{Raw, Revision};
use tracing::{debug, info};

use super::answers;
use super::body::Body;
use super::headers::SESSION_ID;
use super::peer::Origin;
use super::sessions::{Entrance, HttpSession};
use super::shared::Shared;
use crate::replica::{
    Capabilities, Replica, SESSION_PREFIX, SealedSession, SessionNotes, hash_of, unix_seconds,
};

/// A session that nobody has used for this long is over, in seconds. Where it is not known when it was used last, it counts
/// from its beginning.
const IDLE: u64 = 24 * 3600;
/// No session is older than this.
const LONGEST: u64 = 7 * 24 * 3600;
/// By so much the clocks of two replicas may differ.
const SKEW: u64 = 300;

/// Prepares the session that a client asks for; `None` where the system has no randomness to give.
pub(super) fn prepare(
    incoming: &Incoming,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Shared,
) -> Option<Arc<HttpSession>> {
    let entrance = Entrance::Mcp(namespace.map(str::to_owned));
    let Some(replica) = &shared.site.replica else {
        return HttpSession::new(&shared.site, gateway, entrance, origin);
    };
    let facts = facts_of(incoming, namespace, origin.requester)?;
    let id = facts.seal(&replica.keys())?;
    HttpSession::with_id(&shared.site, gateway, entrance, origin, (id, Some(facts.sid())))
}

/// Returns whether a request names a session that replicas can make anew.
pub(super) fn is_named(headers: &HeaderMap, shared: &Shared) -> bool {
    shared.site.replica.is_some() && sealed_id(headers).is_some()
}

/// Makes a session anew that another replica opened, if it is the same principal's and still good. The answer says that
/// there is no room for it.
pub(super) async fn make_anew(
    headers: &HeaderMap,
    gateway: &Arc<Gateway>,
    namespace: Option<&str>,
    origin: Origin<'_>,
    shared: &Arc<Shared>,
) -> Result<Option<Arc<HttpSession>>, Box<Response<Body>>> {
    let (Some(replica), Some(id)) = (&shared.site.replica, sealed_id(headers)) else { return Ok(None) };
    let Some((facts, notes)) = still_good(id, namespace, origin.requester, replica, shared).await else {
        return Ok(None);
    };
    let entrance = Entrance::Mcp(namespace.map(str::to_owned));
    let named = (id.to_owned(), Some(facts.sid()));
    let Some(session) = HttpSession::with_id(&shared.site, gateway, entrance, origin, named) else {
        return Ok(None);
    };
    session.session.open_for(facts.revision, facts.capabilities.to_raw(), facts.info());
    match shared.sessions.adopt(&session) {
        Ok(first) if !Arc::ptr_eq(&first, &session) => {
            session.session.close();
            Ok(Some(first))
        }
        Ok(session) => {
            info!(client = facts.client_name, "a session of another replica goes on here");
            session.touch();
            session.session.may_have_listed();
            shared.let_be_ended(&session);
            session.session.recall(&notes);
            Ok(Some(session))
        }
        Err(fault) => {
            session.session.close();
            Err(Box::new(answers::over_limit(&fault, shared.site.codes)))
        }
    }
}

/// Opens an id; `None` where it is of no use to whoever brings it.
async fn still_good(
    id: &str,
    namespace: Option<&str>,
    who: &Requester,
    replica: &Replica,
    shared: &Shared,
) -> Option<(SealedSession, SessionNotes)> {
    let facts = SealedSession::open(id, &replica.keys())?;
    let is_theirs = facts.principal == hash_of(&who.principal.to_string())
        && facts.namespace == hash_of(&place(namespace));
    let now = unix_seconds();
    let age = now.saturating_sub(facts.created);
    let sid = facts.sid();
    if !is_theirs || facts.created > now + SKEW || age > LONGEST || shared.sessions.is_over(&sid) {
        return None;
    }
    let notes = match replica.link() {
        None => SessionNotes::default(),
        Some(link) => link.session(&sid).await.unwrap_or_else(|away| {
            debug!("what is noted of a session cannot be read: {away}");
            SessionNotes::default()
        }),
    };
    (!notes.is_over && (age <= IDLE || notes.is_known)).then_some((facts, notes))
}

fn facts_of(incoming: &Incoming, namespace: Option<&str>, who: &Requester) -> Option<SealedSession> {
    let Incoming::One(Message::Request { params, .. }) = incoming else { return None };
    let member = |path: &[&str]| params.as_ref().and_then(|params| params.path(path));
    let text = |path: &[&str]| member(path).and_then(|text| Some(text.to_lossy_text()?.into_owned()));
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    let capabilities = member(&["capabilities"]).unwrap_or_else(|| Raw::from_static("{}"));
    Some(SealedSession {
        random,
        principal: hash_of(&who.principal.to_string()),
        namespace: hash_of(&place(namespace)),
        revision: Revision::negotiate(&text(&["protocolVersion"]).unwrap_or_default()),
        capabilities: Capabilities::of(&capabilities),
        client_name: text(&["clientInfo", "name"]).unwrap_or_default(),
        client_version: text(&["clientInfo", "version"]).unwrap_or_default(),
        created: unix_seconds(),
    })
}

/// Returns a text for where a session is opened; no two are alike.
fn place(namespace: Option<&str>) -> String {
    namespace.map_or_else(String::new, |namespace| format!("/{namespace}"))
}

fn sealed_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok().filter(|id| id.starts_with(SESSION_PREFIX))
}
