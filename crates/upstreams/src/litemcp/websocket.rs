//! LiteMCP over a WebSocket: one message per text frame, many calls at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use manifold_protocol::Fault;
use manifold_protocol::Outgoing;
use manifold_protocol::framing::Line;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::meet;
use crate::connection::{Connection, Dialect, Way};
use crate::remote::{Fields, HttpClient, Noted, Reached, Remote, Stream, Unreached};
use crate::supervisor::Running;

/// How long a server may leave what we wrote unread before it is taken for dead.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);
/// A frame now and then keeps the ways between open, and shows a peer that is gone.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long the closing of a WebSocket may take.
const LAST_WORD: Duration = Duration::from_millis(200);

/// What asks for a WebSocket, but for the key (RFC 6455, 4.1).
const ASKED: &str = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";

type Socket = WebSocketStream<Box<dyn Stream>>;

/// Opens the socket, asks for the tool and starts everything that speaks with the server.
pub(super) async fn reach(remote: &Remote, client: Arc<HttpClient>) -> Result<Running<Reached>, Fault> {
    let deadline = Instant::now() + remote.server.start_timeout;
    let (stream, came) = open(&client).await.map_err(|why| remote.refused(why))?;
    let limit = Some(remote.limit_bytes);
    let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
    let socket = Socket::from_partially_read(stream, came.into(), Role::Client, Some(config)).await;
    let (writer, reader) = socket.split();

    let connection = remote.connection();
    connection.speak(Dialect::litemcp(Way::Messages(Default::default())));
    let (gone, mut is_gone) = watch::channel(None);
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&connection).keep_deadlines());
    tasks.spawn(read_messages(Arc::clone(&connection), reader, gone.clone()));
    let mut writing = JoinSet::new();
    writing.spawn(write_messages(Arc::clone(&connection), writer, gone));
    let met = tokio::select! {
        met = meet(&connection, deadline) => met,
        why = is_gone.wait_for(Option::is_some) => Err(match why {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => "its connection was closed".to_owned(),
        }),
    };
    let said = met.map_err(|why| {
        connection.close(&why);
        remote.failed(why)
    })?;
    Ok(Running { connection, said, pid: None, life: Reached::new(is_gone, tasks).parting(writing) })
}

/// Asks the server to turn an HTTP connection into a WebSocket.
async fn open(client: &HttpClient) -> Result<(Box<dyn Stream>, Bytes), Unreached> {
    let key = generate_key();
    let fields = Fields::new(ASKED).with("sec-websocket-key", &key);
    let (head, stream, came) = client.upgrade(&fields).await?;
    let accepted = head.noted(Noted::WebSocketAccept);
    if accepted.is_none_or(|value| value != derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(Unreached::Broken("its answer to the WebSocket handshake is wrong".to_owned()));
    }
    Ok((stream, came))
}

async fn read_messages(
    connection: Arc<Connection>,
    mut reader: SplitStream<Socket>,
    gone: watch::Sender<Option<String>>,
) {
    let why = loop {
        connection.room().await;
        match reader.next().await {
            Some(Ok(Message::Text(text))) => connection.receive(Line::Whole(Bytes::from(text))),
            Some(Ok(Message::Binary(bytes))) => connection.receive(Line::Whole(bytes)),
            // Pings are answered by the socket itself.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_))) => {
                // The answer to its closing is written by the next reading.
                let _ = timeout(LAST_WORD, reader.next()).await;
                break "it closed its WebSocket".to_owned();
            }
            None => break "it closed its WebSocket".to_owned(),
            Some(Err(Error::Capacity(_))) => {
                break "it sent a message over the limit, which ends a WebSocket".to_owned();
            }
            Some(Err(error)) => break format!("its WebSocket broke: {error}"),
        }
    };
    gone.send_replace(Some(why));
}

async fn write_messages(
    connection: Arc<Connection>,
    mut writer: SplitSink<Socket, Message>,
    gone: watch::Sender<Option<String>>,
) {
    let mut batch = Vec::new();
    loop {
        let written = match timeout(HEARTBEAT, connection.outbox.take(&mut batch)).await {
            Ok(true) => timeout(WRITE_PATIENCE, write(&connection, &mut writer, &mut batch)).await,
            Ok(false) => break,
            Err(_) => timeout(WRITE_PATIENCE, writer.send(Message::Ping(Bytes::new()))).await,
        };
        let why = match written {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => format!("its WebSocket broke: {error}"),
            Err(_) => "it does not read its WebSocket".to_owned(),
        };
        gone.send_replace(Some(why));
        return connection.outbox.abandon();
    }
    // Best effort: who closes first says so.
    let _ = timeout(LAST_WORD, writer.close()).await;
}

async fn write(
    connection: &Connection,
    writer: &mut SplitSink<Socket, Message>,
    batch: &mut Vec<Outgoing>,
) -> Result<(), Error> {
    for message in batch.drain(..) {
        let bytes = message.len();
        let text = Utf8Bytes::try_from(message.into_bytes()).map_err(|_| Error::Utf8(String::new()))?;
        writer.send(Message::Text(text)).await?;
        connection.outbox.written(bytes);
    }
    Ok(())
}
