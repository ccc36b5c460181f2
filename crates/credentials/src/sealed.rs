//! The bytes of one sealed file: a line that says what it is, a nonce, and the value sealed with AES-256-GCM. The whole
//! line is associated data, so neither its name nor its generation can be changed.

#[cfg(test)]
mod tests;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use crate::head::{Format, Head, Unread, line, split};
use crate::key::Key;
use crate::value::Value;

const TAG_BYTES: usize = 16;
/// What a sealed file has beside its line and its value.
pub(crate) const MORE_BYTES: usize = NONCE_LEN + TAG_BYTES;

/// Returns the bytes of a file.
pub(crate) fn seal(head: &Head, value: &Value, key: &Key) -> Result<Vec<u8>, Unread> {
    let mut file = line(head, Format::Sealed)?;
    let sealed = seal_bytes(value.expose(), &file, key)?;
    file.extend_from_slice(&sealed);
    Ok(file)
}

/// Returns what a file holds.
pub(crate) fn open(file: &[u8], key: &Key) -> Result<(Head, Value), Unread> {
    let split = split(file)?;
    if split.format != Format::Sealed {
        return Err(Unread::Damaged("is not sealed, though the store is"));
    }
    Ok((split.head, open_bytes(split.rest, split.line, key)?))
}

/// Seals bytes, vouching for others that stay in clear: a nonce, and what is sealed.
pub(crate) fn seal_bytes(bytes: &[u8], associated: &[u8], key: &Key) -> Result<Vec<u8>, Unread> {
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| Unread::NotOpened)?;
    // Room for the tag beforehand: a move would leave a copy of the value behind.
    let mut sealed = Zeroizing::new(Vec::with_capacity(bytes.len() + TAG_BYTES));
    sealed.extend_from_slice(bytes);
    cipher(key)?
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(associated), &mut *sealed)
        .map_err(|_| Unread::NotOpened)?;
    Ok([nonce.as_slice(), &sealed].concat())
}

/// Opens what [`seal_bytes`] has sealed.
pub(crate) fn open_bytes(bytes: &[u8], associated: &[u8], key: &Key) -> Result<Value, Unread> {
    let Some((nonce, sealed)) = bytes.split_at_checked(NONCE_LEN).filter(|(_, rest)| rest.len() >= TAG_BYTES)
    else {
        return Err(Unread::Damaged("is cut short"));
    };
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unread::NotOpened)?;
    let mut value = Zeroizing::new(sealed.to_vec());
    let opened = cipher(key)?
        .open_in_place(nonce, Aad::from(associated), &mut value)
        .map_err(|_| Unread::NotOpened)?
        .len();
    value.truncate(opened);
    Ok(Value::new(std::mem::take(&mut *value)))
}

fn cipher(key: &Key) -> Result<LessSafeKey, Unread> {
    let key = UnboundKey::new(&AES_256_GCM, key.expose()).map_err(|_| Unread::NotOpened)?;
    Ok(LessSafeKey::new(key))
}
