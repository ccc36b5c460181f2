//! Session ids that say what a session is, to those who have the key: any replica can make it anew.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use manifold_protocol::{Raw, RawObject, Revision};
use sha2::{Digest as _, Sha256};

use super::StateKeys;

/// What every such id begins with.
pub(crate) const PREFIX: &str = "mf1.";
/// A longer one is not read at all.
const MAX_ID_BYTES: usize = 300;
/// What is kept of the client's own name and version, in bytes.
const MAX_NAME_BYTES: usize = 80;
const MAX_VERSION_BYTES: usize = 32;
const PURPOSE: &[u8] = b"session";
const FORMAT: u8 = 1;

/// A hash that tells principals, and places, apart.
pub(crate) type Hash = [u8; 16];

/// What an id says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SealedSession {
    /// Tells sessions apart.
    pub(crate) random: [u8; 16],
    /// Whose it is.
    pub(crate) principal: Hash,
    /// Where it was opened.
    pub(crate) namespace: Hash,
    pub(crate) revision: Revision,
    pub(crate) capabilities: Capabilities,
    pub(crate) client_name: String,
    pub(crate) client_version: String,
    /// In seconds since 1970.
    pub(crate) created: u64,
}

impl SealedSession {
    /// Returns the id; `None` where the system has no randomness to give.
    pub(crate) fn seal(&self, keys: &StateKeys) -> Option<String> {
        let mut plain = Vec::with_capacity(192);
        plain.push(FORMAT);
        plain.extend_from_slice(&self.random);
        plain.extend_from_slice(&self.principal);
        plain.extend_from_slice(&self.namespace);
        let revision = Revision::ALL.iter().position(|known| *known == self.revision)?;
        plain.push(u8::try_from(revision).ok()?);
        plain.extend_from_slice(&self.capabilities.0.to_be_bytes());
        plain.extend_from_slice(&self.created.to_be_bytes());
        push_text(&mut plain, &self.client_name, MAX_NAME_BYTES);
        push_text(&mut plain, &self.client_version, MAX_VERSION_BYTES);
        let sealed = keys.seal(PURPOSE, &plain)?;
        Some(format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Reads an id that was sealed with one of the keys.
    pub(crate) fn open(id: &str, keys: &StateKeys) -> Option<Self> {
        let sealed = id.strip_prefix(PREFIX).filter(|_| id.len() <= MAX_ID_BYTES)?;
        let plain = keys.open(PURPOSE, &BASE64_URL_SAFE_NO_PAD.decode(sealed).ok()?)?;
        let mut rest = plain.strip_prefix(&[FORMAT])?;
        let session = Self {
            random: take(&mut rest)?,
            principal: take(&mut rest)?,
            namespace: take(&mut rest)?,
            revision: *Revision::ALL.get(usize::from(take::<1>(&mut rest)?[0]))?,
            capabilities: Capabilities(u16::from_be_bytes(take(&mut rest)?)),
            created: u64::from_be_bytes(take(&mut rest)?),
            client_name: take_text(&mut rest)?,
            client_version: take_text(&mut rest)?,
        };
        rest.is_empty().then_some(session)
    }

    /// Returns the name by which replicas speak of it.
    pub(crate) fn sid(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.random))
    }

    /// Returns what its client said of itself, as far as it is kept.
    pub(crate) fn info(&self) -> Raw {
        let mut info = RawObject::default();
        info.set("name", Raw::string(&self.client_name));
        info.set("version", Raw::string(&self.client_version));
        info.into_raw()
    }
}

/// Hashes a text for what only has to be told apart.
pub(crate) fn hash_of(text: &str) -> Hash {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let (half, _) = hash.split_at(16);
    half.try_into().unwrap_or_default()
}

/// What a client can be asked, a bit each. What is not listed here a session that is made anew does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities(u16);

const BITS: [&[&str]; 8] = [
    &["roots"],
    &["roots", "listChanged"],
    &["sampling"],
    &["sampling", "tools"],
    &["sampling", "context"],
    &["elicitation"],
    &["elicitation", "form"],
    &["elicitation", "url"],
];

impl Capabilities {
    pub(crate) fn of(capabilities: &Raw) -> Self {
        let is_declared = |path: &[&str]| {
            capabilities.path(path).is_some_and(|value| !matches!(value.as_str(), "false" | "null"))
        };
        let bits = BITS.iter().enumerate().filter(|(_, path)| is_declared(path));
        Self(bits.fold(0, |all, (at, _)| all | 1 << at))
    }

    pub(crate) fn to_raw(self) -> Raw {
        let mut all = RawObject::default();
        let declared = BITS.iter().enumerate().filter(|(at, _)| self.0 & 1 << at != 0);
        for (_, path) in declared {
            match path {
                [name] => all.set(name, Raw::from_static("{}")),
                [name, part] => {
                    let mut object = all.get(name).and_then(|object| object.object()).unwrap_or_default();
                    let value = if *part == "listChanged" { "true" } else { "{}" };
                    object.set(part, Raw::from_static(value));
                    all.set(name, object.into_raw());
                }
                _ => {}
            }
        }
        all.into_raw()
    }
}

fn push_text(out: &mut Vec<u8>, text: &str, most: usize) {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.push(end as u8);
    out.extend_from_slice(&text.as_bytes()[..end]);
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_at_checked(N)?;
    *rest = left;
    taken.try_into().ok()
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::from(take::<1>(rest)?[0]);
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    String::from_utf8(taken.to_vec()).ok()
}
