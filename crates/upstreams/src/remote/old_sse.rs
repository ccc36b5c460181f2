//! The old HTTP+SSE transport (2024-11-05): one stream brings everything, every message of ours is a POST to the
//! address the stream names first.

use std::sync::Arc;
use std::time::Duration;

use hyper::{Method, Uri};
use manifold_protocol::dialect::legacy;
use manifold_protocol::framing::SseItem;
use manifold_protocol::{Failure, Fault, Method as Rpc, Outgoing, envelope, notification};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::{HttpClient, Place, Unreached};
use super::events::{self, Events};
use super::{Fields, Reached, Remote, Retries, fail_call, post_all};
use crate::connection::Connection;
use crate::supervisor::Running;

/// Opens the stream, shakes hands over it and starts everything that speaks with the server.
pub(super) async fn reach(remote: &Remote, client: Arc<HttpClient>) -> Result<Running<Reached>, Fault> {
    let fields = Fields::new("accept: text/event-stream\r\n");
    let opened = client.send(Method::GET, client.home(), &fields, &Outgoing::default()).await;
    let answer = opened.map_err(|why| remote.refused(why))?;
    if !answer.head.is_events {
        return Err(remote.failed("its address gives no stream of events".to_owned()));
    }
    let mut stream = Events::new(answer, remote.limit_bytes);
    let endpoint = endpoint(&mut stream, client.uri()).await.map_err(|why| remote.failed(why))?;
    let endpoint = client.place(endpoint);

    let connection = remote.connection();
    let (gone, is_gone) = watch::channel(None);
    let poster = Arc::new(Poster {
        client,
        endpoint,
        connection: Arc::clone(&connection),
        retries: remote.spec.retries,
        retry_delay: remote.spec.retry_delay,
        unauthorized: remote.unauthorized(),
        gone,
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(read(stream, Arc::clone(&poster)));
    let shared = Arc::clone(&poster);
    tasks.spawn(post_all(Arc::clone(&connection), move |message, call| {
        let poster = Arc::clone(&shared);
        async move { poster.post(message, call).await }
    }));
    tasks.spawn(Arc::clone(&connection).keep_deadlines());

    let facts = remote.host.client_facts();
    let params = legacy::initialize_params(facts.revision, &facts.capabilities, &facts.info);
    let said = match connection.request(Rpc::Initialize, Some(params), remote.server.start_timeout).await {
        Ok(result) => legacy::read_initialize_result(&result),
        Err(Failure::Peer(error)) => {
            return Err(remote.failed(format!("it refused the handshake: {}", error.as_str())));
        }
        Err(Failure::Fault(fault @ (Fault::Authentication { .. } | Fault::SignInNeeded { .. }))) => {
            return Err(fault);
        }
        Err(Failure::Fault(fault)) => return Err(remote.failed(fault.message())),
    };
    let Some(said) = said else {
        return Err(remote.failed("its answer to the handshake has no protocolVersion".to_owned()));
    };
    // Taken before anything else is asked: some servers refuse requests until then.
    poster.post(envelope::notification(notification::INITIALIZED, None).into(), None).await;
    connection.repeat_standing(&said.capabilities);
    let life = Reached::new(is_gone, tasks);
    Ok(Running { connection, said, pid: None, life })
}

/// Waits for the address to post to; it must be on the same origin as the stream.
async fn endpoint(stream: &mut Events, base: &Uri) -> Result<Uri, String> {
    loop {
        match stream.next().await {
            Ok(Some(SseItem::Event(event))) if event.kind == "endpoint" => {
                let text = String::from_utf8_lossy(&event.data).into_owned();
                return resolve(base, text.trim()).ok_or_else(|| {
                    format!("it wants messages posted to `{text}`, which is not its own origin")
                });
            }
            Ok(Some(_)) => {}
            Ok(None) => return Err("its stream ended before it named an address to post to".to_owned()),
            Err(why) => return Err(why.to_string()),
        }
    }
}

fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let scheme = base.scheme_str()?;
    let authority = base.authority()?.as_str();
    if reference.starts_with("http://") || reference.starts_with("https://") {
        let uri: Uri = reference.parse().ok()?;
        return (uri.scheme() == base.scheme() && uri.authority() == base.authority()).then_some(uri);
    }
    if reference.starts_with("//") {
        return None;
    }
    let path = if reference.starts_with('/') {
        reference.to_owned()
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{reference}")
    };
    format!("{scheme}://{authority}{path}").parse().ok()
}

/// Posts what the connection says.
struct Poster {
    client: Arc<HttpClient>,
    endpoint: Place,
    connection: Arc<Connection>,
    retries: u32,
    retry_delay: Duration,
    unauthorized: Fault,
    gone: watch::Sender<Option<String>>,
}

impl Poster {
    async fn post(&self, message: Outgoing, call: Option<u64>) {
        let fields = Fields::new("content-type: application/json\r\n");
        let mut retries = Retries::new(self.retries, self.retry_delay);
        loop {
            match self.client.send(Method::POST, &self.endpoint, &fields, &message).await {
                Ok(answer) => return answer.discard().await,
                Err(why) => {
                    let left = call.and_then(|call| self.connection.time_left(call));
                    if let Err(why) = retries.rest(self.connection.id(), why, left).await {
                        return self.refuse(call, &why);
                    }
                    if call.is_some_and(|call| !self.connection.awaits(call)) {
                        return;
                    }
                }
            }
        }
    }

    fn refuse(&self, call: Option<u64>, why: &Unreached) {
        if let Some(call) = call {
            fail_call(&self.connection, call, why, &self.unauthorized);
        }
        // The session hangs on the stream; an address that cannot be reached any more ends both.
        if matches!(why, Unreached::Connect(_) | Unreached::Status { status: 404, .. }) {
            self.gone.send_replace(Some(why.to_string()));
        }
    }
}

/// Reads the stream; the session ends with it.
async fn read(mut stream: Events, poster: Arc<Poster>) {
    let why = loop {
        match stream.next_with_permit(&poster.connection).await {
            Ok(Some(SseItem::Event(event))) => events::receive(&poster.connection, event, None),
            Ok(Some(SseItem::TooLong)) => events::too_long(&poster.connection),
            Ok(None) => break "it closed its stream".to_owned(),
            Err(why) => break why.to_string(),
        }
    };
    poster.gone.send_replace(Some(why));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reference: &str, expected: Option<&str>) {
        let base = Uri::from_static("http://host:1/a/sse");
        assert_eq!(resolve(&base, reference).map(|uri| uri.to_string()).as_deref(), expected, "{reference}");
    }

    // T12
    #[test]
    fn messages_are_posted_to_the_stream_s_own_origin_only() {
        check("/messages?sessionId=1", Some("http://host:1/messages?sessionId=1"));
        check("messages?x=1", Some("http://host:1/a/messages?x=1"));
        check("http://host:1/m", Some("http://host:1/m"));
        check("http://evil:1/m", None);
        check("https://host:1/m", None);
        check("//evil/m", None);
    }
}
