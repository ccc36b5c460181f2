//! The client that spawned us, on standard input and output.

mod client;
mod pipe;
mod streams;

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use manifold_engine::{Budget, Tasks};
use manifold_protocol::framing::{ClientDecoder, Frame, Framing};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::serve;
use crate::session::{Destination, Outlet, Received};

pub(crate) use client::StreamClient;
pub use streams::{Input, Output, standard_streams};

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
    let framing = Arc::new(OnceLock::new());
    let spoken = Arc::clone(&framing);
    let outbox = serve::start_writer(output, &options.budget, tasks, move |message, frames| {
        // We never speak first, so the client's framing is known by now.
        frames.push(spoken.get().copied().unwrap_or(Framing::Newline), message);
    });
    let outlet = Arc::clone(&outbox) as Arc<dyn Outlet>;
    let client = StreamClient::new(destination, &outbox, Arc::clone(&outlet), tasks);
    let requests = Requests::new(&client, outlet, &framing, &options);
    let reading = pin!(serve::read(requests, input, &outbox, &options.budget));
    client.serve(reading, pin!(stop), &outbox, options.drain_timeout).await;
    serve::flush(&outbox).await;
}

/// What a client sends, cut into messages.
struct Requests<'s> {
    client: &'s StreamClient,
    outlet: Arc<dyn Outlet>,
    framing: &'s OnceLock<Framing>,
    decoder: ClientDecoder,
    options: &'s Options,
}

impl<'s> Requests<'s> {
    fn new(
        client: &'s StreamClient,
        outlet: Arc<dyn Outlet>,
        framing: &'s OnceLock<Framing>,
        options: &'s Options,
    ) -> Self {
        let decoder = ClientDecoder::new(options.limit_bytes, options.framing);
        Self { client, outlet, framing, decoder, options }
    }
}

impl serve::Reader for Requests<'_> {
    type Frame = Frame;

    fn buffer(&mut self) -> &mut BytesMut {
        self.decoder.buffer()
    }

    fn next(&mut self, ended: bool) -> Option<Frame> {
        match self.decoder.next() {
            None if ended => self.decoder.finish(),
            frame => frame,
        }
    }

    fn receive(&mut self, frame: Frame) -> ControlFlow<()> {
        if let Some(detected) = self.decoder.framing() {
            let _ = self.framing.set(detected);
        }
        match frame {
            Frame::Message(message) => {
                let message = self.options.budget.hold(message);
                match self.client.receive(message, &self.outlet) {
                    Received::Done => {}
                    Received::Exit => return ControlFlow::Break(()),
                    Received::Unfinished(start) => self.decoder.gather(start),
                }
            }
            Frame::Refused { id, why } => {
                self.client.refuse(id, why, self.options.limit_bytes, &self.outlet);
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
