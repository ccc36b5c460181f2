//! Streamable HTTP without sessions (2026-07-28): every request is a POST that says in its headers what it is, and the
//! answer to each comes on its own response. Letting go of that response takes the request back.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method as Verb;
use manifold_config::{EraSetting, RemoteSpec};
use manifold_engine::Tasks;
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::dialect::modern::{self, headers};
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};
use manifold_protocol::framing::{Line, SseItem};
use manifold_protocol::{Fault, Id, Kind, Method, Outgoing, Raw, members};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, info};

use super::client::{Answer, HttpClient, Unreached};
use super::events::{self, Events};
use super::streamable::Session;
use super::{Fields, Reached, Remote, Retries, fail_call};
use crate::cache::Cache;
use crate::connection::{Connection, Dialect, Post, Poster, ToolFacts};
use crate::era::{self, Found, Word};
use crate::listing;
use crate::supervisor::Running;

/// What is said with every request.
const ACCEPTED: &str = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";

/// How long a call waits for the list that says which of its arguments go into headers.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// A stream that ended with the answer ends by itself this soon, and its connection can serve again.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Why a server was not met in this revision.
pub(super) enum Unmet {
    /// It does not speak it; the revisions with sessions may be tried.
    Legacy(Unreached),
    Failed(Unreached),
    /// It speaks others of its kind only.
    Foreign(String),
}

/// Asks the server what it is and starts everything that speaks with it. One that speaks the revisions with sessions too
/// has a session beside, opened when a caller needs it.
pub(super) async fn reach(
    remote: &Remote,
    client: Arc<HttpClient>,
) -> Result<(Found, Running<Reached>), Unmet> {
    let (found, said) = discover(remote, &client).await?;
    let connection = remote.connection();
    let (gone, is_gone) = watch::channel(None);
    let session = (found == Found::Dual)
        .then(|| Session::new(remote, Arc::clone(&client), Arc::clone(&connection), gone.clone()));
    let posts = Arc::new(Posts {
        client,
        connection: Arc::downgrade(&connection),
        spec: remote.spec.clone(),
        unauthorized: remote.unauthorized(),
        limit_bytes: remote.limit_bytes,
        may_move: remote.may_move,
        gone,
        cache: remote.cache.clone(),
    });
    let carrier = Carrier { posts, tasks: remote.tasks.clone() };
    let poster: Option<Arc<dyn Poster>> = Some(Arc::new(carrier));
    connection.speak(match session {
        Some(_) => Dialect::dual(&said, poster),
        None => Dialect::modern(&said, poster),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&connection).keep_deadlines());
    if let Some(session) = &session {
        tasks.spawn(Arc::clone(session).open_when_wanted(remote.server.start_timeout));
    }
    let life = Reached { session, ..Reached::new(is_gone, tasks) };
    Ok((found, Running { connection, said, pid: None, life }))
}

async fn discover(remote: &Remote, client: &Arc<HttpClient>) -> Result<(Found, ServerFacts), Unmet> {
    let params = era::discover_params(&remote.host.client_facts());
    let body = envelope::request(&Id::number(0), Method::Discover.as_str(), Some(&params));
    let fields = fields_of(&Method::Discover, &params, None);
    let answer = client.send(Verb::POST, client.home(), &fields, &body).await;
    let refused = |error: &Raw| Unreached::Refused(error.clone());
    let (word, why) = match answer {
        Ok(answer) => match read_response(answer, remote.limit_bytes).await.map_err(Unmet::Failed)? {
            Some(Outcome::Result(result)) => {
                let why = Unreached::Broken(format!("it does not speak {}", modern::REVISION));
                (era::read_result(&result), why)
            }
            Some(Outcome::Error(error)) => (era::read_error(&error), refused(&error)),
            None => {
                (Word::Legacy, Unreached::Broken("its answer to the handshake cannot be read".to_owned()))
            }
        },
        // Neither says anything of the era.
        Err(why @ Unreached::Status { status: 401 | 403 | 500.., .. }) => return Err(Unmet::Failed(why)),
        Err(Unreached::Status { status, retry_after, challenges, body }) => {
            let error = error_of(&body);
            let word = match &error {
                Some(error) if status == 404 && code_of(error) == "-32601" => Word::Modern(era::unsaid()),
                Some(error) => era::read_error(error),
                None => Word::Legacy,
            };
            (word, Unreached::Status { status, retry_after, challenges, body })
        }
        Err(why) => return Err(Unmet::Failed(why)),
    };
    match word {
        Word::Modern(said) => Ok((Found::Modern, said)),
        // The config may hold it to one of them.
        Word::Dual(said) if remote.server.era == EraSetting::Modern => Ok((Found::Modern, said)),
        Word::Dual(said) => Ok((Found::Dual, said)),
        Word::Legacy => Err(Unmet::Legacy(why)),
        Word::Foreign(why) => Err(Unmet::Foreign(why)),
    }
}

/// Reads the one response that a POST is answered with; `None` if there is none to be read.
async fn read_response(answer: Answer, limit_bytes: usize) -> Result<Option<Outcome>, Unreached> {
    let outcome = |message: Bytes| match envelope::parse(message) {
        Ok(Incoming::One(Message::Response { outcome, .. })) => Some(outcome),
        _ => None,
    };
    if !answer.head.is_events {
        return Ok(outcome(answer.read(limit_bytes).await?));
    }
    let mut events = Events::new(answer, limit_bytes);
    while let Some(item) = events.next().await? {
        if let SseItem::Event(event) = item
            && let Some(outcome) = outcome(event.data)
        {
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

/// Returns the error in the body of an answer that is no success, whatever id it bears.
pub(super) fn error_of(body: &Bytes) -> Option<Raw> {
    let message = Raw::parse(body.clone()).ok()?;
    if members::ENVELOPE.flaw(&message).is_some() {
        return None;
    }
    message.get("jsonrpc")?;
    message.get("error").filter(|error| error.object().is_some())
}

fn code_of(error: &Raw) -> String {
    error.get("code").map(|code| code.as_str().to_owned()).unwrap_or_default()
}

/// Starts a task for each request.
struct Carrier {
    posts: Arc<Posts>,
    tasks: Tasks,
}

impl Poster for Carrier {
    fn post(&self, post: Post) {
        let posts = Arc::clone(&self.posts);
        // Boxed where it is made: on its way to the runtime it would be copied half a dozen times.
        self.tasks.spawn(Box::pin(async move { posts.carry(post).await }));
    }
}

/// What all requests to one server share.
struct Posts {
    client: Arc<HttpClient>,
    connection: Weak<Connection>,
    spec: RemoteSpec,
    unauthorized: Fault,
    limit_bytes: usize,
    may_move: bool,
    gone: watch::Sender<Option<String>>,
    cache: Cache,
}

impl Posts {
    /// Brings one request to the server and its answer back. It ends as soon as nobody waits for that, and what it
    /// holds of the connection with it.
    async fn carry(&self, post: Post) {
        let Some(connection) = self.connection.upgrade() else { return };
        let Post { call, method, params, body, mut left } = post;
        let sent = tokio::select! {
            biased;
            sent = self.deliver(&connection, call, &method, &params, body) => Some(sent),
            _ = &mut left => None,
        };
        let taken = match sent {
            Some(Ok(answer)) if answer.head.is_events => {
                Box::pin(self.take_events(&connection, answer, call, left)).await
            }
            Some(Ok(answer)) => tokio::select! {
                biased;
                taken = self.take(&connection, answer, call) => taken,
                _ = &mut left => Ok(()),
            },
            Some(Err(why)) => Err(why),
            None => Ok(()),
        };
        if let Err(why) = taken {
            self.fail(&connection, call, &method, why);
        }
        // Who answers calls that it has taken goes on with them; then those it could not be sent are sent elsewhere.
        if self.may_move && connection.has_unsent() && !connection.is_busy() {
            self.gone.send_replace(Some("it can no longer be reached there".to_owned()));
        }
    }

    /// Answers a call that did not get through, or takes it back if it may be sent elsewhere.
    fn fail(&self, connection: &Arc<Connection>, call: u64, method: &Method, why: Unreached) {
        let is_unsent = matches!(why, Unreached::Connect(_));
        if self.may_move && is_unsent && connection.take_back(call) {
            return;
        }
        let reason = why.to_string();
        if self.is_outdated(&why) {
            info!(server = connection.id(), "it no longer speaks {}; connecting again", modern::REVISION);
            self.cache.forget_era(connection.server());
            self.gone.send_replace(Some(reason.clone()));
        }
        self.refuse(connection, call, why);
        // Who only listens tries again; a call shows that the server is gone, unless others are under way.
        if is_unsent && *method != Method::Listen && !connection.is_busy() {
            self.gone.send_replace(Some(reason));
        }
    }

    /// Posts a request. It is sent again only if it was never written or was refused for now.
    async fn deliver(
        &self,
        connection: &Arc<Connection>,
        call: u64,
        method: &Method,
        params: &Raw,
        body: Outgoing,
    ) -> Result<Answer, Unreached> {
        let known = match method {
            Method::ToolsCall => known_soon(connection).await,
            _ => None,
        };
        let mut fields = fields_of(method, params, known.as_deref());
        let mut retries = Retries::new(self.spec.retries, self.spec.retry_delay);
        let mut listed_anew = false;
        loop {
            match self.client.send(Verb::POST, self.client.home(), &fields, &body).await {
                // The tool has other headers than we knew.
                Err(Unreached::Status { status: 400, body, .. })
                    if !listed_anew
                        && *method == Method::ToolsCall
                        && error_of(&body).is_some_and(|error| code_of(&error) == "-32020") =>
                {
                    debug!(server = connection.id(), "the headers of a call were refused; listing anew");
                    listed_anew = true;
                    let _ = Box::pin(listing::read(connection, Kind::Tools)).await;
                    connection.lists.stale.mark(&[Kind::Tools]);
                    let known = known_soon(connection).await;
                    fields = fields_of(method, params, known.as_deref());
                }
                Err(why) => {
                    let left = connection.time_left(call);
                    Box::pin(retries.rest(connection.id(), why, left)).await?;
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// Takes an answer that is one message.
    async fn take(&self, connection: &Connection, answer: Answer, call: u64) -> Result<(), Unreached> {
        let body = events::read_with_permit(answer, self.limit_bytes, connection).await?;
        if body.is_empty() {
            return Err(Unreached::Broken("it accepted the call but gave no answer".to_owned()));
        }
        connection.receive_within(Line::Whole(body), Some(call));
        // An answer under another id is no answer to this call.
        match connection.awaits(call) {
            true => Err(Unreached::Broken("its answer is to something else".to_owned())),
            false => Ok(()),
        }
    }

    /// Reads the stream that answers a call, to the answer. A stream that breaks off before has lost it.
    async fn take_events(
        &self,
        connection: &Connection,
        answer: Answer,
        call: u64,
        mut left: oneshot::Receiver<()>,
    ) -> Result<(), Unreached> {
        let mut events = Events::new(answer, self.limit_bytes);
        let mut dropped = false;
        loop {
            let item = tokio::select! {
                biased;
                item = events.next_with_permit(connection) => item?,
                _ = &mut left => return Ok(()),
            };
            match item {
                Some(SseItem::Event(event)) => events::receive(connection, event, Some(call)),
                Some(SseItem::TooLong) => {
                    dropped = true;
                    events::too_long(connection);
                }
                None if dropped => return Err(Unreached::TooLarge(self.limit_bytes)),
                None => return Err(Unreached::Broken("its stream ended without the answer".to_owned())),
            }
            if !connection.awaits(call) {
                let end = async { while let Ok(Some(_)) = events.next().await {} };
                let _ = timeout(LAST_WORDS, end).await;
                return Ok(());
            }
        }
    }

    /// Returns whether a refusal is that of a server which knows nothing of requests without a session.
    fn is_outdated(&self, why: &Unreached) -> bool {
        matches!(why, Unreached::Status { status: 400 | 404 | 405, body, .. } if error_of(body).is_none())
    }

    /// Fails a call, by the server's own word where it gave one.
    fn refuse(&self, connection: &Connection, call: u64, why: Unreached) {
        debug!(server = connection.id(), "{why}");
        let error = match &why {
            why if why.is_unauthorized(&self.unauthorized) => None,
            Unreached::Status { body, .. } => error_of(body),
            _ => None,
        };
        match error {
            // The answer to this call alone: there is one to each POST.
            Some(error) => connection.receive_error(call, error),
            None => fail_call(connection, call, &why, &self.unauthorized),
        }
    }
}

/// Returns what is known of the tools, waiting a while for their list.
async fn known_soon(connection: &Connection) -> Option<Arc<ToolFacts>> {
    match connection.known_now() {
        Some(known) => Some(known),
        // Seldom, so it need not be small.
        None => Box::pin(timeout(LIST_PATIENCE, connection.known())).await.ok(),
    }
}

/// Says in headers what a request says in its body.
fn fields_of(method: &Method, params: &Raw, known: Option<&ToolFacts>) -> Fields {
    let mut fields = Fields::new(ACCEPTED)
        .with(headers::VERSION, modern::REVISION)
        .with(headers::METHOD, headers::encode(method.as_str()).as_bytes());
    let Some(name) = headers::name_of(method, Some(params)) else { return fields };
    fields.say(headers::NAME, headers::encode(&name).as_bytes());
    let mirrors = known.map(|known| known.mirrors(&name)).unwrap_or_default();
    if *method == Method::ToolsCall && !mirrors.is_empty() {
        let arguments = params.get("arguments");
        for mirror in mirrors {
            if let Some(value) = mirror.value(arguments.as_ref()) {
                fields.say_foreign(&mirror.header_name(), headers::encode(&value).as_bytes());
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests;
