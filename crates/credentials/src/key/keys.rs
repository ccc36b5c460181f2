//! Which key a store has: chosen once for a new one, then as it is written down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::keyring::NoKeyring;
use super::{BesideKey, Given, Key, KeyKind, Keyring, KeyringError, Unusable};
use crate::error::StoreError;
use crate::protection::Protection;

/// The variable that switches the keyring off.
const KEYRING_VARIABLE: &str = "MANIFOLD_KEYRING";

/// Where the key of a store may come from.
pub struct Keys {
    given: Option<Given>,
    keyring: Arc<dyn Keyring>,
    beside: BesideKey,
    /// The key of the keyring that was read last: it is asked once.
    read: Mutex<Option<Key>>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("{place}: {source}")]
    Unusable { place: String, source: Unusable },
    #[error("{}: there is no key in it; put one there (`openssl rand -base64 32` makes one)", .0.display())]
    NoFile(PathBuf),
    #[error("{0}: the key that opens the store is gone; bring it back, or remove the store and its values")]
    Gone(String),
    #[error("no key is given, and the store has {0}")]
    NotGiven(KeyKind),
    #[error(transparent)]
    File(Box<StoreError>),
    #[error("{0}; it has the key of the store, so nothing can be read or stored without it")]
    Keyring(KeyringError),
    #[error(
        "{0}; or give a key by MANIFOLD_KEY or --key-file, or set MANIFOLD_KEYRING=off to store values in clear"
    )]
    NewKeyring(KeyringError),
    #[error("{0}; name a key with --new-key-file (`openssl rand -base64 32` makes one)")]
    NoKeyring(KeyringError),
}

impl KeyError {
    /// Returns the file it is about, if it is about one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::NoFile(path) => Some(path),
            Self::File(error) => error.path(),
            _ => None,
        }
    }
}

/// What a store is kept with, and what that is called.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) kind: KeyKind,
    pub(crate) protection: Protection,
    /// Why there is no key in the keyring, where that was tried.
    pub(crate) why_plain: Option<KeyringError>,
}

impl Keys {
    /// Returns the keys there may be for a data folder, by what the variables say. Nothing is asked or read yet.
    pub fn of(variables: &BTreeMap<String, String>, data_home: &Path) -> Self {
        Self::with(Given::among(variables), keyring(variables), data_home)
    }

    /// Returns keys that are given, or lie in a keyring.
    pub fn with(given: Option<Given>, keyring: Arc<dyn Keyring>, data_home: &Path) -> Self {
        Self { given, keyring, beside: BesideKey::of(data_home), read: Mutex::default() }
    }

    /// Returns what kind of key is given, if one is.
    pub fn given(&self) -> Option<KeyKind> {
        self.given.as_ref().map(Given::kind)
    }

    /// Chooses for a new store: what is given, else the keyring, else no key.
    pub(crate) fn choose(&self) -> Result<Chosen, KeyError> {
        if let Some(given) = &self.given {
            return Chosen::given(given);
        }
        match self.make() {
            Ok(key) => Ok(Chosen::sealed(KeyKind::Keyring, key)),
            Err(why) if why.is_absent() => {
                Ok(Chosen { kind: KeyKind::Plain, protection: Protection::Plain, why_plain: Some(why) })
            }
            Err(why) => Err(KeyError::NewKeyring(why)),
        }
    }

    /// Makes a new key in the keyring, and sees to it that it is there.
    pub(crate) fn make(&self) -> Result<Key, KeyringError> {
        let key = Key::random().map_err(|_| KeyringError::Failed("no random bytes".to_owned()))?;
        let fingerprint = key.fingerprint();
        self.keyring.keep(&fingerprint, &key)?;
        match self.keyring.find(&fingerprint)? {
            Some(kept) if kept.fingerprint() == fingerprint => Ok(self.remember(key)),
            _ => Err(KeyringError::Failed("what was kept is not there".to_owned())),
        }
    }

    /// Returns the key of a store as it is written down. A given key comes first; whether it is the right one is the
    /// store's to see.
    pub(crate) fn recorded(&self, kind: KeyKind, fingerprint: &str) -> Result<Chosen, KeyError> {
        if let Some(given) = &self.given {
            return Chosen::given(given);
        }
        self.own(kind, fingerprint)
    }

    /// Returns the key of a store that has one of its own, whatever else is given.
    pub(crate) fn own(&self, kind: KeyKind, fingerprint: &str) -> Result<Chosen, KeyError> {
        match kind {
            KeyKind::Plain => Ok(Chosen { kind, protection: Protection::Plain, why_plain: None }),
            KeyKind::Beside => self.beside.find().map(|key| Chosen::sealed(kind, key)),
            KeyKind::Keyring => self.of_keyring(fingerprint).map(|key| Chosen::sealed(kind, key)),
            KeyKind::Variable | KeyKind::File | KeyKind::Systemd => Err(KeyError::NotGiven(kind)),
        }
    }

    /// Removes a key of ours that nothing is sealed with any longer, as far as that can be done.
    pub(crate) fn forget(&self, kind: KeyKind, fingerprint: &str) {
        match kind {
            KeyKind::Beside => self.beside.forget(),
            KeyKind::Keyring => _ = self.keyring.forget(fingerprint),
            _ => {}
        }
    }

    fn of_keyring(&self, fingerprint: &str) -> Result<Key, KeyError> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(key) = read.filter(|key| key.fingerprint() == fingerprint) {
            return Ok(key);
        }
        let found = self.keyring.find(fingerprint).map_err(KeyError::Keyring)?;
        found.map(|key| self.remember(key)).ok_or_else(|| KeyError::Gone("the keyring".to_owned()))
    }

    fn remember(&self, key: Key) -> Key {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        key
    }
}

impl Chosen {
    pub(crate) fn sealed(kind: KeyKind, key: Key) -> Self {
        Self { kind, protection: Protection::Sealed(key), why_plain: None }
    }

    pub(crate) fn given(given: &Given) -> Result<Self, KeyError> {
        Ok(Self::sealed(given.kind(), given.read()?))
    }

    pub(crate) fn fingerprint(&self) -> String {
        self.protection.fingerprint().unwrap_or_default()
    }
}

fn keyring(variables: &BTreeMap<String, String>) -> Arc<dyn Keyring> {
    let off = variables
        .get(KEYRING_VARIABLE)
        .is_some_and(|value| ["off", "0", "false", "no"].iter().any(|word| value.eq_ignore_ascii_case(word)));
    if off {
        return Arc::new(NoKeyring(KeyringError::Off));
    }
    #[cfg(all(feature = "keyring", target_os = "linux"))]
    return Arc::new(super::secret_service::SecretService::of(variables));
    #[cfg(not(all(feature = "keyring", target_os = "linux")))]
    Arc::new(NoKeyring(KeyringError::NotBuilt))
}
