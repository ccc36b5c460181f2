//! Which gateway uses which instances. One that is not there is made for the first, and shared by all who want the same.

use std::sync::Arc;

use manifold_protocol::notification;
use tokio::runtime::Handle;

use super::slot::{Slot, Wanted};
use super::{Fleet, InstanceKey};
use crate::audience::{Audience, Downstream};
use crate::gateway::Gateway;
use crate::sync::Lock as _;

/// What becomes of an instance whose definition is not the one that is wanted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outgrown {
    /// It is used as it is: others use it too, and a new config will come for all of them.
    Kept,
    /// Another takes its place, and it is closed once nobody can be led to it.
    Replaced,
}

/// What choosing changed.
#[derive(Default)]
struct Moves {
    joined: Vec<Joined>,
    left: Vec<Slot>,
}

struct Joined {
    slot: Slot,
    /// It was one client's alone.
    was_of_one: bool,
    /// Somebody else used it before, who may have left.
    is_second: bool,
}

impl Fleet {
    /// Returns the instances a gateway uses from now on: these and no others.
    pub(crate) fn use_instances(
        &self,
        user: &Arc<Downstream>,
        wanted: &[Wanted],
        outgrown: Outgrown,
    ) -> Vec<Slot> {
        let (chosen, moves) = {
            // Nobody may be led to an instance that is just being ended.
            let _choosing = self.choosing.locked();
            let mut slots = (*self.slots()).clone();
            let chosen: Vec<Slot> = wanted.iter().map(|one| self.choose(one, &mut slots, outgrown)).collect();
            let moves = moved(user, &chosen, &slots);
            self.slots.store(Arc::new(slots));
            (chosen, moves)
        };
        moves.joined.iter().for_each(|joined| joined_by(user, joined));
        others_of(user, &moves.joined).iter().for_each(|gateway| gateway.refresh());
        for slot in &moves.left {
            tell_of_roots(user, slot);
            // A new config ends what it leaves to nobody by itself, and waits for it.
            if outgrown == Outgrown::Kept {
                self.end_if_unused(slot);
            }
        }
        chosen
    }

    /// Tells the instances a gateway uses who it is that asks. What they offered others is not shown to it (D5).
    pub(crate) fn introduced(&self, user: &Arc<Downstream>) {
        for slot in self.slots().iter().filter(|slot| slot.users.has(user)) {
            slot.users.introduced();
            slot.upstream.introduced();
            tell_of_roots(user, slot);
        }
    }

    /// Tells that a gateway is gone. It may be dropped by whoever happens to look at it last, with locks held: what follows
    /// from it is done by a task.
    pub(crate) fn left_by(&self, user: &Arc<Downstream>) {
        let left: Vec<Slot> = {
            let _choosing = self.choosing.locked();
            self.slots().iter().filter(|slot| slot.users.leave(user)).cloned().collect()
        };
        // One that is dropped when all else is over ends with it.
        if left.is_empty() || Handle::try_current().is_err() {
            return;
        }
        let (fleet, user) = (self.me.clone(), Arc::clone(user));
        self.tasks().spawn(async move {
            if let Some(fleet) = fleet.upgrade() {
                for slot in &left {
                    tell_of_roots(&user, slot);
                    fleet.end_if_unused(slot);
                }
            }
        });
    }

    /// Finds what is wanted, or makes it.
    fn choose(&self, wanted: &Wanted, slots: &mut Vec<Slot>, outgrown: Outgrown) -> Slot {
        let at = slots.iter().position(|slot| slot.is(&wanted.server.key, wanted.instance));
        match at {
            // What the config says is replaced by whoever brings a new one.
            Some(at) if wanted.instance == InstanceKey::DEFINED => slots[at].clone(),
            Some(at) if outgrown == Outgrown::Kept || slots[at].fits(&wanted.server) => slots[at].clone(),
            Some(at) => {
                let slot = self.make(wanted, Some(&slots[at]));
                let before = std::mem::replace(&mut slots[at], slot.clone());
                self.replaced.locked().push(before.upstream);
                slot
            }
            None => {
                let slot = self.make(wanted, None);
                slots.push(slot.clone());
                slot
            }
        }
    }
}

fn joined_by(user: &Arc<Downstream>, Joined { slot, is_second, .. }: &Joined) {
    if *is_second {
        slot.upstream.widened();
    }
    if slot.users.introduced() {
        slot.upstream.introduced();
    }
    tell_of_roots(user, slot);
}

/// Returns the gateways for which something changes because servers are no longer one client's: what there is for whom
/// differs then. Each is there once, however many servers it is about.
fn others_of(user: &Arc<Downstream>, joined: &[Joined]) -> Vec<Arc<Gateway>> {
    let mut others: Vec<Arc<Gateway>> = Vec::new();
    for one in joined.iter().filter(|one| one.was_of_one) {
        for gateway in one.slot.users.gateways_but(user) {
            if !others.iter().any(|known| Arc::ptr_eq(known, &gateway)) {
                others.push(gateway);
            }
        }
    }
    others
}

/// Lets a user in where it is to be and out where it is not.
fn moved(user: &Arc<Downstream>, chosen: &[Slot], slots: &[Slot]) -> Moves {
    let mut moves = Moves::default();
    for slot in slots {
        if !chosen.iter().any(|one| Arc::ptr_eq(&one.users, &slot.users)) {
            if slot.users.leave(user) {
                moves.left.push(slot.clone());
            }
            continue;
        }
        let was_of_one = slot.users.audience() == Audience::One;
        let is_second = slot.users.had_any();
        if slot.users.join(user) {
            moves.joined.push(Joined { slot: slot.clone(), was_of_one, is_second });
        }
    }
    moves
}

/// Where several share a server its roots are those of all: they are others when one who has some comes or goes.
fn tell_of_roots(user: &Downstream, slot: &Slot) {
    let facts = slot.users.facts();
    let hears = facts.capabilities.get("roots").and_then(|roots| roots.get("listChanged"));
    let is_shared = slot.users.has_others(user);
    if is_shared && user.has_roots() && hears.is_some_and(|hears| hears.as_str() == "true") {
        slot.upstream.notify(notification::ROOTS_CHANGED, None);
    }
}

#[cfg(test)]
mod tests;
