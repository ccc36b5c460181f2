//! Requests of the era without sessions on a pipe that may carry both: told apart one by one.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use bytes::Bytes;
use foldhash::HashMap;
use manifold_engine::{ClientId, Gateway, Lock as _, Requester, Tasks};
use manifold_protocol::dialect::modern;
use manifold_protocol::envelope::{Incoming, Message, Refusal, RefusalKind};
use manifold_protocol::{Fault, Id, Method, Outgoing, Raw, notification};

use crate::modern::{Lane, ModernService, Request, RequestHandle, Seen, Verdict, refusal};
use crate::session::{Outlet, Session};
use crate::shim::KeptCall;

const DOUBLE: &str = "a call with this id is in flight";

/// The side of the pipe that serves single requests.
pub(crate) struct Pipe {
    pub(crate) modern: Arc<ModernService>,
    gateway: Result<Arc<Gateway>, Fault>,
    /// Requests without an answer; ids are shared with those of the session.
    open: Mutex<HashMap<Id, Option<RequestHandle>>>,
    client: OnceLock<ClientId>,
    requester: Arc<Requester>,
}

impl Pipe {
    pub(crate) fn new(
        gateway: Result<Arc<Gateway>, Fault>,
        requester: Arc<Requester>,
        tasks: &Tasks,
    ) -> Arc<Self> {
        Arc::new(Self {
            modern: ModernService::new(tasks),
            gateway,
            open: Mutex::default(),
            client: OnceLock::new(),
            requester,
        })
    }

    /// Takes what is of this era, and gives back what is the session's.
    /// Answers go by the outlet, as do those of the session.
    pub(crate) fn take(
        self: &Arc<Self>,
        incoming: Incoming,
        message: &Bytes,
        session: &Session,
        outlet: &Arc<dyn Outlet>,
    ) -> Option<Incoming> {
        // A request of this era is shown where it is known which call it is a part of.
        if session.tap().is_on() && !is_of_this_era(&incoming) {
            session.show_heard(message);
        }
        match incoming {
            Incoming::One(Message::Request { id, method, params })
                if modern::version_of(params.as_ref()).is_some() =>
            {
                let seen = Seen::if_watched(session.tap(), message);
                if self.is_open(&id) || session.is_in_flight(&id) {
                    outlet.answer(refusal(Some(&id), &Fault::InvalidRequest(DOUBLE.to_owned())).into());
                } else {
                    if self.client.get().is_none() {
                        session.note_passing(params.as_ref());
                    }
                    self.serve(id, method.into(), params, outlet, seen);
                }
                None
            }
            // Answering it would answer the first one.
            Incoming::One(Message::Request { id, .. }) if self.is_open(&id) => {
                session.reject_on(outlet, Some(&id), &Fault::InvalidRequest(DOUBLE.to_owned()));
                None
            }
            Incoming::One(Message::Notification { method, params })
                if method.as_str() == notification::CANCELLED && self.cancel(params.as_ref()) =>
            {
                None
            }
            Incoming::Batch(messages) => {
                let double = |message: Message| match message {
                    Message::Request { id, .. } if self.is_open(&id) => {
                        Err(Refusal { id: Some(id), kind: RefusalKind::Invalid(DOUBLE) })
                    }
                    message => Ok(message),
                };
                Some(Incoming::Batch(messages.into_iter().map(|one| one.and_then(double)).collect()))
            }
            rest => Some(rest),
        }
    }

    fn serve(
        self: &Arc<Self>,
        id: Id,
        method: Method,
        params: Option<Raw>,
        outlet: &Arc<dyn Outlet>,
        seen: Option<Seen>,
    ) {
        let gateway = match &self.gateway {
            Ok(gateway) => gateway,
            Err(fault) => return outlet.answer(refusal(Some(&id), fault).into()),
        };
        let client = *self.client.get_or_init(|| gateway.passer_by());
        self.lock().insert(id.clone(), None);
        let lane = Arc::new(PipeLane { pipe: Arc::clone(self), id: id.clone(), outlet: Arc::clone(outlet) });
        let request = Request {
            id: id.clone(),
            method,
            params,
            requester: Arc::clone(&self.requester),
            entrance: b"stdio".to_vec(),
            client,
            seen,
        };
        let handle = self.modern.serve(gateway, request, lane);
        // It may be answered by now.
        if let Some(open) = self.lock().get_mut(&id) {
            *open = Some(handle);
        }
    }

    /// Returns whether the request to be taken back was one of ours.
    fn cancel(&self, params: Option<&Raw>) -> bool {
        let id = params.and_then(|params| Id::from_raw(&params.get("requestId")?));
        let Some(handle) = id.and_then(|id| self.lock().remove(&id)) else { return false };
        if let Some(handle) = handle {
            handle.cancel(params.and_then(|params| params.get("reason")));
        }
        true
    }

    fn is_open(&self, id: &Id) -> bool {
        self.lock().contains_key(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Option<RequestHandle>>> {
        self.open.locked()
    }
}

fn is_of_this_era(incoming: &Incoming) -> bool {
    let Incoming::One(Message::Request { params, .. }) = incoming else { return false };
    modern::version_of(params.as_ref()).is_some()
}

/// The way back for one request.
struct PipeLane {
    pipe: Arc<Pipe>,
    id: Id,
    outlet: Arc<dyn Outlet>,
}

impl Lane for PipeLane {
    fn answer(&self, _verdict: Verdict, message: Outgoing) {
        // The id is free before the client can know.
        let _answered = self.pipe.lock().remove(&self.id);
        self.outlet.answer(message);
    }

    fn say(&self, message: Bytes) {
        self.outlet.ask(message);
    }

    fn tell(&self, message: Bytes) {
        self.outlet.tell(message);
    }

    fn abandon(&self) {
        self.outlet.abandon();
    }

    fn dispatched(&self) {
        self.outlet.dispatched();
    }

    fn address(&self) -> Option<String> {
        self.outlet.address()
    }

    fn kept(&self) -> Option<Arc<KeptCall>> {
        self.outlet.kept()
    }
}
