//! From what we work with to what is written down of it, and back.

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{AnswerStep, ReturnAddress};
use manifold_protocol::envelope::MethodName;
use manifold_protocol::framing::Unfinished;
use manifold_protocol::{Call, Caller, Fault, Raw};
use tokio::time::Instant;

use super::encoding::{Data, Json};
use super::saved::{SavedAddress, SavedCaller, SavedRequest, SavedStep, SavedTrouble, SavedUnfinished};

impl From<ReturnAddress> for SavedAddress {
    fn from(address: ReturnAddress) -> Self {
        let steps = address.steps.into_iter().map(SavedStep::from).collect();
        Self { session: address.session, id: Json(address.id), steps }
    }
}

impl SavedAddress {
    /// Returns the address; `None` if something is to be done with the answer that we know nothing of.
    pub(crate) fn read(self) -> Option<ReturnAddress> {
        let steps = self.steps.into_iter().map(SavedStep::read).collect::<Option<_>>()?;
        Some(ReturnAddress { session: self.session, id: self.id.0, steps })
    }
}

impl SavedTrouble {
    /// Keeps what a server has failed for, where that is a reason in words.
    pub(crate) fn of((fault, since): (Fault, Instant)) -> Option<Self> {
        let (Fault::FailedToStart { reason, .. } | Fault::NotRunning { reason, .. }) = fault else {
            return None;
        };
        let failing_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or_default();
        Some(Self { reason, failing_ms })
    }

    pub(crate) fn read(self, server: &str) -> (Fault, Instant) {
        let now = Instant::now();
        let since = now.checked_sub(Duration::from_millis(self.failing_ms)).unwrap_or(now);
        (Fault::FailedToStart { server: server.to_owned(), reason: self.reason }, since)
    }
}

impl From<AnswerStep> for SavedStep {
    fn from(step: AnswerStep) -> Self {
        match step {
            AnswerStep::AllowAnyStructured => Self::AllowAnyStructured,
            AnswerStep::NameTask { server, is_shared } => Self::NameTask { server, is_shared },
            AnswerStep::ExposeTask { server } => Self::ExposeTask { server },
            AnswerStep::RenameContents { original, exposed } => Self::RenameContents { original, exposed },
        }
    }
}

impl SavedStep {
    fn read(self) -> Option<AnswerStep> {
        Some(match self {
            Self::AllowAnyStructured => AnswerStep::AllowAnyStructured,
            Self::NameTask { server, is_shared } => AnswerStep::NameTask { server, is_shared },
            Self::ExposeTask { server } => AnswerStep::ExposeTask { server },
            Self::RenameContents { original, exposed } => AnswerStep::RenameContents { original, exposed },
            Self::Unknown => return None,
        })
    }
}

impl From<&Call> for SavedRequest {
    fn from(call: &Call) -> Self {
        let json = |raw: &Raw| Json(raw.clone());
        let caller = call.caller.as_ref().map(|caller| SavedCaller {
            capabilities: json(&caller.capabilities),
            info: caller.info.as_ref().map(json),
            log_level: caller.log_level.as_ref().map(json),
            retries: caller.retries,
            is_retry: caller.is_retry,
        });
        Self { method: call.method.as_str().to_owned(), params: call.params.as_ref().map(json), caller }
    }
}

impl From<SavedRequest> for Call {
    fn from(saved: SavedRequest) -> Self {
        let caller = saved.caller.map(|caller| {
            Arc::new(Caller {
                capabilities: caller.capabilities.0,
                info: caller.info.map(|info| info.0),
                log_level: caller.log_level.map(|level| level.0),
                retries: caller.retries,
                is_retry: caller.is_retry,
                words: Default::default(),
            })
        });
        let method = MethodName::from(saved.method.as_str()).into();
        Self { method, params: saved.params.map(|params| params.0), caller }
    }
}

impl From<Unfinished> for SavedUnfinished {
    fn from(unfinished: Unfinished) -> Self {
        let long = unfinished.long.map(|(head, tail, bytes)| (Data(head), Data(tail), bytes));
        Self { rest: Data(unfinished.rest), long, newlines: unfinished.newlines }
    }
}

impl From<SavedUnfinished> for Unfinished {
    fn from(saved: SavedUnfinished) -> Self {
        let long = saved.long.map(|(head, tail, bytes)| (head.0, tail.0, bytes));
        Self { rest: saved.rest.0, long, newlines: saved.newlines }
    }
}
