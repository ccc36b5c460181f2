//! Whose tasks are whose: one that was begun for one principal is not there for another.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;

use crate::principal::Principal;
use crate::sync::Lock as _;

/// Tasks that are remembered; of an older one whoever knows its id may hear, as after a restart.
const MAX_TASKS: usize = 10_000;

#[derive(Default)]
pub(super) struct TaskOwners(Mutex<Owners>);

/// Tasks by a hash of the id that clients know: how long an id is its server says.
#[derive(Default)]
struct Owners {
    hasher: RandomState,
    by_task: HashMap<u64, Vec<Principal>>,
    in_order: VecDeque<u64>,
}

impl TaskOwners {
    /// Notes for whom a task was begun. A server that all share gives an id a second time only once the first task is
    /// over, as after a restart; those of clients' own instances number theirs alike.
    pub(super) fn note(&self, task: &str, principal: &Principal, is_shared: bool) {
        let mut owners = self.0.locked();
        let task = owners.hasher.hash_one(task);
        if let Some(known) = owners.by_task.get_mut(&task) {
            if is_shared {
                known.clear();
            }
            if !known.contains(principal) {
                known.push(principal.clone());
            }
            return;
        }
        if owners.in_order.len() >= MAX_TASKS
            && let Some(oldest) = owners.in_order.pop_front()
        {
            owners.by_task.remove(&oldest);
        }
        owners.in_order.push_back(task);
        owners.by_task.insert(task, vec![principal.clone()]);
    }

    /// Returns whether a principal may hear of a task.
    pub(super) fn permits(&self, task: &str, principal: &Principal) -> bool {
        let owners = self.0.locked();
        owners.by_task.get(&owners.hasher.hash_one(task)).is_none_or(|known| known.contains(principal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_its_owners_for_as_long_as_it_is_remembered() {
        let (owners, other) = (TaskOwners::default(), Principal::Token("other".into()));
        owners.note("a.1", &other, true);
        owners.note("a.1", &Principal::Local, true);
        assert!(
            owners.permits("a.1", &Principal::Local) && !owners.permits("a.1", &other),
            "the last counts"
        );
        owners.note("b.1", &Principal::Local, false);
        owners.note("b.1", &other, false);
        assert!(
            owners.permits("b.1", &Principal::Local) && owners.permits("b.1", &other),
            "each has its own"
        );
        assert!(owners.permits("a.2", &other), "nobody is known to have begun it");
        for number in 2..MAX_TASKS + 1 {
            owners.note(&format!("a.{number}"), &Principal::Local, true);
        }
        assert!(owners.permits("a.1", &other), "it was forgotten");
        assert!(!owners.permits("a.2", &other));
    }
}
