//! Codes and tokens: 256 bits that nobody can guess, of which only a digest is kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use manifold_admin::{CommandError, ErrorCode};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What is kept of a code or a token.
#[derive(Clone, Copy)]
pub(super) struct Digested([u8; 32]);

/// Makes one.
pub(super) fn random() -> Result<String, CommandError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        CommandError::new(ErrorCode::Failed, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl Digested {
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Compares in a time that tells nothing.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    pub(super) fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        Some(Self(URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?))
    }

    /// Returns a few signs of it, by which people tell sessions apart.
    pub(super) fn short(self) -> String {
        self.to_text().chars().filter(char::is_ascii_alphanumeric).take(8).collect()
    }
}
