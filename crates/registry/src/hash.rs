//! SHA-256 as text.

use sha2::{Digest, Sha256};

pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn hex_of(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}
