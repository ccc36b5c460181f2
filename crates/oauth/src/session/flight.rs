//! One refresh for everybody: who comes while it is under way waits for it, and who gives up does not end it.

use std::sync::Arc;

use tokio::sync::watch;

use super::memory::Outcome;
use super::{Inner, State};
use crate::secret::Secret;

/// Which token somebody wants.
#[derive(Debug, Clone)]
pub(super) enum Want {
    /// One that is good by its date.
    Good,
    /// Another than this, which is good but not for long.
    Ahead(Secret),
    /// Another than this, whatever its date says: the server refused it.
    Refused(Secret),
}

impl Want {
    pub(super) fn not_this(&self) -> Option<&Secret> {
        match self {
            Self::Good => None,
            Self::Ahead(header) | Self::Refused(header) => Some(header),
        }
    }

    pub(super) fn is_forced(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl Inner {
    /// Returns a token that is wanted, after a refresh if need be.
    pub(super) async fn refreshed(self: &Arc<Self>, want: Want) -> Outcome {
        let mut flight = {
            let mut memory = self.memory();
            // Whoever was first may be done: to publish a token and to end the flight are one step under this lock.
            let current = if want.not_this().is_some() { self.unexpired() } else { self.current() };
            if let Some(current) = current.filter(|current| want.not_this() != Some(&current.header)) {
                return Ok(current);
            }
            let now = self.parts.clock.now();
            match &memory.flight {
                Some(flight) => flight.clone(),
                None if memory.not_before.is_some_and(|at| now < at) => {
                    return Err(memory.trouble.clone().unwrap_or_else(|| self.state.borrow().clone()));
                }
                None => {
                    let (told, flight) = watch::channel(None);
                    memory.flight = Some(flight.clone());
                    let landing = Landing { inner: self.clone(), told };
                    self.parts.tasks.spawn(Box::pin(async move {
                        let outcome = landing.inner.refresh(want).await;
                        landing.told.send_replace(Some(outcome));
                    }));
                    flight
                }
            }
        };
        match flight.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(broken())),
            Err(_) => Err(broken()),
        }
    }
}

/// Ends the flight however the task ends.
struct Landing {
    inner: Arc<Inner>,
    told: watch::Sender<Option<Outcome>>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut memory = self.inner.memory();
        let ours = self.told.subscribe();
        if memory.flight.as_ref().is_some_and(|flight| flight.same_channel(&ours)) {
            memory.flight = None;
        }
    }
}

fn broken() -> State {
    State::Retrying { why: "the refresh was interrupted".to_owned(), good_until: None }
}
