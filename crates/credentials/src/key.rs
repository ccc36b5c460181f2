//! The one key that all credentials of a store are sealed with.

mod beside;
#[cfg(test)]
pub(crate) mod fake;
mod given;
mod keyring;
mod keys;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod secret_service;
#[cfg(test)]
mod tests;

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::name::hex;
pub(crate) use beside::BesideKey;
pub use given::Given;
pub use keyring::{Keyring, KeyringError};
pub(crate) use keys::Chosen;
pub use keys::{KeyError, Keys};

pub(crate) const KEY_BYTES: usize = 32;

/// 32 random bytes. They print as `***` and are overwritten when dropped.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no key: write 32 bytes in base64 or as 64 hex digits (`openssl rand -base64 32` makes one)")]
pub struct Unusable;

/// What a store is kept with: what it protects against depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyKind {
    /// `MANIFOLD_KEY`.
    Variable,
    /// A file that is named: `--key-file`, `MANIFOLD_KEY_FILE`.
    File,
    /// A file in systemd's `$CREDENTIALS_DIRECTORY`.
    Systemd,
    /// The keyring of the system.
    Keyring,
    /// A file of our own beside the store. New stores have no such key.
    Beside,
    /// No key: the values are in clear, in files that only the user can read.
    Plain,
}

impl Key {
    /// Makes a new one.
    pub fn random() -> Result<Self, Unusable> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        aws_lc_rs::rand::fill(&mut *bytes).map_err(|_| Unusable)?;
        Ok(Self(bytes))
    }

    /// Takes 32 bytes as they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unusable> {
        Ok(Self(Zeroizing::new(bytes.try_into().map_err(|_| Unusable)?)))
    }

    /// Reads 64 hex digits, or 32 bytes in base64 of either alphabet.
    pub fn from_text(text: &str) -> Result<Self, Unusable> {
        let text = text.trim();
        if text.len() == 2 * KEY_BYTES {
            return Self::from_bytes(&from_hex(text).ok_or(Unusable)?);
        }
        let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
        let decoded = engines.iter().find_map(|engine| engine.decode(text).ok()).map(Zeroizing::new);
        Self::from_bytes(&decoded.ok_or(Unusable)?)
    }

    pub(crate) fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Returns the key as hex digits, as a keyring keeps it.
    #[cfg(all(feature = "keyring", target_os = "linux"))]
    pub(crate) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(hex(&*self.0))
    }

    /// Returns what tells keys apart and nothing more: part of a hash of 32 random bytes.
    pub(crate) fn fingerprint(&self) -> String {
        let tagged = Zeroizing::new([b"manifold key fingerprint".as_slice(), &*self.0].concat());
        hex(&digest(&SHA256, &tagged).as_ref()[..16])
    }
}

pub(crate) fn from_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Zeroizing<Vec<u8>> = Zeroizing::new(text.as_bytes().iter().filter_map(digit).collect());
    let whole = digits.len() == text.len();
    whole.then(|| Zeroizing::new(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl KeyKind {
    /// Returns whether who can read the files cannot read the values as easily.
    pub fn protects(self) -> bool {
        !matches!(self, Self::Beside | Self::Plain)
    }

    /// Returns the word for it, in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::File => "file",
            Self::Systemd => "systemd",
            Self::Keyring => "keyring",
            Self::Beside => "beside",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "the one in MANIFOLD_KEY",
            Self::File => "the one in a key file",
            Self::Systemd => "the one in systemd's $CREDENTIALS_DIRECTORY",
            Self::Keyring => "the one in the keyring",
            Self::Beside => "the one in the file beside the store",
            Self::Plain => "none",
        })
    }
}
