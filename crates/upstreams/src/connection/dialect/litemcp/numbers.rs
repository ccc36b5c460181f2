//! Which call a message's number stands for.

use manifold_engine::Lock as _;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use manifold_protocol::Id;

/// Numbers of messages. Our own are larger than the `int` of many a server.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<Numbered>);

#[derive(Default)]
struct Numbered {
    last: u32,
    calls: HashMap<u32, u64>,
}

impl Numbers {
    /// Goes on after the last number that another program gave, with those in use.
    pub(in crate::connection::dialect) fn resume(last: u32, calls: &[(u32, u64)]) -> Self {
        Self(Mutex::new(Numbered { last, calls: calls.iter().copied().collect() }))
    }

    /// Returns the last number given, and those in use.
    pub(super) fn save(&self) -> (u32, Vec<(u32, u64)>) {
        let numbered = self.lock();
        (numbered.last, numbered.calls.iter().map(|(number, call)| (*number, *call)).collect())
    }

    pub(super) fn give(&self, call: u64) -> Id {
        let mut numbered = self.lock();
        // A server ignores a number it has seen: none comes back before all have been used.
        let next = |last: u32| if last == i32::MAX as u32 { 1 } else { last + 1 };
        let mut number = next(numbered.last);
        while numbered.calls.contains_key(&number) {
            number = next(number);
        }
        numbered.last = number;
        numbered.calls.insert(number, call);
        Id::number(number.into())
    }

    pub(super) fn take(&self, id: &Id) -> Option<u64> {
        self.lock().calls.remove(&u32::try_from(id.as_u64()?).ok()?)
    }

    pub(super) fn forget(&self, call: u64) {
        self.lock().calls.retain(|_, one| *one != call);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.locked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Many a server keeps ids in 32 bits.
    #[test]
    fn numbers_stay_small_and_are_not_used_twice_at_a_time() {
        let numbers = Numbers::default();
        numbers.lock().last = i32::MAX as u32 - 1;
        assert_eq!(numbers.give(1 << 40), Id::number(i32::MAX as u64));
        assert_eq!(numbers.give(2 << 40), Id::number(1));
        numbers.lock().last = i32::MAX as u32 - 1;
        assert_eq!(numbers.give(3 << 40), Id::number(2), "those in use are passed over");
        assert_eq!(numbers.take(&Id::number(1)), Some(2 << 40));
        assert_eq!(numbers.take(&Id::number(1)), None);
    }
}
