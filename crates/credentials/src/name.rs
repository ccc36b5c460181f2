//! What a credential is called.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The longest name of a secret: a file of that name can be made everywhere.
const MAX_SECRET_NAME: usize = 64;
/// The longest name of another credential: an address and an account fit.
const MAX_NAME: usize = 4096;

/// What a credential is for. Names of different kinds never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What a config calls `${secret:NAME}`.
    Secret,
    /// The tokens of a login.
    OAuth,
}

/// The name of one credential.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    kind: Kind,
    name: String,
}

/// A name nothing can be kept under.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no name of a secret: write 1 to 64 of A-Z a-z 0-9 _ - ., the first a letter, a digit or _",
    .0.escape_debug()
)]
pub struct BadName(pub String);

impl Name {
    /// Returns the name of a secret: at most 64 of `[A-Za-z0-9_.-]`, of which the first is no dot and no hyphen.
    pub fn secret(name: &str) -> Result<Self, BadName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if begins && name.len() <= MAX_SECRET_NAME && name.bytes().all(allowed) {
            return Ok(Self { kind: Kind::Secret, name: name.to_owned() });
        }
        Err(BadName(name.chars().take(MAX_SECRET_NAME).collect()))
    }

    /// Returns the name of a login, which is any text: what is logged in to, and as whom.
    pub fn oauth(name: &str) -> Result<Self, BadName> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(BadName(name.chars().take(MAX_SECRET_NAME).collect()));
        }
        Ok(Self { kind: Kind::OAuth, name: name.to_owned() })
    }

    pub(crate) fn new(kind: Kind, name: &str) -> Result<Self, BadName> {
        match kind {
            Kind::Secret => Self::secret(name),
            Kind::OAuth => Self::oauth(name),
        }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name of the file it is kept in.
    pub(crate) fn file(&self) -> String {
        match self.kind {
            Kind::Secret => format!("secret.{}", self.name),
            // Any text may be in the name; it stands in the file.
            Kind::OAuth => format!("oauth.{}", hex(&digest(&SHA256, self.name.as_bytes()).as_ref()[..16])),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.escape_debug().fmt(f)
    }
}

/// Returns what a file of the folder is to hold, by its name; `None` for one that holds no credential.
pub(crate) fn kind_of(file: &str) -> Option<Kind> {
    match file.split_once('.')?.0 {
        "secret" => Some(Kind::Secret),
        "oauth" => Some(Kind::OAuth),
        _ => None,
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
