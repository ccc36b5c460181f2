//! WebSockets: the upgrade of a connection, and a LiteMCP conversation on it, a message per text frame.

mod inflow;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode, Version};
use manifold_engine::{Budget, Outbox};
use manifold_protocol::Outgoing;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};
use tracing::{debug, info};

use super::answers::problem;
use super::body::{Body, Upgraded};
use super::headers::has_word;
use super::peer::Peer;
use super::shared::Shared;
use super::standing::Standing;
use crate::litemcp::{Conversation, Service};
use crate::serve::{CROWDED_BYTES, LAST_WORDS};
use inflow::Inflow;

/// What is read at once, and all that is kept for a socket at rest (M7).
const READ_BYTES: usize = 4 << 10;
/// How often a silent peer is asked whether it is there; it has as long again to answer.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a peer may leave an answer unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// Turns the connection into a WebSocket and serves on it.
pub(super) fn open(
    head: &Parts,
    service: Service,
    standing: Standing,
    peer: &Arc<Peer>,
    shared: &Arc<Shared>,
) -> Response<Body> {
    let Ok(place) = Arc::clone(&shared.sockets.places).try_acquire_owned() else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "too many WebSockets are open");
    };
    let (serving, budget) = (Arc::clone(shared), peer.budget.clone());
    upgrade(head, move |stream| async move {
        let limit_bytes = serving.site.limit_bytes;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(limit_bytes))
            .max_frame_size(Some(limit_bytes));
        let stream = Inflow::new(stream, budget.clone());
        let stream = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        Socket::new(stream, (service, standing), budget, &serving).serve(serving.closed()).await;
        drop(place);
    })
}

/// Answers the handshake (RFC 6455, 4.2) and hands the connection over once the answer is written.
fn upgrade<F: Future<Output = ()> + Send + 'static>(
    head: &Parts,
    serve: impl FnOnce(Upgraded) -> F + Send + 'static,
) -> Response<Body> {
    if head.headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        let mut response = problem(StatusCode::UPGRADE_REQUIRED, "WebSocket version 13 is spoken here");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return response;
    }
    let accept = head.headers.get(SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let accept = accept.and_then(|accept| HeaderValue::from_str(&accept).ok());
    let (Some(accept), true) = (accept, has_word(&head.headers, &CONNECTION, "upgrade")) else {
        return problem(StatusCode::BAD_REQUEST, "this is no handshake of a WebSocket");
    };
    if head.version != Version::HTTP_11 {
        return problem(StatusCode::BAD_REQUEST, "a WebSocket needs HTTP/1.1");
    }
    let mut response = Response::new(Body::upgrade(move |stream| Box::pin(serve(stream))));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// One client of LiteMCP on a WebSocket.
struct Socket<S> {
    line: Line<S>,
    conversation: Conversation,
    /// What is held for it.
    budget: Budget,
    /// What let its client in.
    standing: Standing,
    shared: Arc<Shared>,
}

/// The connection, and what is to be written to it.
struct Line<S> {
    stream: WebSocketStream<S>,
    outbox: Arc<Outbox>,
}

/// Why a conversation ends.
#[derive(Debug)]
enum Ended {
    Gone,
    /// We are shutting down.
    Asked,
    Refused(CloseCode),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    fn new(
        stream: WebSocketStream<S>,
        (service, standing): (Service, Standing),
        budget: Budget,
        shared: &Arc<Shared>,
    ) -> Self {
        let outbox = Arc::new(Outbox::new(CROWDED_BYTES).within(&budget));
        let conversation = Conversation::new(service, Arc::clone(&outbox));
        Self { line: Line { stream, outbox }, conversation, budget, standing, shared: Arc::clone(shared) }
    }

    async fn serve(mut self, closed: impl Future<Output = ()>) {
        tokio::pin!(closed);
        let ended = self.talk(closed).await;
        debug!(?ended, "a WebSocket ends");
        if let Ended::Asked = ended {
            let _ = timeout(self.shared.sockets.drain, self.drain()).await;
        }
        // What is still in flight is taken back; its answers say so to whoever is left to read them.
        self.conversation.close().await;
        self.line.outbox.close();
        let _ = timeout(LAST_WORDS, self.line.say_goodbye(&ended)).await;
        self.line.outbox.abandon();
    }

    /// Takes messages and writes answers until one side has had enough.
    async fn talk(&mut self, mut closed: Pin<&mut impl Future<Output = ()>>) -> Ended {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = true;
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                () = &mut closed => return Ended::Asked,
                message = self.line.stream.next() => {
                    heard = true;
                    if let Some(ended) = self.take(message).await {
                        return ended;
                    }
                }
                _ = self.line.outbox.take(&mut batch) => {
                    if !self.line.write(&mut batch).await {
                        return Ended::Gone;
                    }
                }
                () = self.standing.doubted() => {
                    if !self.standing.stands().await {
                        return Ended::Refused(CloseCode::Policy);
                    }
                }
                _ = ping.tick() => {
                    // Nothing since the last ping, not even its answer.
                    if !std::mem::take(&mut heard) || !self.line.send(Message::Ping(Bytes::new())).await {
                        return Ended::Gone;
                    }
                }
            }
        }
    }

    /// Takes what was read; returns why that is the end, if it is.
    async fn take(&mut self, message: Option<Result<Message, Error>>) -> Option<Ended> {
        if matches!(message, Some(Ok(Message::Text(_)))) && !self.standing.stands().await {
            return Some(Ended::Refused(CloseCode::Policy));
        }
        let budget = &self.budget;
        match message {
            Some(Ok(Message::Text(text))) if budget.admits(text.len()) => {
                let message = budget.hold(Bytes::from(text));
                self.conversation.room().await;
                self.conversation.receive(message);
                None
            }
            // Waiting for room would keep our own answers from leaving (F35).
            Some(Ok(Message::Text(_))) => Some(Ended::Refused(CloseCode::Again)),
            Some(Ok(Message::Binary(_))) => Some(Ended::Refused(CloseCode::Unsupported)),
            // A ping is answered, and a close handshake gone on with, by reading on.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_))) => None,
            Some(Err(Error::Capacity(_))) => Some(Ended::Refused(CloseCode::Size)),
            Some(Err(Error::Io(error))) if error.kind() == io::ErrorKind::QuotaExceeded => {
                Some(Ended::Refused(CloseCode::Again))
            }
            Some(Err(Error::Io(error))) if error.kind() == io::ErrorKind::TimedOut => {
                Some(Ended::Refused(CloseCode::Policy))
            }
            Some(Err(Error::Utf8(_))) => Some(Ended::Refused(CloseCode::Invalid)),
            Some(Err(Error::Protocol(_))) => Some(Ended::Refused(CloseCode::Protocol)),
            Some(Err(_)) | None => Some(Ended::Gone),
        }
    }

    /// Lets calls in flight finish, and writes their answers as they come.
    async fn drain(&mut self) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                () = self.conversation.settled() => return,
                _ = self.line.outbox.take(&mut batch) => {
                    if !self.line.write(&mut batch).await {
                        return;
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    /// Writes the last answers, and closes as is proper.
    async fn say_goodbye(&mut self, ended: &Ended) {
        let (code, reason) = match ended {
            Ended::Gone => return,
            Ended::Asked => (CloseCode::Away, "the server is shutting down"),
            Ended::Refused(CloseCode::Size) => (CloseCode::Size, "the message is too long"),
            Ended::Refused(CloseCode::Again) => (CloseCode::Again, "too much is under way"),
            Ended::Refused(CloseCode::Policy) => {
                (CloseCode::Policy, "the message did not come in time, or what let you in does so no longer")
            }
            Ended::Refused(CloseCode::Unsupported) => (CloseCode::Unsupported, "messages are text"),
            Ended::Refused(code) => (*code, ""),
        };
        let mut batch = Vec::new();
        while self.outbox.take(&mut batch).await {
            if !self.write(&mut batch).await {
                return;
            }
        }
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        if self.stream.close(Some(frame)).await.is_ok() {
            // The peer's own close ends the handshake.
            while let Some(Ok(_)) = self.stream.next().await {}
        }
    }

    async fn write(&mut self, batch: &mut Vec<Outgoing>) -> bool {
        for message in batch.drain(..) {
            let size = message.len();
            let Ok(text) = Utf8Bytes::try_from(message.into_bytes()) else { continue };
            if !self.send(Message::Text(text)).await {
                return false;
            }
            self.outbox.written(size);
        }
        true
    }

    /// Returns false if the peer is gone, or does not read.
    async fn send(&mut self, message: Message) -> bool {
        match timeout(WRITE_PATIENCE, self.stream.send(message)).await {
            Ok(sent) => sent.is_ok(),
            Err(_) => {
                info!("a WebSocket is closed: its client does not read");
                false
            }
        }
    }
}
