//! One client on a pair of byte streams: read until it leaves or we are asked to stop, drained, flushed. What its
//! messages mean, its front end knows.

use std::future::{Ready, poll_fn};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use manifold_engine::{Budget, Outbox, Tasks, YIELD_EVERY, busy_poll};
use manifold_protocol::{Frames, Outgoing};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::yield_now;
use tokio::time::timeout;
use tracing::info;

/// What a client may be owed before no more of its requests are read.
pub(crate) const CROWDED_BYTES: usize = 16 << 20;
/// How long a client that is leaving may take to read what it is owed.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);
/// Small messages that are ready together leave in one write of up to this many bytes.
const WRITE_BYTES: usize = 64 << 10;

/// Takes what is read of one client.
pub(crate) trait Reader {
    /// What the input is cut into.
    type Frame;

    /// Returns where the bytes go that are read.
    fn buffer(&mut self) -> &mut BytesMut;

    /// Cuts off the next frame; once the input has ended, the rest of it too.
    fn next(&mut self, ended: bool) -> Option<Self::Frame>;

    /// Returns what to wait for before the next frame is taken, beside what all clients wait for.
    fn room(&mut self) -> Option<impl Future<Output = ()>> {
        None::<Ready<()>>
    }

    /// Takes a frame. `Break`: the client says that it leaves.
    fn receive(&mut self, frame: Self::Frame) -> ControlFlow<()>;
}

/// How a client's input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
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

/// Starts the writer of a client, and returns the outbox that it writes from, each message whole and framed by `push`.
pub(crate) fn start_writer<O: AsyncWrite + Unpin + Send + 'static>(
    output: O,
    budget: &Budget,
    tasks: &Tasks,
    push: impl Fn(Outgoing, &mut Frames) + Send + 'static,
) -> Arc<Outbox> {
    let outbox = Arc::new(Outbox::new(CROWDED_BYTES).within(budget));
    tasks.spawn(write(Arc::clone(&outbox), output, push));
    outbox
}

/// Reads all that a client says. Returns how that ended.
pub(crate) async fn read<I: AsyncRead + Unpin>(
    mut reader: impl Reader,
    mut input: I,
    outbox: &Outbox,
    budget: &Budget,
) -> End {
    loop {
        // A client that does not read is not served more: what it is owed stays bounded (F20).
        outbox.uncrowded().await;
        // Nor is it where all that is under way takes up too much (F35).
        budget.room().await;
        let (ended, waited) = fill(&mut input, reader.buffer()).await;
        busy_poll::mark();
        for taken in 1_usize.. {
            if taken.is_multiple_of(YIELD_EVERY) {
                yield_now().await;
            }
            let Some(frame) = reader.next(ended) else { break };
            // What was read already must not be served faster than it is taken, either.
            outbox.uncrowded().await;
            budget.room().await;
            if let Some(room) = reader.room() {
                room.await;
            }
            if reader.receive(frame).is_break() {
                return End::Exit;
            }
        }
        if ended {
            return if waited { End::OfClient } else { End::OfScript };
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

/// Serves until the client leaves, and returns how; or until `stop` resolves.
pub(crate) async fn until_stopped(
    reading: impl Future<Output = End>,
    stop: impl Future<Output = ()>,
) -> Option<End> {
    tokio::select! {
        end = reading => {
            info!("client disconnected: {}", end.as_str());
            Some(end)
        }
        () = stop => {
            info!("asked to stop");
            None
        }
    }
}

/// Waits for calls in flight, for as long as that is worth it. What is left then is for the caller to cancel.
pub(crate) async fn drain(settled: impl Future<Output = ()>, outbox: &Outbox, drain_timeout: Duration) {
    tokio::select! {
        drained = timeout(drain_timeout, settled) => if drained.is_err() {
            info!("drain timeout: the calls still in flight are cancelled");
        },
        // Answers that nobody takes would keep their calls in flight to the end of it.
        () = outbox.stalled(LAST_WORDS) => info!("the client does not read; its calls are cancelled"),
    }
}

/// Waits until the client has what it is owed, if it takes it, and ends its writer.
pub(crate) async fn flush(outbox: &Outbox) {
    let _ = timeout(LAST_WORDS, outbox.flushed()).await;
    outbox.abandon();
}

async fn write<O: AsyncWrite + Unpin>(
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
