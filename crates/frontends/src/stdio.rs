//! The client that spawned us, on standard input and output.

mod pipe;
mod streams;

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use manifold_engine::{Budget, Outbox, Tasks};
use manifold_protocol::framing::{ClientDecoder, Frame, FrameError, Framing};
use manifold_protocol::{Fault, Id, envelope};
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::debug;

use crate::serve::{self, End};
use crate::session::{Destination, Outlet, Received, Session};

use pipe::Pipe;
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
    if let Ok(gateway) = &destination.gateway {
        gateway.serve_only(&outbox);
    }
    let gateway = destination.gateway.clone().ok();
    let pipe = Pipe::new(destination.gateway.clone(), Arc::clone(&destination.requester), &outbox, tasks);
    let session = Session::new(destination, Arc::clone(&outbox) as Arc<dyn Outlet>);

    let requests = Requests::new(&session, &pipe, &outbox, &framing, &options);
    let mut reading = pin!(serve::read(requests, input, &outbox, &options.budget));
    let mut stop = pin!(stop);
    let leaving = serve::until_stopped(&mut reading, &mut stop).await;
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
    serve::drain(settled, &outbox, options.drain_timeout).await;
    session.close();
    pipe.modern.close();
    serve::flush(&outbox).await;
}

/// What a client sends, cut into messages.
struct Requests<'s> {
    session: &'s Arc<Session>,
    pipe: &'s Arc<Pipe>,
    outlet: Arc<dyn Outlet>,
    framing: &'s OnceLock<Framing>,
    decoder: ClientDecoder,
    options: &'s Options,
}

impl<'s> Requests<'s> {
    fn new(
        session: &'s Arc<Session>,
        pipe: &'s Arc<Pipe>,
        outbox: &Arc<Outbox>,
        framing: &'s OnceLock<Framing>,
        options: &'s Options,
    ) -> Self {
        let decoder = ClientDecoder::new(options.limit_bytes, options.framing);
        Self { session, pipe, outlet: Arc::clone(outbox) as Arc<dyn Outlet>, framing, decoder, options }
    }

    fn refuse(&self, id: Option<Id>, why: FrameError) {
        debug!(?why, "input refused");
        let fault = match why {
            FrameError::Parse => Fault::Parse,
            FrameError::TooLong => Fault::TooLarge { server: None, limit_bytes: self.options.limit_bytes },
            FrameError::BadHeader => {
                Fault::InvalidRequest("the Content-Length header cannot be read".to_owned())
            }
        };
        self.session.reject(id.as_ref(), &fault);
    }
}

impl serve::Reader for Requests<'_> {
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
                match receive(message, self.session, self.pipe, &self.outlet) {
                    Received::Done => {}
                    Received::Exit => return ControlFlow::Break(()),
                    Received::Unfinished(start) => self.decoder.gather(start),
                }
            }
            Frame::Refused { id, why } => self.refuse(id, why),
        }
        ControlFlow::Continue(())
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

#[cfg(test)]
mod tests;
