//! A keyring: a place of the system that gives a key to its user and to nobody else.

use super::Key;

/// Keeps keys by their fingerprints, so that two stores never meet, and an old and a new key of one store neither.
pub trait Keyring: Send + Sync {
    /// Returns a key. `None` means that there surely is none: a keyring that cannot be asked is an error.
    fn find(&self, fingerprint: &str) -> Result<Option<Key>, KeyringError>;

    /// Keeps a key for longer than this session.
    fn keep(&self, fingerprint: &str, key: &Key) -> Result<(), KeyringError>;

    /// Removes a key, if it is there.
    fn forget(&self, fingerprint: &str) -> Result<(), KeyringError>;
}

/// Why a keyring is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    #[error("there is no keyring here ({0})")]
    Absent(String),
    #[error("the keyring forgets everything with the session: it has no default collection that lasts")]
    Volatile,
    #[error("the keyring is locked; unlock it")]
    Locked,
    #[error("the keyring has not answered for {0} seconds")]
    Silent(u64),
    #[error("the keyring failed: {0}")]
    Failed(String),
    #[error("the keyring is switched off by MANIFOLD_KEYRING")]
    Off,
    #[error("this program was built without the keyring")]
    NotBuilt,
}

impl KeyringError {
    /// Returns whether there is no keyring to speak of, so that a new store does without. One that is there and cannot
    /// be used just now is another matter.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent(_) | Self::Volatile | Self::Off | Self::NotBuilt)
    }
}

/// Stands for a keyring that is not to be had.
pub(super) struct NoKeyring(pub(super) KeyringError);

impl Keyring for NoKeyring {
    fn find(&self, _: &str) -> Result<Option<Key>, KeyringError> {
        Err(self.0.clone())
    }

    fn keep(&self, _: &str, _: &Key) -> Result<(), KeyringError> {
        Err(self.0.clone())
    }

    fn forget(&self, _: &str) -> Result<(), KeyringError> {
        Err(self.0.clone())
    }
}
