//! Who comes in over HTTP, and to what: named tokens, and tokens of authorization servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use crate::secret::Secret;

/// The signatures of JWTs that we can check, as their heads name them.
pub const SIGNATURES: [&str; 9] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// What somebody may use. What is `None` is not restricted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Grant {
    pub namespaces: Option<Vec<String>>,
    /// Patterns over the names that clients see.
    pub tools: Option<Vec<String>>,
}

/// A token of `server.tokens`, or one that a command made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedToken {
    pub name: String,
    pub digest: TokenDigest,
    pub origin: TokenOrigin,
    pub grant: Grant,
    pub expires: Option<SystemTime>,
}

/// Where a token is, which decides what can be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenOrigin {
    /// Its file or variable was read, and it has so many characters.
    Read {
        characters: usize,
        /// Its file, where others can read that.
        open_file: Option<PathBuf>,
    },
    /// Only its hash is known.
    Hash,
}

/// The SHA-256 of a token: what is kept of one, and compared. It prints nothing of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenDigest(pub [u8; 32]);

impl TokenDigest {
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Reads hexadecimal digits, with or without `sha256:` before them.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.trim();
        let digits = digits.strip_prefix("sha256:").unwrap_or(digits);
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `server.auth`: whose tokens let in, and to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth {
    /// At least one, exactly as each names itself.
    pub issuers: Vec<String>,
    /// Audiences accepted beside our own addresses.
    pub audiences: Vec<String>,
    /// Where the keys of the one issuer are, if that is not asked of it.
    pub jwks: Option<String>,
    pub introspection: Option<Introspection>,
    /// What each scope gives; `None`: every token may use everything.
    pub scopes: Option<BTreeMap<String, Grant>>,
    pub required_scopes: Vec<String>,
    /// The claims that hold scopes, parts of a path with dots between them.
    pub scope_claims: Vec<String>,
    pub leeway: Duration,
    /// Names out of [`SIGNATURES`].
    pub algorithms: Vec<String>,
    /// Whether a JWT must be typed as an access token.
    pub require_typ: bool,
}

/// `server.auth.introspection`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introspection {
    pub url: String,
    pub client_id: String,
    pub client_secret: Secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written_and_never_shown() {
        let digest = TokenDigest::of("abc");
        assert_eq!(digest.to_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            TokenDigest::from_hex(&format!("sha256:{} ", digest.to_hex().to_uppercase())),
            Some(digest)
        );
        for wrong in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"ä".repeat(32)] {
            assert_eq!(TokenDigest::from_hex(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{digest:?}"), "***");
    }
}
