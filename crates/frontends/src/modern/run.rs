//! One call at its server, over as many requests as the client needs to make it: a question sends the client away
//! with something to answer, and whoever comes back with the answers waits for the rest.

mod ending;
mod rounds;

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use manifold_engine::{
    CallHandle, Cancel, ClientId, Exchange, Gateway, Level, Lock as _, RequestWords, Requester,
    ReturnAddress, Sink,
};
use manifold_protocol::dialect::modern::{REVISION, rounds::InputRequired};
use manifold_protocol::{
    Answer, Call, Caller, Failure, Fault, Id, Mark, Method, Raw, Reply, envelope, notification,
};
use tokio::time::Instant;
use tracing::debug;

use super::{Lane, ModernService, encode, may_return};
use crate::parked::{self, Digest, PlaceId, Resumption};
use crate::questions;
use rounds::{Question, key};

/// What a client asked for, as it asked.
pub(super) struct OriginalRequest {
    pub(super) method: Method,
    pub(super) params: Option<Raw>,
    pub(super) requester: Arc<Requester>,
    pub(super) entrance: Vec<u8>,
    pub(super) client: ClientId,
}

impl OriginalRequest {
    /// Returns what a state for this call is bound to.
    pub(super) fn digest(&self) -> Digest {
        parked::digest(&self.requester.principal, &self.entrance, &self.method, self.params.as_ref())
    }
}

/// One request of the client's that waits for its answer.
pub(super) struct PendingRequest {
    pub(super) number: u64,
    /// The number under which it is watched, if it is.
    pub(super) watched: Option<NonZeroU64>,
    pub(super) id: Id,
    pub(super) lane: Arc<dyn Lane>,
    pub(super) token: Option<Raw>,
    /// Log messages from here on are wanted.
    pub(super) level: Option<Level>,
}

pub(crate) struct Run {
    modern: Arc<ModernService>,
    gateway: Arc<Gateway>,
    original: OriginalRequest,
    /// The number under which the call is watched: that of the first request.
    watched: Option<NonZeroU64>,
    /// Where it waits for its client, once it has had to.
    place: OnceLock<Result<PlaceId, Fault>>,
    state: Mutex<State>,
}

struct State {
    flight: Option<Arc<CallHandle<dyn Sink>>>,
    pending: Option<PendingRequest>,
    /// As the last request said.
    caller: Arc<Caller>,
    questions: Vec<Question>,
    asked: u64,
    round: u32,
    /// Whether a round is about to be put to the client.
    gathers: bool,
    /// Since when nobody waits for the answer.
    alone_since: Option<Instant>,
    /// The end, if it came while nobody waited.
    reply: Option<Reply>,
    progress: Progress,
    /// What the client would have had to declare for a question that was declined.
    lacking: Option<Raw>,
    is_over: bool,
}

#[derive(Default)]
struct Progress {
    /// The last value the client was told.
    told: Option<f64>,
    /// What came while nobody waited.
    untold: Option<Raw>,
}

impl Run {
    pub(super) fn new(
        modern: &Arc<ModernService>,
        gateway: &Arc<Gateway>,
        original: OriginalRequest,
        caller: Arc<Caller>,
        pending: PendingRequest,
    ) -> Arc<Self> {
        let watched = pending.watched;
        let state = State {
            flight: None,
            pending: Some(pending),
            caller,
            questions: Vec::new(),
            asked: 0,
            round: 0,
            gathers: false,
            alone_since: None,
            reply: None,
            progress: Progress::default(),
            lacking: None,
            is_over: false,
        };
        let (modern, gateway) = (Arc::clone(modern), Arc::clone(gateway));
        let state = Mutex::new(state);
        Arc::new(Self { modern, gateway, original, watched, place: OnceLock::new(), state })
    }

    pub(super) fn watched(&self) -> Option<NonZeroU64> {
        self.watched
    }

    pub(crate) fn client(&self) -> ClientId {
        self.original.client
    }

    pub(super) fn takes_off(&self, flight: Arc<CallHandle<dyn Sink>>) {
        self.lock().flight = Some(flight);
    }

    /// Brings the server's own reply to the client.
    fn conclude(&self, pending: PendingRequest, reply: Reply) {
        let reply = match reply {
            Err(Failure::Peer(error)) => self.soften(error),
            Ok(answer) if answer.mark() == Mark::InputRequired => Ok(self.reseal(answer)),
            reply => reply,
        };
        self.deliver(pending, reply);
    }

    fn deliver(&self, pending: PendingRequest, reply: Reply) {
        if matches!(&reply, Err(Failure::Fault(Fault::TimedOut { .. }))) {
            pending.lane.note_timeout();
        }
        let (verdict, message) = encode(&pending.id, reply, &self.original.method, &self.gateway);
        pending.lane.answer(verdict, message);
        self.modern.answered(pending.number);
    }

    /// Writes an error of a server's in words of this era where it has others.
    fn soften(&self, error: Raw) -> Reply {
        let (caller, lacking) = {
            let state = self.lock();
            (Arc::clone(&state.caller), state.lacking.clone())
        };
        if let Some(visits) = questions::urls_to_visit(&error) {
            let can = may_return(&self.original.method)
                && caller.capabilities.path(&["elicitation", "url"]).is_some();
            return match self.seal(&Resumption::Again).filter(|_| can) {
                Some(state) => {
                    let questions =
                        visits.into_iter().zip(1..).map(|(pending, at)| (key(at), pending)).collect();
                    let round = InputRequired { questions, state: Some(state) };
                    Ok(Answer::marked(round.encode(), Mark::InputRequired))
                }
                None => Err(Failure::Peer(questions::spell_out_urls(&error, &visits))),
            };
        }
        match lacking {
            // The server failed for want of an answer that this client could not be asked for.
            Some(required) => {
                debug!(%error, "a call failed after a question the client cannot be asked");
                Err(Fault::MissingCapability { required }.into())
            }
            None => Err(Failure::Peer(error)),
        }
    }

    /// Wraps a server's own state that would be taken for one of ours, as another gateway's would.
    fn reseal(&self, answer: Answer) -> Answer {
        let foreign = |result: &Raw| {
            let state = result.get("requestState")?;
            let state = state.to_text().filter(|state| state.starts_with(parked::PREFIX))?.into_owned();
            let sealed = self.seal(&Resumption::Foreign(state))?;
            let mut object = result.object()?;
            object.set("requestState", sealed);
            Some(object.into_raw())
        };
        answer.map(|result| foreign(&result).unwrap_or(result))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// The asking end of the call.
pub(super) struct Asker(pub(super) Arc<Run>);

impl Sink for Asker {
    fn reply(&self, reply: Reply) {
        let mut state = self.0.lock();
        state.flight = None;
        let questions = std::mem::take(&mut state.questions);
        let pending = state.pending.take();
        match pending {
            Some(pending) => {
                state.is_over = true;
                drop(state);
                self.0.vacate();
                self.0.conclude(pending, reply);
            }
            None => {
                // Kept for whoever comes back.
                state.reply = Some(reply);
                drop(state);
            }
        }
        drop(questions);
    }

    fn dispatched(&self) {
        if let Some(pending) = &self.0.lock().pending {
            pending.lane.dispatched();
        }
    }

    fn words(&self) -> Option<RequestWords> {
        let state = self.0.lock();
        let id = state.pending.as_ref()?.id.to_string();
        Some(RequestWords { id, revision: REVISION })
    }

    fn address(&self) -> Option<ReturnAddress> {
        let state = self.0.lock();
        let pending = state.pending.as_ref()?;
        Some(ReturnAddress { session: pending.lane.address()?, id: pending.id.to_raw(), steps: Vec::new() })
    }

    fn progress(&self, params: Raw) {
        let mut state = self.0.lock();
        let value = value_of(&params);
        // It must increase, also over several requests.
        if matches!((value, state.progress.told), (Some(value), Some(told)) if value <= told) {
            return;
        }
        match &state.pending {
            None => state.progress.untold = Some(params.detached()),
            Some(pending) => {
                if let Some(token) = &pending.token {
                    tell_progress(pending, params, token);
                    state.progress.told = value.or(state.progress.told);
                }
            }
        }
    }

    fn notice(&self, method: &str, params: Option<Raw>) {
        if method != notification::MESSAGE {
            return;
        }
        let state = self.0.lock();
        let Some((pending, wanted)) =
            state.pending.as_ref().and_then(|pending| Some((pending, pending.level?)))
        else {
            return;
        };
        if Level::of_message(params.as_ref()).is_none_or(|level| level >= wanted) {
            pending.lane.tell(envelope::notification(method, params.as_ref()));
        }
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        let mut state = self.0.lock();
        if state.is_over {
            return;
        }
        if !may_return(&self.0.original.method) || state.is_lacking_for(&call) {
            drop(state);
            return self.0.gateway.decline(&call, exchange);
        }
        state.asked += 1;
        let number = state.asked;
        if !exchange.set_canceller(Arc::clone(&self.0) as Arc<dyn Cancel>, number) {
            return;
        }
        state.questions.push(Question { number, call, exchange });
        if state.pending.is_some() {
            self.0.gather(&mut state);
        }
    }

    fn client(&self) -> Option<ClientId> {
        Some(self.0.original.client)
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        Some(&self.0.original.requester)
    }

    fn number(&self) -> Option<NonZeroU64> {
        self.0.watched
    }

    fn wants_logs(&self) -> bool {
        self.0.lock().caller.log_level.is_some()
    }
}

/// The server takes back a question.
impl Cancel for Run {
    fn cancel(&self, number: u64, _reason: Option<Raw>) {
        let withdrawn = {
            let mut state = self.lock();
            let at = state.questions.iter().position(|question| question.number == number);
            at.map(|at| state.questions.remove(at))
        };
        drop(withdrawn);
    }
}

fn value_of(progress: &Raw) -> Option<f64> {
    progress.get("progress")?.as_str().parse().ok()
}

/// Tells of progress under the token of the request that waits now.
fn tell_progress(pending: &PendingRequest, params: Raw, token: &Raw) {
    let params = match params.object() {
        Some(mut object) if object.get("progressToken").as_ref() != Some(token) => {
            object.set("progressToken", token.clone());
            object.into_raw()
        }
        _ => params,
    };
    pending.lane.tell(envelope::notification(notification::PROGRESS, Some(&params)));
}
