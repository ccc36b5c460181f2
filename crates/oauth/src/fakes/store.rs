//! A store in memory that several sign-ins share, as processes share a folder.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Mutex as AsyncMutex;

use crate::http::BoxFuture;
use crate::record::{Credential, CredentialKey};
use crate::store::{CredentialStore, StoreError, StoreLock};

#[derive(Default)]
pub(crate) struct FakeStore {
    records: Mutex<BTreeMap<CredentialKey, String>>,
    lock: Arc<AsyncMutex<()>>,
    pub(crate) is_full: AtomicBool,
    pub(crate) is_unreadable: AtomicBool,
    pub(crate) saves: AtomicU32,
}

impl FakeStore {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The one record there is.
    pub(crate) fn record(&self) -> Option<Credential> {
        let records = self.records.lock().unwrap();
        assert!(records.len() <= 1);
        records.values().next().map(|text| serde_json::from_str(text).unwrap())
    }

    /// Writes as somebody who knows no rules.
    pub(crate) fn put(&self, credential: &Credential) {
        let text = serde_json::to_string(credential).unwrap();
        self.records.lock().unwrap().insert(credential.key.clone(), text);
    }

    pub(crate) fn clear(&self) {
        self.records.lock().unwrap().clear();
    }
}

impl CredentialStore for FakeStore {
    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        Box::pin(async move { Ok(StoreLock::new(key.clone(), self.lock.clone().lock_owned().await)) })
    }

    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, Result<Option<Credential>, StoreError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.is_unreadable.load(Ordering::SeqCst) {
                return Err(StoreError::Unreadable("the keyring is locked".to_owned()));
            }
            let records = self.records.lock().unwrap();
            Ok(records.get(key).map(|text| serde_json::from_str(text).unwrap()))
        })
    }

    fn save<'a>(
        &'a self,
        lock: &'a StoreLock,
        credential: &'a Credential,
        expected: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            assert_eq!(*lock.key(), credential.key);
            if self.is_full.load(Ordering::SeqCst) {
                return Err(StoreError::Unwritable("no space left".to_owned()));
            }
            let mut records = self.records.lock().unwrap();
            let parse = |text: &String| serde_json::from_str::<Credential>(text).unwrap().generation;
            let found = records.get(&credential.key).map(parse);
            if found != expected {
                return Err(StoreError::Conflict { found });
            }
            self.saves.fetch_add(1, Ordering::SeqCst);
            records.insert(credential.key.clone(), serde_json::to_string(credential).unwrap());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, lock: &'a StoreLock) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.records.lock().unwrap().remove(lock.key()).is_some()) })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<CredentialKey>, StoreError>> {
        Box::pin(async move { Ok(self.records.lock().unwrap().keys().cloned().collect()) })
    }
}
