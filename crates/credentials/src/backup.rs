//! A copy of a whole store in one file, sealed with a passphrase or a key of its own: a line in clear that says how, and
//! all credentials sealed with AES-256-GCM, whose associated data is that line.

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA512};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::head::{self, Format, Head, Unread};
use crate::key::{KEY_BYTES, Key, from_hex};
use crate::name::hex;
use crate::sealed::{open_bytes, seal_bytes};
use crate::value::Value;

const FORMAT: &str = "credentials backup 1";
const KDF: &str = "pbkdf2-hmac-sha512";
/// How dear a guess is made.
const ITERATIONS: u32 = 600_000;
/// A file that asks for more is to keep us busy.
const MAX_ITERATIONS: u32 = 20_000_000;
const SALT_BYTES: usize = 16;
const MAX_LINE: usize = 4096;
/// The largest file that is read.
pub(crate) const MAX_BYTES: usize = 256 * 1024 * 1024;

/// What a backup is sealed with.
pub enum BackupKey {
    /// A text that somebody remembers; the key is derived from it.
    Passphrase(Value),
    Key(Key),
}

#[derive(Serialize, Deserialize)]
struct Line {
    manifold: String,
    /// How the key comes of a passphrase; none where it is a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kdf: Option<Derivation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Derivation {
    name: String,
    iterations: u32,
    salt: String,
}

/// Returns the bytes of a backup.
pub(crate) fn seal(credentials: &[(Head, Value)], with: &BackupKey) -> Result<Vec<u8>, Unread> {
    let (kdf, key) = match with {
        BackupKey::Passphrase(text) => {
            let mut salt = [0; SALT_BYTES];
            aws_lc_rs::rand::fill(&mut salt).map_err(|_| Unread::NotOpened)?;
            let kdf = Derivation { name: KDF.to_owned(), iterations: ITERATIONS, salt: hex(&salt) };
            let key = derived(text, &kdf)?;
            (Some(kdf), key)
        }
        BackupKey::Key(key) => (None, key.clone()),
    };
    let fingerprint = kdf.is_none().then(|| key.fingerprint());
    let line = Line { manifold: FORMAT.to_owned(), kdf, fingerprint };
    let mut file = serde_json::to_vec(&line).map_err(|_| Unread::Damaged("cannot be written"))?;
    file.push(b'\n');
    let sealed = seal_bytes(&packed(credentials)?, &file, &key)?;
    file.extend_from_slice(&sealed);
    Ok(file)
}

/// Returns what a backup holds.
pub(crate) fn open(file: &[u8], with: &BackupKey) -> Result<Vec<(Head, Value)>, Unread> {
    let foreign = Unread::Damaged("is no backup of a store");
    let end = file.iter().take(MAX_LINE).position(|byte| *byte == b'\n').ok_or(foreign)?;
    let (line, sealed) = file.split_at(end + 1);
    let read: Line = serde_json::from_slice(line).map_err(|_| foreign)?;
    if read.manifold != FORMAT {
        return Err(Unread::Damaged("is of a format this version does not know"));
    }
    let key = match (with, &read.kdf) {
        (BackupKey::Passphrase(text), Some(kdf)) => derived(text, kdf)?,
        (BackupKey::Key(key), None) => key.clone(),
        (BackupKey::Passphrase(_), None) => {
            return Err(Unread::Damaged("is sealed with a key file, not with a passphrase"));
        }
        (BackupKey::Key(_), Some(_)) => {
            return Err(Unread::Damaged("is sealed with a passphrase, not with a key file"));
        }
    };
    unpacked(open_bytes(sealed, line, &key)?.expose())
}

fn derived(passphrase: &Value, kdf: &Derivation) -> Result<Key, Unread> {
    let salt = from_hex(&kdf.salt).filter(|salt| salt.len() == SALT_BYTES);
    let iterations = NonZeroU32::new(kdf.iterations).filter(|count| count.get() <= MAX_ITERATIONS);
    let (Some(salt), Some(iterations), KDF) = (salt, iterations, kdf.name.as_str()) else {
        return Err(Unread::Damaged("is sealed in a way this version does not know"));
    };
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    pbkdf2::derive(PBKDF2_HMAC_SHA512, iterations, &salt, passphrase.expose(), &mut *bytes);
    Key::from_bytes(&*bytes).map_err(|_| Unread::NotOpened)
}

/// Each credential is its first line, the length of its value, and the value.
fn packed(credentials: &[(Head, Value)]) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let mut parts = Vec::new();
    for (head, value) in credentials {
        parts.push((head::line(head, Format::Plain)?, value.expose()));
    }
    // All room beforehand: a move would leave a copy of the values behind.
    let whole = parts.iter().map(|(line, value)| line.len() + size_of::<u64>() + value.len()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(whole));
    for (line, value) in parts {
        bytes.extend_from_slice(&line);
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    Ok(bytes)
}

fn unpacked(mut bytes: &[u8]) -> Result<Vec<(Head, Value)>, Unread> {
    let cut = Unread::Damaged("is cut short");
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let split = head::split(bytes)?;
        let (length, rest) = split.rest.split_first_chunk().ok_or(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut)?;
        let (value, rest) = rest.split_at_checked(length).ok_or(cut)?;
        found.push((split.head, Value::new(value)));
        bytes = rest;
    }
    Ok(found)
}
