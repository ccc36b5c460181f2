//! Servers that speak LiteMCP: on their standard streams, over HTTP, or over a WebSocket. They live and die like any
//! other; only their words differ, and those are in `connection/dialect/litemcp.rs`.

mod http;
mod websocket;

use std::sync::Arc;

use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::framing::{TripleNewlineDecoder, Unfinished};
use manifold_protocol::{Failure, Fault, Method, Raw};
use tokio::io::AsyncReadExt;
use tokio::time::{Duration, Instant};

use crate::connection::{Connection, Dialect, Way};
use crate::process::ServerOutput;
use crate::remote::{HttpClient, Reached, Remote};
use crate::stdio::{Launch, Opened, Process, Release, Released};
use crate::supervisor::{Life, Running};

/// Starts a process and asks for its tool, which is all the handshake there is.
pub(crate) async fn start(launch: &Launch, deadline: Instant) -> Result<Running<Process>, Fault> {
    let Opened { pid, mut life, .. } = launch.open(deadline).await?;
    let connection = Arc::clone(&life.connection);
    connection.speak(Dialect::litemcp(Way::Messages(Default::default())));
    let met = tokio::select! {
        met = meet(&connection, deadline) => met.map_err(|why| match launch.logs.tail() {
            Some(tail) => format!("{why}; its log: {tail}"),
            None => why,
        }),
        () = launch.shutdowns.given_up() => Err("it is not wanted any more".to_owned()),
        how = life.exited() => Err(format!("it ended before it told of its tool, {how}")),
    };
    match met {
        Ok(said) => Ok(Running { connection, said, pid: Some(pid), life }),
        Err(why) => {
            connection.close(&why);
            life.stop().await;
            Err(launch.failed(why))
        }
    }
}

/// Reaches a server at an address, by the scheme of the address.
pub(crate) async fn reach(remote: &Remote, client: Arc<HttpClient>) -> Result<Running<Reached>, Fault> {
    match client.uri().scheme_str() {
        Some("ws" | "wss") => websocket::reach(remote, client).await,
        _ => http::reach(remote, client).await,
    }
}

/// Asks for the tool over an open pipe or WebSocket.
async fn meet(connection: &Connection, deadline: Instant) -> Result<ServerFacts, String> {
    let patience = deadline.saturating_duration_since(Instant::now());
    match connection.request(Method::ToolsList, None, patience).await {
        Ok(_) => Ok(facts()),
        Err(Failure::Fault(Fault::TimedOut { after, .. })) => Err(unanswered(after)),
        Err(Failure::Fault(Fault::Malformed { reason, .. })) => Err(reason),
        Err(Failure::Fault(fault)) => Err(fault.message()),
        Err(Failure::Peer(error)) => Err(error.as_str().to_owned()),
    }
}

fn unanswered(after: Duration) -> String {
    format!("it did not tell of its tool within {} ms; does it speak LiteMCP?", after.as_millis())
}

/// What is known of every server of this kind: it has a tool and nothing else.
fn facts() -> ServerFacts {
    ServerFacts {
        revision: "LiteMCP 1".to_owned(),
        capabilities: Raw::from_static(r#"{"tools":{}}"#),
        instructions: None,
    }
}

/// Returns what cuts a server's output, from where another program stopped if one did.
pub(crate) fn decoder(limit_bytes: usize, unread: Option<Unfinished>) -> TripleNewlineDecoder {
    match unread {
        Some(unread) => TripleNewlineDecoder::resume(limit_bytes, unread),
        None => TripleNewlineDecoder::new(limit_bytes),
    }
}

/// Reads what a server writes to its output, until that ends or somebody else is to go on.
pub(crate) async fn read_messages(
    connection: Arc<Connection>,
    mut stdout: ServerOutput,
    mut messages: TripleNewlineDecoder,
    release: Arc<Release>,
) -> Released {
    let reading = async {
        loop {
            while let Some(frame) = messages.next() {
                connection.receive_frame(frame);
            }
            connection.room().await;
            if !matches!(stdout.read_buf(messages.buffer()).await, Ok(count) if count > 0) {
                break;
            }
        }
    };
    if !release.until_told(reading).await {
        return Released::Output { stdout, unread: messages.into_unfinished() };
    }
    while let Some(frame) = messages.finish() {
        connection.receive_frame(frame);
    }
    connection.fall_silent();
    Released::Nothing
}
