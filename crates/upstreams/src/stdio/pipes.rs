//! The pipes of a process: messages in and out, and what it writes beside them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Buf, Bytes};
use manifold_engine::{YIELD_EVERY, busy_poll};
use manifold_protocol::framing::{Line, LineDecoder, Unfinished};
use manifold_protocol::{Frames, Outgoing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use super::release::{Release, Released};
use crate::connection::Connection;
use crate::logs::LogRing;
use crate::process::{ServerInput, ServerOutput};

const MAX_LOG_LINE_BYTES: usize = 64 << 10;

/// What a server may say beside the protocol within this time: 8 MiB a second.
const LOG_BURST_BYTES: usize = 64 << 10;

const LOG_BURST_TIME: Duration = Duration::from_millis(8);

/// How long a server may leave what we wrote unread before it is taken for dead.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

/// What is written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Returns what cuts a server's output, from where another program stopped if one did.
pub(super) fn decoder(limit_bytes: usize, unread: Option<Unfinished>) -> LineDecoder {
    match unread {
        Some(unread) => LineDecoder::resume(limit_bytes, unread),
        None => LineDecoder::new(limit_bytes),
    }
}

/// Reads messages until the server's output ends, or somebody else is to go on.
pub(super) async fn read_messages(
    connection: Arc<Connection>,
    mut stdout: ServerOutput,
    mut lines: LineDecoder,
    release: Arc<Release>,
) -> Released {
    // What an earlier program read may hold whole messages.
    let reading = async {
        loop {
            let mut taken = 0_usize;
            while let Some(line) = lines.next() {
                connection.receive(line);
                taken += 1;
                if taken.is_multiple_of(YIELD_EVERY) && connection.has_only_client() {
                    yield_now().await;
                }
            }
            connection.room().await;
            if fill(&mut lines, &mut stdout).await == 0 {
                break;
            }
            busy_poll::mark();
        }
    };
    if !release.until_told(reading).await {
        return Released::Output { stdout, unread: lines.into_unfinished() };
    }
    if let Some(line) = lines.finish() {
        connection.receive(line);
    }
    connection.fall_silent();
    Released::Nothing
}

/// Reads what the server says beside the protocol until that ends, or somebody else is to go on.
pub(super) async fn read_log(
    logs: Arc<LogRing>,
    mut stderr: ServerOutput,
    unread: Option<Unfinished>,
    release: Arc<Release>,
) -> Released {
    let take = |line| match line {
        Line::Whole(bytes) => logs.push(&bytes),
        Line::TooLong { head, .. } => logs.push(&head),
    };
    let mut lines = decoder(MAX_LOG_LINE_BYTES, unread);
    let reading = async {
        // One that floods its log is always read, but at a pace that leaves the processor to calls (F8).
        let (mut since, mut read) = (Instant::now(), 0);
        while let count @ 1.. = fill(&mut lines, &mut stderr).await {
            while let Some(line) = lines.next() {
                take(line);
            }
            read += count;
            if read >= LOG_BURST_BYTES {
                // Long past where so much took its time.
                sleep_until(since + LOG_BURST_TIME).await;
                (since, read) = (Instant::now(), 0);
            }
        }
    };
    if !release.until_told(reading).await {
        return Released::Log { stderr, unread: lines.into_unfinished() };
    }
    if let Some(line) = lines.finish() {
        take(line);
    }
    Released::Nothing
}

/// Reads some of a pipe and returns how much; nothing at its end.
async fn fill(lines: &mut LineDecoder, pipe: &mut ServerOutput) -> usize {
    pipe.read_buf(lines.buffer()).await.unwrap_or(0)
}

/// What is being written to a server, each message with its end.
pub(super) struct Writing {
    connection: Arc<Connection>,
    stdin: ServerInput,
    end: &'static str,
    /// Taken from the outbox.
    batch: VecDeque<Outgoing>,
    /// On its way into the pipe.
    frames: Frames,
}

impl Writing {
    /// Begins with what another program left unwritten.
    pub(super) fn new(
        connection: Arc<Connection>,
        stdin: ServerInput,
        end: &'static str,
        unwritten: Bytes,
    ) -> Self {
        let mut frames = Frames::default();
        frames.push_with(unwritten.into(), "");
        Self { connection, stdin, end, batch: VecDeque::new(), frames }
    }

    /// Writes what the outbox holds until that is closed, or somebody else is to go on.
    pub(super) async fn write(mut self, said_hello: Arc<AtomicBool>, release: Arc<Release>) -> Released {
        if release.until_told(self.write_all(&said_hello)).await {
            return Released::Nothing;
        }
        for message in self.batch.drain(..) {
            self.frames.push_with(message, self.end);
        }
        let rest = self.frames.copy_to_bytes(self.frames.remaining());
        Released::Input { stdin: self.stdin, unwritten: rest.into() }
    }

    async fn write_all(&mut self, said_hello: &AtomicBool) {
        if self.frames.has_remaining() && !self.write_frames(0).await {
            return;
        }
        while self.connection.outbox.take(&mut self.batch).await {
            while let Some(message) = self.batch.pop_front() {
                // All that is ready goes in one write, up to a size.
                let mut bytes = message.len();
                self.frames.push_with(message, self.end);
                while let Some(more) = self.batch.pop_front_if(|next| bytes + next.len() <= WRITE_BYTES) {
                    bytes += more.len();
                    self.frames.push_with(more, self.end);
                }
                if !self.write_frames(bytes).await {
                    return;
                }
                said_hello.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Writes what is on its way, so many bytes of messages. Returns whether the server takes any more.
    async fn write_frames(&mut self, bytes: usize) -> bool {
        match timeout(WRITE_PATIENCE, self.stdin.write_all_buf(&mut self.frames)).await {
            Ok(Ok(())) => {
                self.connection.outbox.written(bytes);
                true
            }
            Ok(Err(_)) | Err(_) => {
                self.connection.outbox.abandon();
                self.connection.fall_silent();
                false
            }
        }
    }
}
