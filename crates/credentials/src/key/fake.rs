//! A keyring for tests, which fails as it is told to.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use super::{Key, Keyring, KeyringError};

#[derive(Default)]
pub(crate) struct FakeKeyring {
    keys: Mutex<BTreeMap<String, Key>>,
    fault: Mutex<Option<KeyringError>>,
}

impl FakeKeyring {
    pub(crate) fn fails_with(&self, fault: impl Into<Option<KeyringError>>) {
        *self.fault.lock().unwrap() = fault.into();
    }

    pub(crate) fn count(&self) -> usize {
        self.keys.lock().unwrap().len()
    }

    fn keys(&self) -> Result<MutexGuard<'_, BTreeMap<String, Key>>, KeyringError> {
        match &*self.fault.lock().unwrap() {
            Some(fault) => Err(fault.clone()),
            None => Ok(self.keys.lock().unwrap()),
        }
    }
}

impl Keyring for FakeKeyring {
    fn find(&self, fingerprint: &str) -> Result<Option<Key>, KeyringError> {
        Ok(self.keys()?.get(fingerprint).cloned())
    }

    fn keep(&self, fingerprint: &str, key: &Key) -> Result<(), KeyringError> {
        self.keys()?.insert(fingerprint.to_owned(), key.clone());
        Ok(())
    }

    fn forget(&self, fingerprint: &str) -> Result<(), KeyringError> {
        self.keys()?.remove(fingerprint);
        Ok(())
    }
}
