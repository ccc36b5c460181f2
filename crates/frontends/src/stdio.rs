//! The client that spawned us, on standard input and output.

mod pipe;
mod streams;

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use manifold_engine::{Budget, Outbox, TURN, Tasks, busy_poll};
use manifold_protocol::framing::{ClientDecoder, Frame, FrameError, Framing};
use manifold_protocol::{Fault, Frames, Outgoing, envelope};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::yield_now;
use tokio::time::timeout;
use tracing::{debug, info};

use crate::session::{Destination, Outlet, Received, Session};

use pipe::Pipe;
pub use streams::{Input, Output, standard_streams};

/// What a client may be owed before no more of its requests are read.
pub(crate) const CROWDED_BYTES: usize = 16 << 20;
/// Small messages that are ready together leave in one write of up to this many bytes.
const WRITE_BYTES: usize = 64 << 10;
/// How long a client that is leaving may take to read what it is owed.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

pub struct Options {
    /// The longest message a client may send (`limits.requestBytes`).
    pub limit_bytes: usize,
    /// What all messages under way may take up.
    pub budget: Budget,
    pub drain_timeout: Duration,
    /// `None`: as the client's first bytes say.
    pub framing: Option<Framing>,
}

/// Serves one client until it leaves or `stop` resolves, then lets calls in flight finish.
pub async fn serve<I, O>(
    destination: Destination,
    (input, output): (I, O),
    options: Options,
    stop: impl Future<Output = ()>,
    tasks: &Tasks,
) where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let outbox = Arc::new(Outbox::new(CROWDED_BYTES).within(&options.budget));
    if let Ok(gateway) = &destination.gateway {
        gateway.serve_only(&outbox);
    }
    let gateway = destination.gateway.clone().ok();
    let pipe = Pipe::new(destination.gateway.clone(), Arc::clone(&destination.requester), &outbox, tasks);
    let session = Session::new(destination, Arc::clone(&outbox) as Arc<dyn Outlet>);
    let framing = Arc::new(OnceLock::new());
    let spoken = Arc::clone(&framing);
    tasks.spawn(write(Arc::clone(&outbox), output, move |message, frames| {
        // We never speak first, so the client's framing is known by now.
        frames.push(spoken.get().copied().unwrap_or(Framing::Newline), message);
    }));

    let reading = read(&session, &pipe, &outbox, &framing, input, &options);
    tokio::pin!(reading, stop);
    let leaving = tokio::select! {
        end = &mut reading => {
            info!("client disconnected: {}", end.as_str());
            Some(end)
        }
        () = &mut stop => {
            info!("asked to stop");
            None
        }
    };
    session.stop_taking_calls();
    pipe.modern.stop();
    // The drain time is for calls at servers, not for lists that wait for starts (D2). Who had said all when it was read
    // wants it answered.
    let leave = || gateway.iter().for_each(|gateway| gateway.leave());
    if leaving != Some(End::OfScript) {
        leave();
    }
    // A client that stays can still answer questions and cancel calls while we wait for the rest.
    let both_settled = || async {
        session.settled().await;
        pipe.modern.settled().await;
    };
    let settled = async {
        tokio::select! {
            () = both_settled() => {}
            _ = &mut reading, if leaving.is_none() => {
                leave();
                both_settled().await;
            }
            () = &mut stop, if leaving == Some(End::OfScript) => {
                leave();
                both_settled().await;
            }
        }
    };
    tokio::select! {
        drained = timeout(options.drain_timeout, settled) => if drained.is_err() {
            info!("drain timeout: the calls still in flight are cancelled");
        },
        // Answers that nobody takes would keep their calls in flight to the end of it.
        () = outbox.stalled(LAST_WORDS) => info!("the client does not read; its calls are cancelled"),
    }
    session.close();
    pipe.modern.close();
    let _ = timeout(LAST_WORDS, outbox.flushed()).await;
    outbox.abandon();
}

/// How a client's input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was there already when the last requests were: a file, or a script that has said all.
    OfScript,
    /// It came when there was nothing left to read: the client is leaving.
    OfClient,
    Exit,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            Self::OfScript | Self::OfClient => "its input ended",
            Self::Exit => "it said so",
        }
    }
}

/// Reads until there is something. Returns whether the input has ended, and whether there was nothing at first.
async fn fill<I: AsyncRead + Unpin>(input: &mut I, buffer: &mut BytesMut) -> (bool, bool) {
    let reading = input.read_buf(buffer);
    tokio::pin!(reading);
    let mut waited = false;
    let read = poll_fn(|context| {
        let polled = reading.as_mut().poll(context);
        waited |= polled.is_pending();
        polled
    });
    let ended = !matches!(read.await, Ok(count) if count > 0);
    (ended, waited)
}

async fn read<I: AsyncRead + Unpin>(
    session: &Arc<Session>,
    pipe: &Arc<Pipe>,
    outbox: &Arc<Outbox>,
    framing: &OnceLock<Framing>,
    mut input: I,
    options: &Options,
) -> End {
    let outlet = Arc::clone(outbox) as Arc<dyn Outlet>;
    let mut decoder = ClientDecoder::new(options.limit_bytes, options.framing);
    loop {
        // A client that does not read is not served more: what it is owed stays bounded (F20).
        outbox.uncrowded().await;
        // Nor is it where all that is under way takes up too much (F35).
        options.budget.room().await;
        let (ended, waited) = fill(&mut input, decoder.buffer()).await;
        busy_poll::mark();
        for taken in 1_usize.. {
            if taken.is_multiple_of(TURN) {
                yield_now().await;
            }
            let frame = match decoder.next() {
                None if ended => decoder.finish(),
                frame => frame,
            };
            let Some(frame) = frame else { break };
            // What was read already must not be served faster than it is taken, either.
            outbox.uncrowded().await;
            options.budget.room().await;
            if let Some(detected) = decoder.framing() {
                let _ = framing.set(detected);
            }
            match frame {
                Frame::Message(message) => {
                    match receive(options.budget.hold(message), session, pipe, &outlet) {
                        Received::Done => {}
                        Received::Exit => return End::Exit,
                        Received::Unfinished(start) => decoder.gather(start),
                    }
                }
                Frame::Refused { id, why } => {
                    debug!(?why, "input refused");
                    let fault = match why {
                        FrameError::Parse => Fault::Parse,
                        FrameError::TooLong => {
                            Fault::TooLarge { server: None, limit_bytes: options.limit_bytes }
                        }
                        FrameError::BadHeader => {
                            Fault::InvalidRequest("the Content-Length header cannot be read".to_owned())
                        }
                    };
                    session.reject(id.as_ref(), &fault);
                }
            }
        }
        if ended {
            return if waited { End::OfClient } else { End::OfScript };
        }
    }
}

/// Brings a message to the side it belongs to.
fn receive(message: Bytes, session: &Arc<Session>, pipe: &Arc<Pipe>, outlet: &Arc<dyn Outlet>) -> Received {
    match envelope::parse(message.clone()) {
        Ok(incoming) => match pipe.take(incoming, session) {
            Some(incoming) => session.receive_on(incoming, outlet),
            None => Received::Done,
        },
        // Nobody can tell whose it was.
        Err(_) => session.receive(message),
    }
}

/// Writes what the outbox holds, each message whole and framed by `push`.
pub(crate) async fn write<O: AsyncWrite + Unpin>(
    outbox: Arc<Outbox>,
    mut output: O,
    push: impl Fn(Outgoing, &mut Frames),
) {
    let mut batch: Vec<Outgoing> = Vec::new();
    let mut frames = Frames::default();
    while outbox.take(&mut batch).await {
        let mut waiting = 0;
        for message in batch.drain(..) {
            waiting += message.len();
            push(message, &mut frames);
            if waiting >= WRITE_BYTES {
                if output.write_all_buf(&mut frames).await.is_err() {
                    return outbox.abandon();
                }
                outbox.written(std::mem::take(&mut waiting));
            }
        }
        if output.write_all_buf(&mut frames).await.is_err() || output.flush().await.is_err() {
            return outbox.abandon();
        }
        outbox.written(waiting);
    }
}

#[cfg(test)]
mod tests;
