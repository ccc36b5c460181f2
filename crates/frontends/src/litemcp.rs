//! LiteMCP: one tool at a time, told in strings (S4). Here on standard input and output; `http/litemcp.rs` has the
//! rest.

mod conversation;
mod dispatcher;
mod recent_ids;
mod service;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use manifold_engine::{Budget, Tasks};
use manifold_protocol::Fault;
use manifold_protocol::framing::{Frame, TripleNewlineDecoder, triple_newline};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::serve;

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
    // One writer, so that answers never mix (S4-3).
    let outbox = serve::start_writer(output, &options.budget, tasks, |message, frames| {
        frames.push_with(message, triple_newline::TERMINATOR);
    });
    service.serve_only(&outbox);
    let mut conversation = Conversation::new(service, Arc::clone(&outbox));
    let requests = Requests::new(&mut conversation, &options);
    let reading = serve::read(requests, input, &outbox, &options.budget);
    // The drain time is for calls at servers; who had said all when it was read wants it answered (D2).
    if serve::until_stopped(reading, stop).await != Some(serve::End::OfScript) {
        conversation.leave();
    }
    serve::drain(conversation.settled(), &outbox, options.drain_timeout).await;
    conversation.close().await;
    serve::flush(&outbox).await;
}

/// What a client sends, cut into messages.
struct Requests<'s> {
    conversation: &'s mut Conversation,
    decoder: TripleNewlineDecoder,
    options: &'s Options,
}

impl<'s> Requests<'s> {
    fn new(conversation: &'s mut Conversation, options: &'s Options) -> Self {
        Self { conversation, decoder: TripleNewlineDecoder::new(options.limit_bytes), options }
    }
}

impl serve::Reader for Requests<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    fn next(&mut self, ended: bool) -> Option<Frame> {
        match self.decoder.next() {
            // A last message that is complete needs no terminator (decision 27).
            None if ended => self.decoder.finish(),
            frame => frame,
        }
    }

    fn room(&mut self) -> Option<impl Future<Output = ()>> {
        Some(self.conversation.room())
    }

    fn receive(&mut self, frame: Frame) -> ControlFlow<()> {
        match frame {
            Frame::Message(message) => self.conversation.receive(self.options.budget.hold(message)),
            Frame::Refused { id, .. } => {
                let limit_bytes = self.options.limit_bytes;
                self.conversation.refuse(id, &Fault::TooLarge { server: None, limit_bytes });
            }
        }
        ControlFlow::Continue(())
    }
}
