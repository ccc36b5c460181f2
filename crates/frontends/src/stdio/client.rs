//! One client of either era on a pair of streams, however its messages are framed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_engine::{Gateway, Outbox, Tasks};
use manifold_protocol::envelope::{self, Refusal, RefusalKind};
use manifold_protocol::framing::FrameError;
use manifold_protocol::{Fault, Id};
use tokio::sync::Notify;
use tracing::debug;

use super::pipe::Pipe;
use crate::serve::{self, End};
use crate::session::{Destination, Outlet, Received, Session};

pub(crate) struct StreamClient {
    pub(crate) session: Arc<Session>,
    pub(crate) pipe: Arc<Pipe>,
    gateway: Option<Arc<Gateway>>,
    /// Told when an operator wants the client gone.
    pub(crate) unwanted: Arc<Notify>,
}

impl StreamClient {
    /// Serves one client, whose only way out is the outbox; what belongs to no request goes by the outlet.
    pub(crate) fn new(
        destination: Destination,
        outbox: &Arc<Outbox>,
        outlet: Arc<dyn Outlet>,
        tasks: &Tasks,
    ) -> Self {
        if let Ok(gateway) = &destination.gateway {
            gateway.serve_only(outbox);
        }
        let gateway = destination.gateway.clone().ok();
        let pipe = Pipe::new(destination.gateway.clone(), Arc::clone(&destination.requester), tasks);
        let (session, unwanted) = (Session::new(destination, outlet), Arc::new(Notify::new()));
        let tell = Arc::clone(&unwanted);
        session.on_disconnect(move || tell.notify_one());
        Self { session, pipe, gateway, unwanted }
    }

    /// Brings a message to the side it belongs to; its answer goes by the outlet.
    pub(crate) fn receive(&self, message: Bytes, outlet: &Arc<dyn Outlet>) -> Received {
        match envelope::parse(message.clone()) {
            Ok(incoming) => match self.pipe.take(incoming, &message, &self.session, outlet) {
                Some(incoming) => self.session.receive_on(incoming, outlet),
                None => Received::Done,
            },
            // Nobody can tell whose it was.
            Err(Refusal { kind: RefusalKind::Unfinished, .. }) => Received::Unfinished(message),
            Err(refusal) => {
                self.session.refuse_on(outlet, &refusal);
                Received::Done
            }
        }
    }

    /// Answers input that could not be cut into messages.
    pub(crate) fn refuse(
        &self,
        id: Option<Id>,
        why: FrameError,
        limit_bytes: usize,
        outlet: &Arc<dyn Outlet>,
    ) {
        debug!(?why, "input refused");
        let fault = match why {
            FrameError::Parse => Fault::Parse,
            FrameError::TooLong => Fault::TooLarge { server: None, limit_bytes },
            FrameError::BadHeader => {
                Fault::InvalidRequest("the Content-Length header cannot be read".to_owned())
            }
        };
        self.session.reject_on(outlet, id.as_ref(), &fault);
    }

    /// Serves until the client leaves or `stop` resolves, then lets calls in flight finish, and cancels the rest.
    pub(crate) async fn serve(
        &self,
        mut reading: Pin<&mut impl Future<Output = End>>,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        outbox: &Outbox,
        drain_timeout: Duration,
    ) {
        let (leaving, drain_timeout) = tokio::select! {
            leaving = serve::until_stopped(&mut reading, &mut stop) => (leaving, drain_timeout),
            // As if it had left at once.
            () = self.unwanted.notified() => (Some(End::Exit), Duration::ZERO),
        };
        self.session.stop_taking_calls();
        self.pipe.modern.stop();
        // The drain time is for calls at servers, not for lists that wait for starts (D2). Who had said all when it was read
        // wants it answered.
        if leaving != Some(End::OfScript) {
            self.leave();
        }
        // A client that stays can still answer questions and cancel calls while we wait for the rest.
        let settled = async {
            tokio::select! {
                () = self.settled() => {}
                _ = &mut reading, if leaving.is_none() => {
                    self.leave();
                    self.settled().await;
                }
                () = &mut stop, if leaving == Some(End::OfScript) => {
                    self.leave();
                    self.settled().await;
                }
            }
        };
        serve::drain(settled, outbox, drain_timeout).await;
        self.close();
    }

    pub(crate) fn leave(&self) {
        self.gateway.iter().for_each(|gateway| gateway.leave());
    }

    async fn settled(&self) {
        self.session.settled().await;
        self.pipe.modern.settled().await;
    }

    pub(crate) fn close(&self) {
        self.session.close();
        self.pipe.modern.close();
    }
}
