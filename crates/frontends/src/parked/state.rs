//! The state a client brings back: what it belongs to, sealed so that nobody can make one up.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use manifold_engine::Principal;
use manifold_protocol::raw::Kind;
use manifold_protocol::{Fault, Method, Raw};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::PATIENCE;

/// What every state of ours begins with; any other is a server's own.
pub(crate) const PREFIX: &str = "mf1.";

/// Who calls what: a state is good for nothing else.
pub(crate) type Digest = [u8; 32];
/// Tells parked calls apart; 128 random bits.
pub(crate) type PlaceId = [u8; 16];

/// Seals states and opens them again, with a key that this process alone has.
pub(crate) struct Seal {
    key: Option<[u8; 32]>,
    made: Instant,
}

/// What a client comes back for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// A call waits for the answers of this round.
    Parked { place: PlaceId, round: u32 },
    /// Nothing waits: the call is to be made anew.
    Again,
    /// A server's own state, which only looks like ours.
    Foreign(String),
}

impl Seal {
    pub(crate) fn new() -> Self {
        Self { key: random(), made: Instant::now() }
    }

    /// Returns the state for a resumption; `None` where the system had no randomness for a key.
    pub(crate) fn close(&self, resumption: &Resumption, digest: &Digest) -> Option<Raw> {
        let expires = self.made.elapsed() + PATIENCE;
        let mut payload = Vec::with_capacity(64);
        payload.extend_from_slice(&(expires.as_millis() as u64).to_be_bytes());
        payload.extend_from_slice(digest);
        match resumption {
            Resumption::Parked { place, round } => {
                payload.push(b'p');
                payload.extend_from_slice(place);
                payload.extend_from_slice(&round.to_be_bytes());
            }
            Resumption::Again => payload.push(b'a'),
            Resumption::Foreign(state) => {
                payload.push(b'f');
                payload.extend_from_slice(state.as_bytes());
            }
        }
        let mac = self.mac(&payload)?.finalize().into_bytes();
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Some(Raw::string(&format!("{PREFIX}{}.{}", encode(&payload), encode(&mac))))
    }

    /// Reads a state that begins like ours.
    pub(crate) fn open(&self, state: &str, digest: &Digest) -> Result<Resumption, Fault> {
        let payload = self.verified(state).ok_or_else(|| {
            refused(
                "it is not one of this gateway's, or the gateway was restarted since; start the call again",
            )
        })?;
        let read = || {
            let (expires, rest) = payload.split_at_checked(8)?;
            let (meant, rest) = rest.split_at_checked(32)?;
            let expires = u64::from_be_bytes(expires.try_into().ok()?);
            let (kind, rest) = rest.split_first()?;
            let resumption = match kind {
                b'p' => {
                    let (place, round) = rest.split_at_checked(16)?;
                    let round = u32::from_be_bytes(round.try_into().ok()?);
                    Resumption::Parked { place: place.try_into().ok()?, round }
                }
                b'a' => Resumption::Again,
                _ => Resumption::Foreign(String::from_utf8(rest.to_vec()).ok()?),
            };
            Some((expires, meant, resumption))
        };
        let (expires, meant, resumption) = read().ok_or_else(|| refused("it cannot be read"))?;
        if meant != digest {
            return Err(refused("it belongs to a call of another client, method or other parameters"));
        }
        if self.made.elapsed().as_millis() as u64 > expires {
            return Err(refused("it has expired; start the call again"));
        }
        Ok(resumption)
    }

    fn verified(&self, state: &str) -> Option<Vec<u8>> {
        let (payload, mac) = state.strip_prefix(PREFIX)?.split_once('.')?;
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
        // Compared in constant time.
        self.mac(&payload)?.verify_slice(&mac).ok()?;
        Some(payload)
    }

    fn mac(&self, payload: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_ref()?).ok()?;
        mac.update(payload);
        Some(mac)
    }
}

pub(super) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Says that a state is of no use, and why.
pub(crate) fn refused(why: &str) -> Fault {
    Fault::InvalidParams(format!("`requestState`: {why}"))
}

/// Returns what a state is bound to. Members may come back in another order: the meaning counts, not the bytes.
pub(crate) fn digest(who: &Principal, entrance: &[u8], method: &Method, params: Option<&Raw>) -> Digest {
    let mut hash = Sha256::new();
    feed_bytes(&mut hash, who.to_string().as_bytes());
    feed_bytes(&mut hash, entrance);
    feed_bytes(&mut hash, method.as_str().as_bytes());
    if let Some(params) = params {
        feed(&mut hash, params, &["_meta", "inputResponses", "requestState"]);
    }
    hash.finalize().into()
}

fn feed(hash: &mut Sha256, value: &Raw, except: &[&str]) {
    match value.kind() {
        Kind::Object => {
            let object = value.object().unwrap_or_default();
            let goes = |key: &[u8]| except.iter().any(|except| except.as_bytes() == key);
            let mut members: Vec<_> = object.iter_decoded().filter(|(key, _)| !goes(key)).collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            hash.update(b"{");
            for (key, value) in members {
                feed_bytes(hash, &key);
                feed(hash, &value, &[]);
            }
            hash.update(b"}");
        }
        Kind::Array => {
            hash.update(b"[");
            value.elements().unwrap_or_default().iter().for_each(|one| feed(hash, one, &[]));
            hash.update(b"]");
        }
        Kind::String => {
            hash.update(b"\"");
            feed_bytes(hash, &value.to_decoded().unwrap_or_default());
        }
        Kind::Null | Kind::Bool | Kind::Number => {
            hash.update(b"#");
            feed_bytes(hash, value.as_bytes());
        }
    }
}

/// A length before the bytes keeps two different lists from running into the same text.
fn feed_bytes(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests;
