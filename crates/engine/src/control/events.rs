//! What an operator is told of as it happens.

use std::sync::{Arc, Weak};
use std::time::Duration;

use manifold_admin as admin;
use manifold_admin::{
    AuditLine, CallStage, CommandError, Cursor, ErrorCode, Happening, Recording, RecordingChange, ServerId,
};

use super::Control;
use crate::feed::{Events, Lane, Topics};
use crate::fleet::Fleet;
use crate::observe::{CallEnd, CallRecord, Observer, Outcome};
use crate::sync::Lock as _;
use crate::traffic::{SubscribeOptions, Subscription};

/// Each has a thread of the gateway's.
const MAX_WATCHERS: usize = 256;

impl Control {
    /// Returns what becomes of the state from now on; `None` once the gateway is gone.
    pub fn events(&self) -> Option<Events> {
        self.events_after(None, Topics::STATE)
    }

    /// Returns what happens after a place, or from now on. A place that is no longer known, or never was, is answered with
    /// one reset before anything else.
    pub fn events_after(&self, after: Option<Cursor>, topics: Topics) -> Option<Events> {
        let fleet = self.fleet().ok()?;
        let events = fleet.feed().watch(after, topics);
        if topics.has(Topics::CALL) {
            fleet.tell_of_calls();
        }
        Some(events)
    }

    /// Lets somebody see what goes over both hops.
    pub fn watch_traffic(&self, options: SubscribeOptions) -> Result<Subscription, CommandError> {
        let fleet = self.fleet()?;
        if fleet.traffic().readers() >= MAX_WATCHERS {
            let message = format!("{MAX_WATCHERS} watch the traffic already");
            return Err(CommandError::new(ErrorCode::Busy, message));
        }
        Ok(fleet.traffic().subscribe(options))
    }

    /// Returns the place where the events are now.
    pub fn cursor(&self) -> Cursor {
        self.fleet().map(|fleet| fleet.feed().cursor()).unwrap_or_default()
    }

    /// Tells those who watch that an operator has changed something, or tried to.
    pub fn publish_audit(&self, line: &AuditLine) {
        self.publish(|| Happening::Audit { line: Box::new(line.clone()) });
    }

    /// Tells those who watch that the daemon is about to end or to be replaced.
    pub fn publish_daemon(&self, change: &str) {
        self.publish(|| Happening::Daemon { change: change.to_owned() });
    }

    /// Tells those who watch that a recording was begun or has ended.
    pub fn publish_recording(&self, change: RecordingChange, recording: &Recording) {
        self.publish(|| Happening::Recording { change, recording: Box::new(recording.clone()) });
    }

    fn publish(&self, happening: impl FnOnce() -> Happening) {
        if let Ok(fleet) = self.fleet() {
            fleet.feed().publish(|| Some(happening()));
        }
    }
}

impl Fleet {
    /// Has calls told to those who watch, for as long as anybody does.
    fn tell_of_calls(&self) {
        let mut teller = self.call_teller().locked();
        if teller.is_none() {
            let observer: Arc<dyn Observer> = Arc::new(CallTeller { fleet: self.weak() });
            self.observers().add(Arc::clone(&observer));
            *teller = Some(observer);
        }
    }

    /// Tells nobody of calls any more, unless somebody has come meanwhile.
    fn tell_no_more(&self) {
        let mut teller = self.call_teller().locked();
        if !self.feed().is_made(Lane::Calls)
            && let Some(observer) = teller.take()
        {
            self.observers().remove(&observer);
        }
    }
}

/// Makes events of calls.
struct CallTeller {
    fleet: Weak<Fleet>,
}

impl Observer for CallTeller {
    fn began(&self, record: &CallRecord) {
        self.tell(|| CallStage::Began(began(record)));
    }

    fn ended(&self, record: &CallRecord, end: &CallEnd) {
        let ended = || admin::CallEnded {
            call: began(record),
            outcome: outcome(&end.outcome),
            took_us: micros(end.took),
            response_bytes: Some(end.response_bytes as u64),
        };
        self.tell(|| CallStage::Ended(ended()));
    }
}

impl CallTeller {
    fn tell(&self, stage: impl FnOnce() -> CallStage) {
        let Some(fleet) = self.fleet.upgrade() else { return };
        if !fleet.feed().leave(Lane::Calls, || Happening::Call { call: stage() }) {
            fleet.tell_no_more();
        }
    }
}

fn began(record: &CallRecord) -> admin::CallBegan {
    let target = record.target.as_ref();
    admin::CallBegan {
        number: record.number.get(),
        method: record.method.as_str().to_owned(),
        tool: target.and_then(|target| target.tool.clone()),
        client: record.client.map(|client| client.0),
        namespace: record.namespace.clone(),
        server: target.map(|target| ServerId { schema: None, id: target.server.clone() }),
        request_bytes: Some(record.request_bytes as u64),
    }
}

fn outcome(outcome: &Outcome) -> admin::CallOutcome {
    match outcome {
        Outcome::Result => admin::CallOutcome::Ok,
        Outcome::ToolError => admin::CallOutcome::ToolError,
        Outcome::ServerError => admin::CallOutcome::ServerError,
        Outcome::Fault("timed-out") => admin::CallOutcome::TimedOut,
        Outcome::Fault(_) => admin::CallOutcome::Fault,
        Outcome::Cancelled => admin::CallOutcome::Cancelled,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
