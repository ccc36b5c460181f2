//! What was found out of tokens, by their hashes, for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{Unverified, Verified};

/// What is kept at the most of good tokens, and of others; past that those whose time is up go, else all of their kind.
/// Whoever sends one wrong token after another makes nobody's good one forgotten.
const MAX_TOKENS: usize = 10_000;
const MAX_REFUSALS: usize = 10_000;

pub(super) type Key = [u8; 32];

#[derive(Default)]
pub(super) struct Cache(Mutex<Known>);

#[derive(Default)]
struct Known {
    good: Table<Arc<Verified>>,
    refused: Table<Unverified>,
}

/// What was found out, and until when it counts.
type Table<T> = HashMap<Key, (T, Duration)>;

impl Cache {
    /// Returns what a token is known by: nothing of itself is kept.
    pub(super) fn key(token: &str) -> Key {
        Sha256::digest(token.as_bytes()).into()
    }

    pub(super) fn get(&self, key: &Key, now: Duration) -> Option<Result<Arc<Verified>, Unverified>> {
        let known = self.lock();
        found(&known.good, key, now).map(Ok).or_else(|| found(&known.refused, key, now).map(Err))
    }

    pub(super) fn keep(&self, key: Key, verified: Arc<Verified>, until: Duration) {
        put(&mut self.lock().good, MAX_TOKENS, key, (verified, until), super::KEPT);
    }

    pub(super) fn refuse(&self, key: Key, why: Unverified, until: Duration) {
        put(&mut self.lock().refused, MAX_REFUSALS, key, (why, until), super::REFUSAL_KEPT);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn found<T: Clone>(table: &Table<T>, key: &Key, now: Duration) -> Option<T> {
    table.get(key).filter(|(_, until)| now < *until).map(|(found, _)| found.clone())
}

fn put<T>(table: &mut Table<T>, most: usize, key: Key, found: (T, Duration), kept_for: Duration) {
    if table.len() >= most && !table.contains_key(&key) {
        // What comes in now was found out now.
        let now = found.1.saturating_sub(kept_for);
        table.retain(|_, (_, until)| *until > now);
        if table.len() >= most {
            table.clear();
        }
    }
    table.insert(key, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified() -> Arc<Verified> {
        let (issuer, subject) = ("https://login.example".to_owned(), "ann".to_owned());
        let (audiences, scopes) = (vec!["a".to_owned()], Vec::new());
        Arc::new(Verified { issuer, subject, client_id: None, audiences, scopes, expires: u64::MAX })
    }

    #[test]
    fn what_is_kept_is_bounded_and_wrong_tokens_push_out_no_good_one() {
        let (cache, good) = (Cache::default(), Cache::key("good"));
        let until = |at: u64| Duration::from_secs(at) + super::super::KEPT;
        cache.keep(good, verified(), until(0));
        for n in 0..25_000_u64 {
            let why = Unverified::Invalid("no");
            cache.refuse(Cache::key(&n.to_string()), why, Duration::from_secs(n / 1000 + 10));
            assert!(cache.lock().refused.len() <= MAX_REFUSALS);
        }
        assert!(cache.get(&Cache::key("24999"), Duration::from_secs(24)).is_some());
        assert!(cache.get(&Cache::key("24999"), until(24)).is_none(), "its time is up");
        assert!(matches!(cache.get(&good, Duration::from_secs(59)), Some(Ok(_))));
        for n in 0..25_000_u64 {
            cache.keep(Cache::key(&n.to_string()), verified(), until(n / 1000));
            assert!(cache.lock().good.len() <= MAX_TOKENS);
        }
    }
}
