//! The bytes of one sealed file: a line that says what it is, a nonce, and the value sealed with AES-256-GCM. The whole
//! line is associated data, so neither its name nor its generation can be changed.

#[cfg(test)]
mod tests;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::key::Key;
use crate::name::{Kind, Name};
use crate::value::{MAX_BYTES, Value};

/// What the first line begins with: the format, so that a later one is told from a broken one.
const FORMAT: &str = "credential 1";
const TAG_BYTES: usize = 16;
/// The longest first line.
const MAX_HEAD: usize = 32 * 1024;
/// The longest file.
pub(crate) const MAX_FILE_BYTES: usize = MAX_HEAD + NONCE_LEN + MAX_BYTES + TAG_BYTES;

/// What stands in a file in clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: Name,
    /// Counts how often the value was stored.
    pub(crate) generation: u64,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    manifold: &'a str,
    kind: Kind,
    name: String,
    generation: u64,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Damaged(&'static str),
    NotOpened,
}

/// Returns the bytes of a file.
pub(crate) fn seal(head: &Head, value: &Value, key: &Key) -> Result<Vec<u8>, Unread> {
    let mut file = line(head).ok_or(Unread::Damaged("its name cannot be written"))?;
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| Unread::NotOpened)?;
    // Room for the tag beforehand: a move would leave a copy of the value behind.
    let mut sealed = Zeroizing::new(Vec::with_capacity(value.expose().len() + TAG_BYTES));
    sealed.extend_from_slice(value.expose());
    let associated = Aad::from(file.as_slice());
    cipher(key)?
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), associated, &mut *sealed)
        .map_err(|_| Unread::NotOpened)?;
    file.extend_from_slice(&nonce);
    file.extend_from_slice(&sealed);
    Ok(file)
}

/// Returns what a file says of itself. Nothing vouches for it before it is opened.
pub(crate) fn head(file: &[u8]) -> Result<Head, Unread> {
    split(file).map(|(head, _, _)| head)
}

/// Returns what a file holds.
pub(crate) fn open(file: &[u8], key: &Key) -> Result<(Head, Value), Unread> {
    let (head, line, rest) = split(file)?;
    let Some((nonce, sealed)) = rest.split_at_checked(NONCE_LEN).filter(|(_, rest)| rest.len() >= TAG_BYTES)
    else {
        return Err(Unread::Damaged("is cut short"));
    };
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unread::NotOpened)?;
    let mut value = Zeroizing::new(sealed.to_vec());
    let opened =
        cipher(key)?.open_in_place(nonce, Aad::from(line), &mut value).map_err(|_| Unread::NotOpened)?.len();
    value.truncate(opened);
    Ok((head, Value::new(std::mem::take(&mut *value))))
}

fn split(file: &[u8]) -> Result<(Head, &[u8], &[u8]), Unread> {
    if file.is_empty() {
        return Err(Unread::Damaged("is empty"));
    }
    let end = file.iter().take(MAX_HEAD).position(|byte| *byte == b'\n');
    let (line, rest) = file.split_at(end.ok_or(Unread::Damaged("is no sealed file"))? + 1);
    let read: Line<'_> = serde_json::from_slice(line).map_err(|_| Unread::Damaged("is no sealed file"))?;
    if read.manifold != FORMAT {
        return Err(Unread::Damaged("is of a format this version does not know"));
    }
    let name = Name::new(read.kind, &read.name).map_err(|_| Unread::Damaged("has a name that cannot be"))?;
    Ok((Head { name, generation: read.generation }, line, rest))
}

fn line(head: &Head) -> Option<Vec<u8>> {
    let name = head.name.as_str().to_owned();
    let line = Line { manifold: FORMAT, kind: head.name.kind(), name, generation: head.generation };
    let mut bytes = serde_json::to_vec(&line).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

fn cipher(key: &Key) -> Result<LessSafeKey, Unread> {
    let key = UnboundKey::new(&AES_256_GCM, key.expose()).map_err(|_| Unread::NotOpened)?;
    Ok(LessSafeKey::new(key))
}
