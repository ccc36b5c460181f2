//! What was found out of tokens, by their hashes, for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::Verified;

/// Tokens kept at the most; past that those whose time is up go, else all.
const MAX_TOKENS: usize = 10_000;

pub(super) type Key = [u8; 32];
pub(super) type Finding = Result<Arc<Verified>, &'static str>;

#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<Key, (Finding, Duration)>>);

impl Cache {
    /// Returns what a token is known by: nothing of itself is kept.
    pub(super) fn key(token: &str) -> Key {
        Sha256::digest(token.as_bytes()).into()
    }

    pub(super) fn get(&self, key: &Key, now: Duration) -> Option<Finding> {
        let (found, _) = self.lock().get(key).filter(|(_, until)| now < *until).cloned()?;
        Some(found)
    }

    pub(super) fn put(&self, key: Key, found: Finding, until: Duration) {
        let mut known = self.lock();
        if known.len() >= MAX_TOKENS && !known.contains_key(&key) {
            // What comes in now was found out now.
            let now = until.saturating_sub(super::KEPT);
            known.retain(|_, (_, until)| *until > now);
            if known.len() >= MAX_TOKENS {
                known.clear();
            }
        }
        known.insert(key, (found, until));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (Finding, Duration)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded() {
        let cache = Cache::default();
        let until = |at: u64| Duration::from_secs(at) + super::super::KEPT;
        for n in 0..25_000_u64 {
            cache.put(Cache::key(&n.to_string()), Err("no"), until(n / 1000));
            assert!(cache.len() <= MAX_TOKENS);
        }
        assert!(cache.get(&Cache::key("24999"), Duration::from_secs(24)).is_some());
        assert!(cache.get(&Cache::key("24999"), until(24)).is_none(), "its time is up");
    }
}
