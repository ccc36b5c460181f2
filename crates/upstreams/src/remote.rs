//! A server at an address: Streamable HTTP, or the old SSE transport.

mod client;
mod collector;
mod credentials;
mod dial;
mod events;
mod h1;
mod modern;
mod old_sse;
mod quickack;
mod retries;
mod sign_in;
mod streamable;

use std::sync::Arc;
use std::time::Duration;

use manifold_config::{DEFAULT_ACCOUNT, RemoteKind, RemoteSpec, Secret, Server};
use manifold_engine::{Host, Tasks};
use manifold_oauth::{SignIn, State};
use manifold_protocol::{Era, Fault, Outgoing};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, info};

use crate::cache::Cache;
use crate::connection::Connection;
use crate::era::{self, Found, Plan};
use crate::litemcp;
use crate::logs::LogRing;
use crate::supervisor::{Ending, Launcher, Life, Running};
pub use client::{Fetched, GetError, get};
pub(crate) use client::{HttpClient, Unreached};
pub use collector::CollectorHttp;
pub(crate) use dial::Trust;
pub(crate) use h1::{Fields, Noted, Stream};
pub(crate) use retries::Retries;
pub use sign_in::{OAuthHttp, SignIns, settings_of, spawner};
use sign_in::{SignedIn, fault_of, named_account};

/// How long a server may take over a message that nobody waits for.
const NOTICE_PATIENCE: Duration = Duration::from_secs(90);

/// What it takes to reach a server.
pub(crate) struct Remote {
    pub(crate) server: Arc<Server>,
    pub(crate) spec: RemoteSpec,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) logs: Arc<LogRing>,
    pub(crate) tasks: Tasks,
    pub(crate) trust: Trust,
    pub(crate) cache: Cache,
    pub(crate) limit_bytes: usize,
    /// It may be reached elsewhere soon: a call that could not be sent waits for that.
    pub(crate) may_move: bool,
    /// How the server is signed in to; none where nobody does.
    pub(crate) sign_in: Option<SignIn>,
}

/// A server we have shaken hands with. Dropping it ends everything that speaks to it.
pub(crate) struct Reached {
    /// Says why the server counts as gone, once it does.
    gone: watch::Receiver<Option<String>>,
    session: Option<Arc<streamable::Session>>,
    _tasks: JoinSet<()>,
    /// What ends by itself once the connection is closed, after a last word to the server.
    parting: JoinSet<()>,
}

impl Launcher for Remote {
    type Life = Reached;

    fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn logs(&self) -> &Arc<LogRing> {
        &self.logs
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    /// A try costs one connection: a server that is back serves calls well within a second (F14).
    fn call_backoff(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn held_back(&self) -> Option<Fault> {
        let state = self.sign_in.as_ref()?.state();
        // What a token allows too little of stands in the way of some calls only.
        let is_shut = state.needs_login() && !matches!(state, State::NeedsScope { .. });
        is_shut.then(|| self.told(fault_of(&self.server.key.id, self.account(), &state)))
    }

    async fn launch(&self) -> Result<Running<Reached>, Fault> {
        self.logs.new_life();
        match timeout(self.server.start_timeout, self.reach()).await {
            Ok(reached) => reached,
            Err(_) => {
                let waited = self.server.start_timeout.as_millis();
                Err(self.failed(format!("no answer to the handshake within {waited} ms")))
            }
        }
    }
}

impl Remote {
    async fn reach(&self) -> Result<Running<Reached>, Fault> {
        let client =
            HttpClient::new(&self.spec, &self.trust, self.tasks.clone()).map_err(|why| self.failed(why))?;
        let client = Arc::new(match &self.sign_in {
            Some(sign_in) => {
                sign_in.open().await;
                client.with_credentials(Arc::new(SignedIn::new(&self.server.key.id, sign_in.clone())))
            }
            None => client,
        });
        match self.spec.kind {
            RemoteKind::Sse => return old_sse::reach(self, client).await,
            RemoteKind::LiteMcp => return litemcp::reach(self, client).await,
            RemoteKind::Auto | RemoteKind::StreamableHttp => {}
        }
        let plan = Plan::of(&self.server, &self.cache);
        let (found, running) = match plan {
            Plan::Only(Era::Modern) => self.reach_modern(client).await?,
            Plan::Only(Era::Legacy) => (Found::Legacy, self.reach_legacy(client).await?),
            Plan::Remembered(Era::Legacy) => match streamable::reach(self, Arc::clone(&client)).await {
                Ok(running) => (Found::Legacy, running),
                Err(why) if why.is_modern() => {
                    self.cache.forget_era(&self.server);
                    self.reach_modern(client).await?
                }
                Err(why) => (Found::Legacy, self.reach_older(client, why).await?),
            },
            Plan::Probe | Plan::Remembered(Era::Modern) => {
                match modern::reach(self, Arc::clone(&client)).await {
                    Ok(reached) => reached,
                    Err(modern::Unmet::Legacy(why)) => {
                        debug!(server = %self.server.key.id, "it does not speak the newest revision: {why}");
                        (Found::Legacy, self.reach_legacy(client).await?)
                    }
                    Err(unmet) => return Err(self.unmet(unmet)),
                }
            }
        };
        era::learn(&self.cache, &self.server, plan, found);
        Ok(running)
    }

    async fn reach_modern(&self, client: Arc<HttpClient>) -> Result<(Found, Running<Reached>), Fault> {
        modern::reach(self, client).await.map_err(|unmet| self.unmet(unmet))
    }

    async fn reach_legacy(&self, client: Arc<HttpClient>) -> Result<Running<Reached>, Fault> {
        match streamable::reach(self, Arc::clone(&client)).await {
            Ok(running) => Ok(running),
            Err(why) => self.reach_older(client, why).await,
        }
    }

    /// Goes on where Streamable HTTP was refused for this reason.
    async fn reach_older(&self, client: Arc<HttpClient>, why: Unreached) -> Result<Running<Reached>, Fault> {
        match why {
            // The sign of a server from before Streamable HTTP (transports, "Backwards Compatibility").
            Unreached::Status { status: 400 | 404 | 405, .. }
                if self.spec.kind != RemoteKind::StreamableHttp && !why.is_modern() =>
            {
                info!(server = %self.server.key.id, "no Streamable HTTP there; trying the old SSE transport");
                old_sse::reach(self, client).await
            }
            refused => Err(self.refused(refused)),
        }
    }

    fn unmet(&self, unmet: modern::Unmet) -> Fault {
        match unmet {
            modern::Unmet::Legacy(why) | modern::Unmet::Failed(why) => self.refused(why),
            modern::Unmet::Foreign(why) => self.failed(why),
        }
    }

    pub(crate) fn connection(&self) -> Arc<Connection> {
        let (server, host, logs) = (Arc::clone(&self.server), Arc::clone(&self.host), Arc::clone(&self.logs));
        Connection::new(server, host, logs, self.limit_bytes)
    }

    /// Says why a server could not be reached (decision 16 for keys that were refused).
    pub(crate) fn refused(&self, why: Unreached) -> Fault {
        let server = self.server.key.id.clone();
        match why {
            why if why.is_unauthorized(&self.unauthorized()) => self.unauthorized(),
            Unreached::SignIn(fault) => self.told(*fault),
            other => Fault::FailedToStart { server, reason: other.to_string() },
        }
    }

    /// Returns as which account one signs in.
    fn account(&self) -> &str {
        self.spec.sign_in.as_ref().map_or(DEFAULT_ACCOUNT, |sign_in| &sign_in.account)
    }

    /// Decision 16, unless no credentials are configured at all: then they are what is missing (D7).
    pub(crate) fn unauthorized(&self) -> Fault {
        if self.spec.credential_variables.is_empty() && !self.spec.headers.iter().any(is_credential) {
            let state = if self.sign_in.is_some() { "needs login" } else { "off" };
            let (server, account) = (self.server.key.id.clone(), named_account(self.account()));
            return Fault::SignInNeeded { server, account, state, reason: None };
        }
        self.bad_credentials()
    }

    /// Returns what is told of a sign-in that is missing: where keys are configured that do not sign in, they are what was
    /// refused (decision 16).
    fn told(&self, fault: Fault) -> Fault {
        let has_keys =
            !self.spec.credential_variables.is_empty() || self.spec.headers.iter().any(is_credential);
        match &fault {
            Fault::SignInNeeded { state: "needs login", .. } if has_keys => self.bad_credentials(),
            _ => fault,
        }
    }

    fn bad_credentials(&self) -> Fault {
        let variable = match self.spec.credential_variables.as_slice() {
            [] => "credentials".to_owned(),
            names => names.join(", "),
        };
        Fault::Authentication { server: self.server.key.id.clone(), variable }
    }

    pub(crate) fn failed(&self, reason: String) -> Fault {
        Fault::FailedToStart { server: self.server.key.id.clone(), reason }
    }
}

/// Tells by its name whether a header says who asks.
fn is_credential((name, _): &(String, Secret)) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"].iter().any(|part| name.contains(part))
}

/// Posts every message of a connection, each on its own.
async fn post_all<F, W>(connection: Arc<Connection>, post: F)
where
    F: Fn(Outgoing, Option<u64>) -> W,
    W: Future<Output = ()> + Send + 'static,
{
    let mut posts = JoinSet::new();
    let mut batch = Vec::new();
    while connection.outbox.take(&mut batch).await {
        for message in batch.drain(..) {
            // Each goes its own way: none of them waits for another to be read.
            connection.outbox.written(message.len());
            let call = request_id(&message);
            let (connection, work) = (Arc::clone(&connection), post(message, call));
            posts.spawn(Box::pin(async move { while_wanted(&connection, call, work).await }));
        }
        while posts.try_join_next().is_some() {}
    }
    while posts.join_next().await.is_some() {}
}

/// Fails a call that could not be brought to the server, or not back.
pub(crate) fn fail_call(connection: &Connection, call: u64, why: &Unreached, unauthorized: &Fault) {
    let server = connection.id().to_owned();
    let (tool, reason) = (connection.tool_of(call), why.to_string());
    let fault = match why {
        why if why.is_unauthorized(unauthorized) => unauthorized.clone(),
        Unreached::Status { .. } => Fault::Refused { server, tool, reason },
        Unreached::Connect(_) => Fault::NotRunning { server, reason },
        Unreached::Broken(_) | Unreached::Refused(_) => Fault::Died { server, tool, reason },
        Unreached::SignIn(fault) => match (&**fault, unauthorized) {
            // Keys that are configured are what was refused (decision 16).
            (Fault::SignInNeeded { state: "needs login", .. }, keys @ Fault::Authentication { .. }) => {
                keys.clone()
            }
            (fault, _) => fault.clone(),
        },
        Unreached::TooLarge(limit_bytes) => {
            Fault::TooLarge { server: Some(server), limit_bytes: *limit_bytes }
        }
    };
    if let Unreached::Status { status, .. } = why {
        connection.show_status(call, *status);
    }
    connection.fail(call, fault);
}

/// Returns the number of a message of ours that is a request, known by how `envelope::request` writes it.
fn request_id(message: &Outgoing) -> Option<u64> {
    let rest = message.pieces().next()?.strip_prefix(br#"{"jsonrpc":"2.0","id":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at_checked(digits)?;
    // An answer to a question of the server's begins likewise.
    rest.starts_with(br#","method":"#).then(|| std::str::from_utf8(number).ok()?.parse().ok()).flatten()
}

/// Works on a message for as long as somebody waits for its answer: a peer that took it and says nothing would hold
/// the connection for ever.
async fn while_wanted(connection: &Connection, call: Option<u64>, work: impl Future<Output = ()>) {
    let patience = if call.is_some() { Duration::from_secs(1) } else { NOTICE_PATIENCE };
    tokio::pin!(work);
    while timeout(patience, &mut work).await.is_err() {
        if !call.is_some_and(|call| connection.awaits(call)) {
            return;
        }
    }
}

impl Reached {
    /// Makes the life of a server that has no session to end.
    pub(crate) fn new(gone: watch::Receiver<Option<String>>, tasks: JoinSet<()>) -> Self {
        Self { gone, session: None, _tasks: tasks, parting: JoinSet::new() }
    }

    /// Lets these tasks end by themselves.
    pub(crate) fn parting(self, parting: JoinSet<()>) -> Self {
        Self { parting, ..self }
    }
}

impl Life for Reached {
    async fn ended(&mut self) -> Ending {
        match self.gone.wait_for(Option::is_some).await {
            Ok(why) => Ending::Exited { code: None, how: why.clone().unwrap_or_default() },
            Err(_) => Ending::Exited { code: None, how: "its connection was closed".to_owned() },
        }
    }

    /// Tells the server that the session is over, if it can still be told.
    async fn stop(mut self) {
        if let Some(session) = &self.session {
            let _ = timeout(Duration::from_millis(500), session.end()).await;
        }
        let _ = timeout(Duration::from_millis(500), self.parting.join_next()).await;
    }
}

#[cfg(test)]
mod tests {
    use manifold_protocol::{Id, Raw, envelope};

    use super::*;

    #[test]
    fn our_requests_are_told_from_our_answers() {
        let params = Raw::from_static(r#"{"id":3}"#);
        for number in [0, 7, u64::MAX] {
            let request = envelope::request(&Id::number(number), "tools/call", Some(&params));
            assert_eq!(request_id(&request), Some(number));
        }
        assert_eq!(request_id(&envelope::result(&Id::number(7), &params)), None);
        assert_eq!(request_id(&envelope::error(Some(&Id::number(7)), &params).into()), None);
        assert_eq!(request_id(&envelope::notification("x", Some(&params)).into()), None);
    }
}
