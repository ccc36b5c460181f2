//! One call of an operator's on its way, and what is told of it meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_admin::{AskEvent, CommandError, ErrorCode};
use manifold_engine::{CallHandle, Cancel, ClientId, Exchange, Gateway, Lock as _, Requester, Sink};
use manifold_protocol::{Call, Caller, Era, Failure, Kind, Raw, Reply};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::seen::Seen;
use super::wanted::Wanted;
use super::{CAPABILITIES, operator, timed_out};
use crate::admin::questions::{Question, Questions, decline, new_id};
use crate::admin::underway::{Ask, given_up};
use crate::admin::{Office, errors};
use crate::questions;

/// Of progress that nobody has read so much is kept, the newest.
const MAX_PROGRESS: usize = 64;

/// A call on its way, held by whoever waits for it. Letting go of it takes the call back.
pub(in crate::admin) struct Asking {
    shared: Arc<Shared>,
    flight: Arc<CallHandle<dyn Sink>>,
    /// When nobody waits any more, and how long that was.
    deadline: Option<(Instant, Duration)>,
    underway: Ask,
    _hold: Box<dyn Send + Sync>,
}

struct Shared {
    gateway: Arc<Gateway>,
    client: ClientId,
    requester: Arc<Requester>,
    /// Whether somebody is there to answer questions.
    answers: bool,
    owner: Option<String>,
    uri: Option<String>,
    questions: Arc<Questions>,
    state: Mutex<State>,
    arrived: Notify,
    /// The call, where somebody watches.
    seen: Option<Seen>,
}

#[derive(Default)]
struct State {
    events: VecDeque<AskEvent>,
    /// Questions that were told, by number; an answered one stays.
    asked: Vec<String>,
}

impl Asking {
    pub(super) fn begin(
        office: &Office,
        gateway: Arc<Gateway>,
        wanted: Wanted,
        (answers, deadline): (bool, Option<(Instant, Duration)>),
        underway: Ask,
    ) -> Self {
        let requester = Requester::local();
        requester.set_name("manifold");
        let caller = Caller {
            capabilities: Raw::from_static(CAPABILITIES),
            info: Some(operator()),
            log_level: None,
            retries: false,
            is_retry: false,
            words: Default::default(),
        };
        let client = gateway.passer_by();
        let shared = Arc::new(Shared {
            seen: Seen::if_watched(&gateway, client, &wanted.call),
            client,
            requester,
            answers,
            owner: wanted.owner,
            uri: wanted.uri,
            questions: Arc::clone(&office.questions),
            state: Mutex::default(),
            arrived: Notify::new(),
            gateway,
        });
        let (mut exchange, flight) = Exchange::open(Asker(Arc::clone(&shared)));
        exchange.set_number(shared.seen.as_ref().and_then(Seen::number));
        shared.gateway.dispatch(wanted.call.by(Arc::new(caller)), exchange);
        Self { shared, flight, deadline, underway, _hold: office.program.hold() }
    }

    /// Waits for what is told next. Nothing is lost by waiting anew.
    pub(super) async fn next(&mut self) -> AskEvent {
        let deadline = self.deadline;
        let is_late = async {
            match deadline {
                Some((at, patience)) => {
                    sleep_until(at).await;
                    patience
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = self.shared.next() => event,
            patience = is_late => {
                self.flight.cancel(Some(Raw::from_static(r#""the operator's patience is over""#)));
                AskEvent::Error { error: timed_out(patience) }
            }
            () = self.underway.cut_off() => AskEvent::Error { error: given_up() },
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // Nothing happens to one that is answered.
        self.flight.cancel(Some(Raw::from_static(r#""the operator left""#)));
        if let Some(seen) = &self.shared.seen {
            seen.left();
        }
        let asked = std::mem::take(&mut self.shared.lock().asked);
        for id in asked {
            drop(self.shared.questions.take(&id));
        }
        self.shared.gateway.passed_by(self.shared.client);
    }
}

impl Shared {
    async fn next(&self) -> AskEvent {
        loop {
            let arrived = self.arrived.notified();
            if let Some(event) = self.lock().events.pop_front() {
                return event;
            }
            arrived.await;
        }
    }

    /// Returns why there is no result. A client is told that there is no such resource; an operator may know the rule.
    fn why(&self, failure: &Failure) -> CommandError {
        let error = errors::of_call(failure, self.owner.as_deref());
        let denied = |uri: &String| {
            let mut kinds = [Kind::Resources, Kind::Templates].into_iter();
            let rule = kinds.find_map(|kind| self.gateway.why_denied(kind, uri))?;
            let message = format!("resource '{uri}' may not be read: {rule}");
            Some(CommandError::new(ErrorCode::Denied, message))
        };
        let unknown = self.uri.as_ref().filter(|_| error.code == ErrorCode::UnknownItem);
        unknown.and_then(denied).unwrap_or(error)
    }

    fn tell(&self, event: AskEvent) {
        self.lock().events.push_back(event);
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

/// The asking end of the call.
struct Asker(Arc<Shared>);

impl Sink for Asker {
    fn reply(&self, reply: Reply) {
        if let Some(seen) = &self.0.seen {
            seen.answered(&reply);
        }
        self.0.tell(match reply {
            Ok(answer) => match raw_value(&answer.plain()) {
                Some(result) => AskEvent::Result { result },
                None => AskEvent::Error {
                    error: CommandError::new(ErrorCode::ServerError, "the server's result is not JSON"),
                },
            },
            Err(failure) => AskEvent::Error { error: self.0.why(&failure) },
        });
    }

    fn progress(&self, params: Raw) {
        let Some(params) = raw_value(&params) else { return };
        let mut state = self.0.lock();
        let is_progress = |event: &AskEvent| matches!(event, AskEvent::Progress { .. });
        if state.events.iter().filter(|event| is_progress(event)).count() >= MAX_PROGRESS
            && let Some(oldest) = state.events.iter().position(is_progress)
        {
            state.events.remove(oldest);
        }
        drop(state);
        self.0.tell(AskEvent::Progress { params });
    }

    fn ask(&self, call: Call, exchange: Exchange) {
        let shared = &self.0;
        let capabilities = Raw::from_static(CAPABILITIES);
        if questions::lacking(&capabilities, &call, Era::Legacy).is_some() {
            return shared.gateway.decline(&call, exchange);
        }
        let Some(id) = new_id().filter(|_| shared.answers) else {
            return decline(&shared.gateway, &call, exchange);
        };
        let call = questions::for_session(call);
        let number = {
            let mut state = shared.lock();
            state.asked.push(id.clone());
            state.asked.len() as u64 - 1
        };
        if !exchange.set_canceller(Arc::clone(shared) as Arc<dyn Cancel>, number) {
            return;
        }
        let event = AskEvent::Question {
            id: id.clone(),
            server: shared.owner.clone(),
            method: call.method.as_str().to_owned(),
            params: call.params.as_ref().and_then(raw_value),
        };
        shared.questions.put(&id, Question { call, exchange, gateway: Arc::clone(&shared.gateway) });
        shared.tell(event);
    }

    fn client(&self) -> Option<ClientId> {
        Some(self.0.client)
    }

    fn requester(&self) -> Option<&Arc<Requester>> {
        Some(&self.0.requester)
    }
}

/// The server takes back a question.
impl Cancel for Shared {
    fn cancel(&self, number: u64, _reason: Option<Raw>) {
        let id = usize::try_from(number).ok().and_then(|at| self.lock().asked.get(at).cloned());
        let Some(id) = id else { return };
        let withdrawn = self.questions.take(&id);
        if withdrawn.is_some() {
            self.tell(AskEvent::Withdrawn { id });
        }
    }
}

/// Returns raw JSON as what is written into answers, its bytes as they are.
fn raw_value(raw: &Raw) -> Option<Box<RawValue>> {
    RawValue::from_string(raw.as_str().to_owned()).ok()
}
