//! Server ids: made safe for tool names, kept unique, and made up where there is none.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// Makes up an id that is not taken: four of `[a-z0-9]` (S1-21).
pub fn generate_id(taken: &HashSet<String>, mut random: impl FnMut() -> u32) -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    loop {
        let id: String = (0..4).map(|_| char::from(ALPHABET[random() as usize % ALPHABET.len()])).collect();
        if !taken.contains(&id) {
            return id;
        }
    }
}

/// Hands out exposed ids, each once.
pub(crate) struct ExposedIds<'a> {
    /// The manager tools' prefix, which no server may bear (S1-54).
    reserved: &'a str,
    taken: HashSet<String>,
}

impl<'a> ExposedIds<'a> {
    pub(crate) fn new(reserved: &'a str) -> Self {
        Self { reserved, taken: HashSet::new() }
    }

    pub(crate) fn is_reserved(&self, id: &str) -> bool {
        id.eq_ignore_ascii_case(self.reserved)
    }

    /// Returns the key made safe: `[A-Za-z0-9_-]`, ending in a hash of the key wherever it had to change.
    pub(crate) fn expose(&mut self, key: &str) -> String {
        let safe: String = key.chars().map(|char| if is_safe(char) { char } else { '_' }).collect();
        let mut exposed = safe.clone();
        if safe != key || safe.is_empty() || self.is_reserved(&safe) {
            exposed = format!("{safe}_{}", hash(key));
        }
        // Only a key that itself ends in such a hash can still clash.
        while !self.taken.insert(exposed.clone()) {
            exposed = format!("{safe}_{}", hash(&exposed));
        }
        exposed
    }
}

fn is_safe(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

/// Returns the first 8 hex digits of the SHA-256.
fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
