//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what a panic may have left locked. A panic breaks one call (F29), whose exchange answers for it; what a lock
/// guards here is whole again with every statement, so the next one goes on with it.
pub trait Lock<T: ?Sized> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T: ?Sized> Lock<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_leaves_the_lock_usable() {
        let count = Mutex::new(1);
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let _held = count.lock().unwrap();
            panic!("with the lock held");
        }));
        assert!(broken.is_err() && count.is_poisoned());
        *count.locked() += 1;
        assert_eq!(*count.locked(), 2);
    }
}
