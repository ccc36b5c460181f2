//! A client of the daemon: its shim relays its messages in frames, and comes back by itself when we are replaced.

mod kept;
mod outlet;
mod reader;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Budget, Outbox, Tasks};
use manifold_rendezvous::Stages;
use manifold_rendezvous::frame::Kind;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tracing::info;

use crate::litemcp::{Conversation, Service};
use crate::serve::{self, End};
use crate::session::{Destination, Outlet};
use crate::stdio::StreamClient;
pub use kept::{KeptCall, KeptCalls};
use outlet::{ShimOutlet, framed};
use reader::{LiteMessages, Requests};

/// How long a shim may take to read the last words, which are few: its client may be slow, it is not.
const PARTING: Duration = Duration::from_secs(2);

pub struct Options {
    /// The longest message a client may send (`limits.requestBytes`).
    pub limit_bytes: usize,
    /// What all messages under way may take up.
    pub budget: Budget,
    pub drain_timeout: Duration,
}

/// Why we leave a client that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Another process takes our place at once, servers and their calls with it.
    Replaced,
    /// We restart: what is in flight is finished, and the client comes back for the rest.
    Restarting,
    /// We end by order: what is in flight is finished, and nobody starts us again before there is something to do.
    Stopping,
}

/// What the daemon says to people who look at a client's log.
#[derive(Clone)]
pub struct Notes(Arc<Outbox>);

impl Notes {
    /// Sends a line, unless the client is far behind.
    pub fn tell(&self, line: &str) {
        self.0.push_droppable(framed(Kind::Note, 0, line.as_bytes()));
    }
}

/// What a session is known by, and what is left of the one it goes on with.
#[derive(Clone)]
pub struct Continuation {
    pub session: Arc<str>,
    /// Its name with the process before; empty if there was none.
    pub before: Arc<str>,
    /// How many questions its client was asked by the processes before.
    pub questions: u64,
    pub kept: Arc<KeptCalls>,
}

/// A client as it is served.
pub struct ShimSession {
    client: StreamClient,
    outbox: Arc<Outbox>,
    outlet: Arc<dyn Outlet>,
    stages: Arc<Stages>,
    continuation: Continuation,
    input: OwnedReadHalf,
    options: Options,
}

impl ShimSession {
    /// Takes up a client whose shim is at the other end of the socket.
    pub fn new(
        destination: Destination,
        socket: UnixStream,
        (stages, continuation): (Arc<Stages>, Continuation),
        options: Options,
        tasks: &Tasks,
    ) -> Self {
        let (input, output) = socket.into_split();
        let outbox = start_writer(output, &options.budget, tasks);
        let outlet: Arc<dyn Outlet> = Arc::new(ShimOutlet::new(&outbox, &stages, &continuation.session, 0));
        let client = StreamClient::new(destination, &outbox, Arc::clone(&outlet), tasks);
        if !continuation.before.is_empty() {
            client.session.go_on_after(continuation.questions);
        }
        Self { client, outbox, outlet, stages, continuation, input, options }
    }

    /// Returns by which way lines for people reach the client.
    pub fn notes(&self) -> Notes {
        Notes(Arc::clone(&self.outbox))
    }

    /// Serves until the client leaves, or `leave` says that we do. Where another process takes our place, what was said to
    /// the client by the time `suspended` resolves still reaches it.
    pub async fn serve(self, leave: impl Future<Output = Leaving>, suspended: impl Future<Output = ()>) {
        let Self { client, outbox, outlet, stages, continuation, input, options } = self;
        let requests = Requests::new(&client, &outbox, outlet, stages, continuation, options.limit_bytes);
        let leaving = {
            let reading = pin!(serve::read(requests, input, &outbox, &options.budget));
            tokio::select! {
                end = reading => Err((end, options.drain_timeout)),
                leaving = leave => Ok(leaving),
                // As if it had left at once: its shim ends, and with it the client's connection.
                () = client.unwanted.notified() => Err((End::Exit, Duration::ZERO)),
            }
        };
        match leaving {
            Err((end, drain_timeout)) => {
                let ended = pin!(async { end });
                client.serve(ended, pin!(std::future::pending()), &outbox, drain_timeout).await;
                outbox.push(framed(Kind::Over, 0, b""));
                serve::flush(&outbox).await;
            }
            Ok(Leaving::Replaced) => {
                outbox.push(framed(Kind::Hold, 0, b""));
                suspended.await;
                part_from(&outbox).await;
                // Its calls go on: nothing of it may end as if it had left.
                std::mem::forget(client);
            }
            Ok(leaving) => part(&client, &outbox, leaving, options.drain_timeout).await,
        }
    }
}

/// Serves a LiteMCP client, likewise.
pub async fn serve_litemcp(
    service: Service,
    socket: UnixStream,
    stages: Arc<Stages>,
    options: Options,
    leave: impl Future<Output = Leaving>,
    tasks: &Tasks,
) {
    let (input, output) = socket.into_split();
    let outbox = start_writer(output, &options.budget, tasks);
    service.serve_only(&outbox);
    let mut conversation = Conversation::new(service, Arc::clone(&outbox));
    let messages = LiteMessages::new(&mut conversation, &outbox, stages, options.limit_bytes);
    let left = {
        let reading = pin!(serve::read(messages, input, &outbox, &options.budget));
        tokio::select! {
            end = reading => Err(end),
            leaving = leave => Ok(leaving),
        }
    };
    if let Ok(leaving) = left {
        outbox.push(framed(leaving.kind(), 0, b""));
    }
    if left != Err(End::OfScript) {
        conversation.leave();
    }
    if left != Ok(Leaving::Replaced) {
        serve::drain(conversation.settled(), &outbox, options.drain_timeout).await;
    }
    match left {
        Ok(_) => part_from(&outbox).await,
        Err(_) => {
            conversation.close().await;
            outbox.push(framed(Kind::Over, 0, b""));
            serve::flush(&outbox).await;
        }
    }
}

fn start_writer(output: OwnedWriteHalf, budget: &Budget, tasks: &Tasks) -> Arc<Outbox> {
    serve::start_writer(output, budget, tasks, |message, frames| frames.push_with(message, ""))
}

impl Leaving {
    /// Returns what a shim is told.
    fn kind(self) -> Kind {
        if self == Self::Stopping { Kind::Stopping } else { Kind::Hold }
    }
}

/// Lets a shim have the last words, and ends what is said to it.
async fn part_from(outbox: &Outbox) {
    let _ = tokio::time::timeout(PARTING, outbox.flushed()).await;
    outbox.abandon();
}

/// Leaves a client that stays: it hears no end of anything that goes on elsewhere.
async fn part(client: &StreamClient, outbox: &Arc<Outbox>, leaving: Leaving, drain_timeout: Duration) {
    info!(?leaving, "leaving a client");
    outbox.push(framed(leaving.kind(), 0, b""));
    client.leave();
    let settled = async {
        client.session.settled().await;
        client.pipe.modern.calls_settled().await;
    };
    serve::drain(settled, outbox, drain_timeout).await;
    part_from(outbox).await;
    client.close();
}

#[cfg(test)]
mod tests;
