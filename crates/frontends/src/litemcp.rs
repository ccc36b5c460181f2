//! LiteMCP: one tool at a time, told in strings (S4). Here on standard input and output; `http/litemcp.rs` has the
//! rest.

mod conversation;
mod dispatcher;
mod recent_ids;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Budget, Outbox, Tasks};
use manifold_protocol::Fault;
use manifold_protocol::framing::{Frame, TripleNewlineDecoder, triple_newline};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::timeout;
use tracing::info;

use crate::stdio::{CROWDED_BYTES, LAST_WORDS, write};

pub(crate) use conversation::Conversation;
pub use service::Service;

pub struct Options {
    /// The longest message a client may send (`limits.requestBytes`).
    pub limit_bytes: usize,
    /// What all messages under way may take up.
    pub budget: Budget,
    pub drain_timeout: Duration,
}

/// Serves one client until its input ends or `stop` resolves, then lets calls in flight finish.
pub async fn serve<I, O>(
    service: Service,
    (input, output): (I, O),
    options: Options,
    stop: impl Future<Output = ()>,
    tasks: &Tasks,
) where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let outbox = Arc::new(Outbox::new(CROWDED_BYTES).within(&options.budget));
    service.serve_only(&outbox);
    // One writer, so that answers never mix (S4-3).
    tasks.spawn(write(Arc::clone(&outbox), output, |message, frames| {
        frames.push_with(message, triple_newline::TERMINATOR);
    }));
    let mut conversation = Conversation::new(service, Arc::clone(&outbox));
    tokio::select! {
        () = read(&mut conversation, &outbox, input, &options) => info!("client disconnected: its input ended"),
        () = stop => {
            info!("asked to stop");
            conversation.leave();
        }
    }
    tokio::select! {
        drained = timeout(options.drain_timeout, conversation.settled()) => if drained.is_err() {
            info!("drain timeout: the calls still in flight are cancelled");
        },
        () = outbox.stalled(LAST_WORDS) => info!("the client does not read; its calls are cancelled"),
    }
    conversation.close().await;
    let _ = timeout(LAST_WORDS, outbox.flushed()).await;
    outbox.abandon();
}

async fn read<I: AsyncRead + Unpin>(
    conversation: &mut Conversation,
    outbox: &Outbox,
    mut input: I,
    options: &Options,
) {
    let mut decoder = TripleNewlineDecoder::new(options.limit_bytes);
    loop {
        let ended = !matches!(input.read_buf(decoder.buffer()).await, Ok(count) if count > 0);
        loop {
            let frame = match decoder.next() {
                // A last message that is complete needs no terminator (decision 27).
                None if ended => decoder.finish(),
                frame => frame,
            };
            let Some(frame) = frame else { break };
            // A client that does not read is not served more (F20), nor is one where too much is under way (F35).
            outbox.uncrowded().await;
            options.budget.room().await;
            match frame {
                Frame::Message(message) => conversation.receive(options.budget.hold(message)).await,
                Frame::Refused { id, .. } => {
                    let limit_bytes = options.limit_bytes;
                    conversation.refuse(id, &Fault::TooLarge { server: None, limit_bytes });
                }
            }
        }
        if ended {
            return;
        }
    }
}
