//! The keys that replicas share: the first seals, all of them open.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use thiserror::Error;

/// More than a key in use, one before it and one to come serve nobody.
const MAX_KEYS: usize = 8;
const KEY_ID_LEN: usize = 4;

/// The keys of one key file.
pub struct StateKeys {
    /// At least one.
    keys: Vec<Key>,
}

/// What follows from one key: each use has its own, so that none says anything of another.
struct Key {
    id: [u8; KEY_ID_LEN],
    sealing: LessSafeKey,
    states: [u8; 32],
    token: [u8; 32],
    addresses: [u8; 32],
}

/// What is wrong with a key file.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyFileError {
    #[error("it has no key; `openssl rand -base64 32` makes one")]
    Empty,
    #[error("line {0} is not 32 bytes in base64; `openssl rand -base64 32` makes such a line")]
    Line(usize),
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
}

impl fmt::Debug for StateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateKeys({} of ***)", self.keys.len())
    }
}

impl StateKeys {
    /// Reads a key file: a key on each line, the one that seals first. Empty lines and those after `#` say nothing.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        let mut keys = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bytes = BASE64_STANDARD.decode(line).or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(line));
            let bytes: Option<[u8; 32]> = bytes.ok().and_then(|bytes| bytes.try_into().ok());
            let key = bytes.and_then(|bytes| Key::of(&bytes)).ok_or(KeyFileError::Line(at + 1))?;
            keys.push(key);
        }
        match keys.len() {
            0 => Err(KeyFileError::Empty),
            count if count > MAX_KEYS => Err(KeyFileError::TooMany),
            _ => Ok(Self { keys }),
        }
    }

    /// Seals bytes for `purpose`; `None` where the system has no randomness to give.
    pub(crate) fn seal(&self, purpose: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        let key = self.keys.first()?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = Vec::with_capacity(KEY_ID_LEN + NONCE_LEN + plain.len() + 16);
        sealed.extend_from_slice(&key.id);
        sealed.extend_from_slice(&nonce);
        let mut body = plain.to_vec();
        // With this cipher two equal nonces, which replicas may come by, tell no more than that two texts are equal.
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.sealing.seal_in_place_append_tag(nonce, Aad::from(purpose), &mut body).ok()?;
        sealed.append(&mut body);
        Some(sealed)
    }

    /// Opens what was sealed for `purpose` with one of the keys.
    pub(crate) fn open(&self, purpose: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (id, rest) = sealed.split_at_checked(KEY_ID_LEN)?;
        let (nonce, body) = rest.split_at_checked(NONCE_LEN)?;
        let nonce: [u8; NONCE_LEN] = nonce.try_into().ok()?;
        self.keys.iter().filter(|key| key.id == *id).find_map(|key| {
            let mut body = body.to_vec();
            let nonce = Nonce::assume_unique_for_key(nonce);
            let plain = key.sealing.open_in_place(nonce, Aad::from(purpose), &mut body).ok()?;
            Some(plain.to_vec())
        })
    }

    /// Returns the code that shows that a state is one of ours.
    pub(crate) fn mac(&self, payload: &[u8]) -> Option<Vec<u8>> {
        Some(hmac(&self.keys.first()?.states, payload)?.to_vec())
    }

    /// Returns whether one of the keys made that code.
    pub(crate) fn verifies(&self, payload: &[u8], mac: &[u8]) -> bool {
        let made = |key: &Key| hmac(&key.states, payload).is_some_and(|made| bool::from(made.ct_eq(mac)));
        self.keys.iter().any(made)
    }

    /// Returns an address with a code that shows that it is this replica's.
    pub(crate) fn sign_address(&self, replica: u32, address: &str) -> String {
        let code = self.keys.first().and_then(|key| hmac(&key.addresses, claim(replica, address).as_bytes()));
        format!("{address}#{}", BASE64_URL_SAFE_NO_PAD.encode(code.unwrap_or_default()))
    }

    /// Returns an address that a replica has signed: whoever can write to the store must not be handed requests.
    pub(crate) fn read_address(&self, replica: u32, signed: &str) -> Option<String> {
        let (address, code) = signed.split_once('#')?;
        let code = BASE64_URL_SAFE_NO_PAD.decode(code).ok()?;
        let is_by = |key: &Key| {
            let made = hmac(&key.addresses, claim(replica, address).as_bytes());
            made.is_some_and(|made| bool::from(made.ct_eq(&code)))
        };
        self.keys.iter().any(is_by).then(|| address.to_owned())
    }

    /// Returns the word by which replicas know each other.
    pub(crate) fn replica_token(&self) -> String {
        let token = self.keys.first().map(|key| key.token).unwrap_or_default();
        BASE64_URL_SAFE_NO_PAD.encode(token)
    }

    /// Returns whether that word is another replica's.
    pub(crate) fn knows_replica(&self, token: &[u8]) -> bool {
        let Ok(token) = BASE64_URL_SAFE_NO_PAD.decode(token) else { return false };
        self.keys.iter().any(|key| bool::from(key.token.ct_eq(&token)))
    }
}

impl Key {
    fn of(bytes: &[u8; 32]) -> Option<Self> {
        let sealing = UnboundKey::new(&AES_256_GCM_SIV, &hmac(bytes, b"manifold session ids 1")?).ok()?;
        let id = hmac(bytes, b"manifold key id 1")?;
        Some(Self {
            id: [id[0], id[1], id[2], id[3]],
            sealing: LessSafeKey::new(sealing),
            states: hmac(bytes, b"manifold request states 1")?,
            token: hmac(bytes, b"manifold replicas 1")?,
            addresses: hmac(bytes, b"manifold addresses 1")?,
        })
    }
}

fn claim(replica: u32, address: &str) -> String {
    format!("{replica} {address}")
}

fn hmac(key: &[u8; 32], text: &[u8]) -> Option<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text);
    Some(mac.finalize().into_bytes().into())
}
