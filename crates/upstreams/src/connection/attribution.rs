//! Whose calls a server can be working on. What it says without naming a call is brought to a client only if it can be
//! no other's: in doubt it is nobody's (H3, M13).

use std::collections::VecDeque;
use std::time::Duration;

use manifold_engine::{Audience, ClientId};
use tokio::time::Instant;

use super::deadlines::HARD_LIMIT;

/// How long a server may go on with a call that nobody waits for any more: as long as any call may take.
const GOES_ON: Duration = HARD_LIMIT;
/// Calls taken back that are known one by one.
const MAX_ABANDONED: usize = 1024;

pub(super) struct Attribution {
    audience: Audience,
    /// The call that ended last, and the last one of any other client.
    last: Option<Ended>,
    last_of_another: Option<Ended>,
    /// Cancelled or timed out, and not answered since: the oldest first.
    abandoned: VecDeque<Abandoned>,
}

#[derive(Clone, Copy)]
struct Ended {
    /// `None` is somebody unknown, who is nobody else.
    client: Option<ClientId>,
    /// How many calls had been numbered by then.
    count: u64,
}

struct Abandoned {
    call: u64,
    client: Option<ClientId>,
    until: Instant,
}

/// It cannot be told whom the server means.
pub(super) struct Ambiguous;

impl Attribution {
    pub(super) fn new(audience: Audience) -> Self {
        Self { audience, last: None, last_of_another: None, abandoned: VecDeque::new() }
    }

    /// Notes that another client has come to share the server, when so many calls had been numbered. All before were the
    /// first one's, who is known by what it has in flight.
    pub(super) fn widen(&mut self, first: Option<ClientId>, count: u64) {
        if self.audience == Audience::One {
            self.audience = Audience::Shared;
            self.last = Some(Ended { client: first, count });
        }
    }

    /// Returns the calls taken back that the server may still be working on.
    pub(super) fn abandoned_calls(&mut self) -> Vec<u64> {
        self.forget_old();
        self.abandoned.iter().map(|one| one.call).collect()
    }

    /// Goes on for several clients after another program, which had numbered so many calls. Whose those were that are over nobody knows here, so
    /// they may have been anybody's, unless it is known that they were of the client whose calls are in flight.
    pub(super) fn resume_shared(&mut self, is_one_clients: bool, count: u64, abandoned: &[u64]) {
        self.audience = Audience::Shared;
        if !is_one_clients {
            self.last = Some(Ended { client: None, count });
        }
        abandoned.iter().for_each(|call| self.abandoned(*call, None));
    }

    /// Returns whether there is more than one client who could be meant.
    pub(super) fn is_shared(&self) -> bool {
        self.audience == Audience::Shared
    }

    /// Notes the end of a call, when so many had been numbered.
    pub(super) fn ended(&mut self, client: Option<ClientId>, count: u64) {
        let is_same = self.last.is_some_and(|last| is_same_person(last.client, client));
        if !is_same {
            self.last_of_another = self.last;
        }
        self.last = Some(Ended { client, count });
    }

    /// Notes that nobody waits any more for a call that the server may still be working on.
    pub(super) fn abandoned(&mut self, call: u64, client: Option<ClientId>) {
        self.forget_old();
        if self.abandoned.len() == MAX_ABANDONED {
            self.abandoned.pop_front();
            // The one beside it stands for both, and so for nobody known.
            if let Some(front) = self.abandoned.front_mut() {
                (front.call, front.client) = (u64::MAX, None);
            }
        }
        self.abandoned.push_back(Abandoned { call, client, until: Instant::now() + GOES_ON });
    }

    /// Notes an answer that nobody waited for: the server is done with that call.
    pub(super) fn answered(&mut self, call: u64) {
        self.abandoned.retain(|one| one.call != call);
    }

    /// Returns whether the server can be working for this client alone, whose oldest call in flight has this count: no
    /// call of another has been in flight since.
    pub(super) fn is_only(&mut self, client: ClientId, oldest: u64) -> bool {
        self.forget_old();
        let is_its = |ended: &Ended| is_same_person(ended.client, Some(client));
        let another = if self.last.as_ref().is_some_and(is_its) { self.last_of_another } else { self.last };
        another.is_none_or(|ended| ended.count < oldest) && self.abandoned_only(client)
    }

    /// Returns whose call was the last, if one was, and if the server can be working for nobody else.
    pub(super) fn last_caller(&mut self) -> Result<Option<ClientId>, Ambiguous> {
        self.forget_old();
        match self.last {
            None => Ok(None),
            Some(Ended { client: Some(client), .. }) if self.abandoned_only(client) => Ok(Some(client)),
            Some(_) => Err(Ambiguous),
        }
    }

    fn abandoned_only(&self, client: ClientId) -> bool {
        self.abandoned.iter().all(|one| is_same_person(one.client, Some(client)))
    }

    fn forget_old(&mut self) {
        let now = Instant::now();
        while self.abandoned.front().is_some_and(|one| one.until <= now) {
            self.abandoned.pop_front();
        }
    }
}

/// Returns whether both are known, and the same who asks: a question that belongs to a call an operator gave up may come
/// to the next one, who is the same person.
fn is_same_person(one: Option<ClientId>, other: Option<ClientId>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.is_same_person(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_an_operator_gave_up_is_in_the_way_of_others_alone() {
        let mut attribution = Attribution::new(Audience::Shared);
        let (gone, next) = (ClientId::fresh_operator(), ClientId::fresh_operator());
        attribution.ended(Some(gone), 1);
        attribution.abandoned(1, Some(gone));
        assert!(attribution.is_only(next, 2));
        attribution.ended(Some(next), 3);
        assert!(attribution.last_caller().is_ok_and(|last| last == Some(next)));
        let client = ClientId::fresh();
        assert!(!attribution.is_only(client, 4));
        attribution.ended(Some(client), 5);
        assert!(attribution.last_caller().is_err());
        assert!(!attribution.is_only(next, 4), "somebody else called since");
    }
}
