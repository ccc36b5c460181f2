//! Where credentials are kept, as a trait. Whoever refreshes holds a lock over the request and the save.

use std::any::Any;
use std::fmt;

use thiserror::Error;

use crate::http::BoxFuture;
use crate::record::{Credential, CredentialKey};

/// Keeps credentials, for several processes at once.
///
/// An implementation writes a new file, syncs and renames it, so that a record is never half there, and does not
/// answer `None` for what it could not read: that would become a login that overwrites.
pub trait CredentialStore: Send + Sync {
    /// Sees to it that something can be kept, before anybody signs in: whatever it takes to write is had from then on.
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Takes the exclusive lock of a credential, between tasks and processes; waits at the most a minute, then
    /// [`StoreError::Busy`]. It needs no record to be there. Dropping the lock releases it.
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>>;

    /// Reads a credential as it is now on disk; needs no lock.
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credential>, StoreError>>;

    /// Writes `credential` under its key if the record there has the generation `expected` (`None`: there is no
    /// record), else [`StoreError::Conflict`] and nothing is changed.
    fn save<'a>(
        &'a self,
        lock: &'a StoreLock,
        credential: &'a Credential,
        expected: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes a record; tells whether there was one.
    fn remove<'a>(&'a self, lock: &'a StoreLock) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns the keys of every record.
    fn keys(&self) -> BoxFuture<'_, Result<Vec<CredentialKey>, StoreError>>;
}

/// A lock that is held until it is dropped.
pub struct StoreLock {
    key: CredentialKey,
    _held: Box<dyn Any + Send + Sync>,
}

impl StoreLock {
    /// Wraps whatever is released by being dropped.
    pub fn new(key: CredentialKey, held: impl Any + Send + Sync) -> Self {
        Self { key, _held: Box::new(held) }
    }

    /// Returns the key of what is locked.
    pub fn key(&self) -> &CredentialKey {
        &self.key
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreLock({})", self.key)
    }
}

/// Why a credential cannot be read or kept. The texts have no value in them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error("another process has held the credential for a minute")]
    Busy,
    #[error("the credential was changed meanwhile")]
    Conflict { found: Option<u64> },
    #[error("the credential cannot be read: {0}")]
    Unreadable(String),
    #[error("the credential cannot be written: {0}")]
    Unwritable(String),
}
