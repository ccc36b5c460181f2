//! What belongs to one POST: a plain answer if that comes first, a stream if anything else does.

use manifold_engine::Lock as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use manifold_protocol::{Id, Outgoing};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::http::sessions::HttpSession;
use crate::http::stream::Stream;
use crate::http::timeouts::UNREAD_PATIENCE;
use crate::session::Outlet;

pub(super) struct PostLane {
    session: Arc<HttpSession>,
    /// Whether the client can read a stream in answer.
    may_stream: bool,
    /// The requests it answers, where others must know.
    answers: Vec<Id>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    answer: Option<Outgoing>,
    stream: Option<Arc<Stream>>,
    /// The call was cancelled: no answer will come.
    abandoned: bool,
    /// The client has left too much unread to be given more.
    is_refused: bool,
    /// The answer says to ask again after so many seconds.
    retry_after_secs: Option<u64>,
}

/// What a POST is answered with.
pub(super) enum First {
    Answer(Outgoing),
    Stream(Arc<Stream>),
    Nothing,
    Refused,
    /// There is no room for the call now; the answer says why.
    TurnedAway(Outgoing, u64),
}

impl PostLane {
    pub(super) fn new(session: Arc<HttpSession>, may_stream: bool) -> Arc<Self> {
        Self::answering(session, may_stream, Vec::new())
    }

    /// Opens the way back for these requests, of which a stream's log must tell.
    pub(super) fn answering(session: Arc<HttpSession>, may_stream: bool, answers: Vec<Id>) -> Arc<Self> {
        Arc::new(Self { session, may_stream, answers, state: Mutex::default(), changed: Notify::new() })
    }

    /// Waits for what comes first. Past `patience` the answer becomes a stream, unless the client cannot read one.
    pub(super) async fn first(&self, patience: Option<Duration>) -> First {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if let Some(stream) = &state.stream {
                    return First::Stream(Arc::clone(stream));
                }
                let eager = patience == Some(Duration::ZERO);
                if let Some(answer) = state.answer.take() {
                    if let Some(after) = state.retry_after_secs {
                        return First::TurnedAway(answer, after);
                    }
                    if !eager {
                        return First::Answer(answer);
                    }
                    let stream = self.stream(&mut state);
                    stream.push(answer.into_bytes());
                    stream.finish();
                    return First::Stream(stream);
                }
                if state.is_refused {
                    return First::Refused;
                }
                if state.abandoned {
                    return First::Nothing;
                }
                if eager {
                    return First::Stream(self.stream(&mut state));
                }
            }
            match deadline {
                None => changed.await,
                Some(deadline) => {
                    if timeout_at(deadline, changed).await.is_err() {
                        let mut state = self.lock();
                        if state.answer.is_none() && !state.abandoned {
                            return First::Stream(self.stream(&mut state));
                        }
                    }
                }
            }
        }
    }

    fn stream(&self, state: &mut State) -> Arc<Stream> {
        Arc::clone(state.stream.get_or_insert_with(|| self.session.open_stream(&self.answers)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl Outlet for PostLane {
    fn answer(&self, message: Outgoing) {
        let unread = &self.session.budget;
        let is_too_much = !unread.grants(message.len(), UNREAD_PATIENCE);
        let mut state = self.lock();
        if is_too_much {
            // Keeping it would cost everybody: a client that does not read learns nothing anyway (F20).
            state.is_refused = true;
            if let Some(stream) = &state.stream {
                stream.finish();
            }
            drop(state);
            return self.changed.notify_one();
        }
        match &state.stream {
            Some(stream) => {
                stream.push(message.into_bytes());
                stream.finish();
            }
            // A stream counts what it is given itself.
            None => state.answer = Some(message.map(|piece| unread.hold(piece))),
        }
        drop(state);
        self.changed.notify_one();
    }

    fn answer_busy(&self, message: Outgoing, retry_after_secs: u64) {
        self.lock().retry_after_secs = Some(retry_after_secs);
        self.answer(message);
    }

    fn ask(&self, message: Bytes) {
        if !self.may_stream {
            return self.session.general.ask(message);
        }
        let stream = self.stream(&mut self.lock());
        stream.push(message);
        self.changed.notify_one();
    }

    fn can_ask(&self) -> bool {
        self.may_stream || self.session.general.is_attached()
    }

    fn tell(&self, message: Bytes) {
        if !self.may_stream {
            return self.session.general.tell(message);
        }
        let stream = self.stream(&mut self.lock());
        stream.tell(message);
        self.changed.notify_one();
    }

    fn release_connection(&self) {
        if let Some(stream) = &self.lock().stream {
            stream.let_go();
        }
    }

    fn abandon(&self) {
        let mut state = self.lock();
        state.abandoned = true;
        if let Some(stream) = &state.stream {
            stream.finish();
        }
        drop(state);
        self.changed.notify_one();
    }
}
