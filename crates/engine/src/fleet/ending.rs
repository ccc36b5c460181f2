//! The end of instances that nobody uses: at once, or after a while in which somebody may come back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tracing::debug;

use super::Fleet;
use super::slot::Slot;
use crate::audience::{Left, Users};
use crate::sync::Lock as _;
use crate::upstream::{Phase, Upstream};

/// How many instances of one server are kept for those who may come back. Whoever walks through many folders would else
/// leave a process in each.
const MAX_UNUSED: usize = 4;
/// How often a start is looked at that was begun for somebody who has left. It is finished, and what the server offers is
/// remembered.
const START_CHECK: Duration = Duration::from_millis(100);
/// How often a failure is looked at that nobody is left to hear of. It has no process, and is what operators see of its
/// server until there is another instance.
const FAILURE_CHECK: Duration = Duration::from_secs(60);

/// What came of the wish to end an instance.
enum Ended {
    Yes,
    /// Somebody has come back, or it is gone.
    No,
    /// Not yet, for it is looked at again after so long.
    Later(Duration),
}

impl Fleet {
    /// Ends an instance when nobody has used it for a while. What the config defines for everybody stays.
    pub(super) fn end_if_unused(&self, slot: &Slot) {
        let Some(left) = slot.users.left().filter(|_| !slot.is_defined()) else { return };
        let linger = if slot.is_for_many() { self.config().settings.daemon.linger } else { Duration::ZERO };
        if linger.is_zero() && !matches!(self.end_unused(&slot.users, left), Ended::Later(_)) {
            return;
        }
        self.end_surplus(slot);
        let (fleet, users) = (self.me.clone(), Arc::clone(&slot.users));
        self.tasks().spawn_background(async move {
            let mut pause = linger;
            loop {
                sleep(pause).await;
                let Some(fleet) = fleet.upgrade() else { return };
                let Ended::Later(again) = fleet.end_unused(&users, left) else { return };
                pause = again;
            }
        });
    }

    /// Ends what has been unused for longest where too many instances of a server are.
    fn end_surplus(&self, like: &Slot) {
        let slots = self.slots();
        let same = slots.iter().filter(|slot| slot.server.key == like.server.key && !slot.is_defined());
        let mut unused: Vec<(Left, &Slot)> =
            same.filter_map(|slot| Some((slot.users.left()?, slot))).collect();
        unused.sort_by_key(|(left, _)| *left);
        let surplus = unused.len().saturating_sub(MAX_UNUSED);
        for (left, slot) in unused.into_iter().take(surplus) {
            self.end_unused(&slot.users, left);
        }
    }

    /// Ends the instance of these users unless one has come since.
    fn end_unused(&self, users: &Arc<Users>, left: Left) -> Ended {
        let ended = {
            let _choosing = self.choosing.locked();
            let mut slots = (*self.slots()).clone();
            let Some(at) = slots.iter().position(|slot| Arc::ptr_eq(&slot.users, users)) else {
                return Ended::No;
            };
            if users.left() != Some(left) {
                return Ended::No;
            }
            let slot = &slots[at];
            match slot.upstream.status().phase {
                Phase::Starting => return Ended::Later(START_CHECK),
                Phase::Failed(_) if slot.is_for_many() && is_only_one(slot, &slots) => {
                    return Ended::Later(FAILURE_CHECK);
                }
                _ => {}
            }
            let ended = slots.remove(at);
            self.slots.store(Arc::new(slots));
            ended
        };
        debug!(server = %ended.server.key.id, "an instance ends: nobody uses it");
        // Its last calls may go on for as long as at any end.
        let close = ended.upstream.close(self.config().settings.drain_timeout);
        self.tasks().spawn(self.closing.track_future(close));
        self.server_changed(&ended.server.key);
        Ended::Yes
    }

    /// Takes out the instances that a new config left nobody, so that they are closed with what it removed.
    pub(super) fn take_unused(&self, unused_before: &[Arc<Users>]) -> Vec<Arc<dyn Upstream>> {
        let _choosing = self.choosing.locked();
        let mut slots = (*self.slots()).clone();
        let mut gone = Vec::new();
        slots.retain(|slot| {
            let was_unused = unused_before.iter().any(|users| Arc::ptr_eq(users, &slot.users));
            let is_left = !slot.is_defined() && slot.users.is_empty() && !was_unused;
            if is_left {
                gone.push(Arc::clone(&slot.upstream));
            }
            !is_left
        });
        self.slots.store(Arc::new(slots));
        gone
    }
}

/// Returns whether its server has no other instance that somebody was served by.
fn is_only_one(slot: &Slot, slots: &[Slot]) -> bool {
    let is_other = |other: &&Slot| !Arc::ptr_eq(&other.users, &slot.users) && !other.is_defined();
    slots.iter().filter(is_other).all(|other| other.server.key != slot.server.key)
}
