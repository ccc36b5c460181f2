//! The pipes of a process: messages in and out, and what it writes beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manifold_engine::{YIELD_EVERY, busy_poll};
use manifold_protocol::framing::{Line, LineDecoder};
use manifold_protocol::{Frames, Outgoing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

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

pub(super) async fn read_messages(connection: Arc<Connection>, mut stdout: ServerOutput, limit_bytes: usize) {
    let mut lines = LineDecoder::new(limit_bytes);
    loop {
        connection.room().await;
        if fill(&mut lines, &mut stdout).await == 0 {
            break;
        }
        busy_poll::mark();
        let mut taken = 0_usize;
        while let Some(line) = lines.next() {
            connection.receive(line);
            taken += 1;
            if taken.is_multiple_of(YIELD_EVERY) && connection.has_only_client() {
                yield_now().await;
            }
        }
    }
    if let Some(line) = lines.finish() {
        connection.receive(line);
    }
    connection.fall_silent();
}

pub(super) async fn read_log(logs: Arc<LogRing>, mut stderr: ServerOutput) {
    let take = |line| match line {
        Line::Whole(bytes) => logs.push(&bytes),
        Line::TooLong { head, .. } => logs.push(&head),
    };
    let mut lines = LineDecoder::new(MAX_LOG_LINE_BYTES);
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
    if let Some(line) = lines.finish() {
        take(line);
    }
}

/// Reads some of a pipe and returns how much; nothing at its end.
async fn fill(lines: &mut LineDecoder, pipe: &mut ServerOutput) -> usize {
    pipe.read_buf(lines.buffer()).await.unwrap_or(0)
}

/// Writes what the outbox holds, each message with its `end`.
pub(super) async fn write_messages(
    connection: Arc<Connection>,
    mut stdin: ServerInput,
    end: &'static str,
    said_hello: Arc<AtomicBool>,
) {
    let mut batch: Vec<Outgoing> = Vec::new();
    let mut frames = Frames::default();
    while connection.outbox.take(&mut batch).await {
        let mut messages = batch.drain(..).peekable();
        while let Some(message) = messages.next() {
            // All that is ready goes in one write, up to a size.
            let mut bytes = message.len();
            frames.push_with(message, end);
            while let Some(more) = messages.next_if(|next| bytes + next.len() <= WRITE_BYTES) {
                bytes += more.len();
                frames.push_with(more, end);
            }
            match timeout(WRITE_PATIENCE, stdin.write_all_buf(&mut frames)).await {
                Ok(Ok(())) => {
                    said_hello.store(true, Ordering::Relaxed);
                    connection.outbox.written(bytes);
                }
                Ok(Err(_)) | Err(_) => {
                    connection.outbox.abandon();
                    return connection.fall_silent();
                }
            }
        }
    }
}
