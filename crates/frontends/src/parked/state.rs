//! The state a client brings back: what it belongs to, sealed so that nobody can make one up.

use std::sync::Arc;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use manifold_engine::Principal;
use manifold_protocol::raw::Kind;
use manifold_protocol::{Fault, Method, Raw};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::PATIENCE;
use crate::replica::{Replica, unix_seconds};

/// What every state of ours begins with; any other is a server's own.
pub(crate) const PREFIX: &str = "mf1.";

/// Who calls what: a state is good for nothing else.
pub(crate) type Digest = [u8; 32];
/// Tells parked calls apart; 128 random bits.
pub(crate) type PlaceId = [u8; 16];

/// Seals states and opens them again.
pub(crate) enum Seal {
    /// With a key that this process alone has.
    Own { key: Option<[u8; 32]>, made: Instant },
    /// With a key that all replicas have.
    Shared(Arc<Replica>),
}

/// What a client comes back for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// A call waits for the answers of this round.
    Parked { place: PlaceId, round: u32 },
    /// A call waits at another replica.
    Elsewhere { replica: u32 },
    /// Nothing waits: the call is to be made anew.
    Again,
    /// A server's own state, which only looks like ours.
    Foreign(String),
}

impl Seal {
    pub(crate) fn new() -> Self {
        Self::Own { key: random(), made: Instant::now() }
    }

    /// Returns the time by the clock that counts for a state, in milliseconds: other replicas have only the date in common.
    fn now_ms(&self) -> u64 {
        match self {
            Self::Own { made, .. } => made.elapsed().as_millis() as u64,
            Self::Shared(_) => unix_seconds() * 1000,
        }
    }

    /// Returns the state for a resumption; `None` where the system had no randomness for a key.
    pub(crate) fn close(&self, resumption: &Resumption, digest: &Digest) -> Option<Raw> {
        let expires = self.now_ms() + PATIENCE.as_millis() as u64;
        let mut payload = Vec::with_capacity(64);
        payload.extend_from_slice(&expires.to_be_bytes());
        payload.extend_from_slice(digest);
        match resumption {
            Resumption::Parked { place, round } => {
                match self {
                    Self::Own { .. } => payload.push(b'p'),
                    Self::Shared(replica) => {
                        payload.push(b'r');
                        payload.extend_from_slice(&replica.number().to_be_bytes());
                    }
                }
                payload.extend_from_slice(place);
                payload.extend_from_slice(&round.to_be_bytes());
            }
            // What is elsewhere was sealed there.
            Resumption::Elsewhere { .. } => return None,
            Resumption::Again => payload.push(b'a'),
            Resumption::Foreign(state) => {
                payload.push(b'f');
                payload.extend_from_slice(state.as_bytes());
            }
        }
        let mac = self.mac(&payload)?;
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
        let read = self.read(&payload);
        let (expires, meant, resumption) = read.ok_or_else(|| refused("it cannot be read"))?;
        if meant != digest {
            return Err(refused("it belongs to a call of another client, method or other parameters"));
        }
        if self.now_ms() > expires {
            return Err(refused("it has expired; start the call again"));
        }
        Ok(resumption)
    }

    fn verified(&self, state: &str) -> Option<Vec<u8>> {
        let (payload, mac) = state.strip_prefix(PREFIX)?.split_once('.')?;
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
        // Compared in constant time.
        match self {
            Self::Own { key, .. } => own_mac(key.as_ref()?, &payload)?.verify_slice(&mac).ok()?,
            Self::Shared(replica) => replica.keys().verifies(&payload, &mac).then_some(())?,
        }
        Some(payload)
    }

    /// Returns until when a state is good, for what, and what it says.
    fn read<'p>(&self, payload: &'p [u8]) -> Option<(u64, &'p [u8], Resumption)> {
        let (expires, rest) = payload.split_at_checked(8)?;
        let (meant, rest) = rest.split_at_checked(32)?;
        let expires = u64::from_be_bytes(expires.try_into().ok()?);
        let (kind, rest) = rest.split_first()?;
        let parked = |rest: &[u8]| {
            let (place, round) = rest.split_at_checked(16)?;
            let round = u32::from_be_bytes(round.try_into().ok()?);
            Some(Resumption::Parked { place: place.try_into().ok()?, round })
        };
        let resumption = match kind {
            b'p' => parked(rest)?,
            b'r' => {
                let (replica, rest) = rest.split_at_checked(4)?;
                let replica = u32::from_be_bytes(replica.try_into().ok()?);
                let is_ours = matches!(self, Self::Shared(me) if me.number() == replica);
                if is_ours { parked(rest)? } else { Resumption::Elsewhere { replica } }
            }
            b'a' => Resumption::Again,
            _ => Resumption::Foreign(String::from_utf8(rest.to_vec()).ok()?),
        };
        Some((expires, meant, resumption))
    }

    /// Returns at which other replica the call waits that a state belongs to, if it is one of ours.
    pub(crate) fn elsewhere(&self, state: &str) -> Option<u32> {
        let payload = self.verified(state)?;
        match self.read(&payload)?.2 {
            Resumption::Elsewhere { replica } => Some(replica),
            _ => None,
        }
    }

    fn mac(&self, payload: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Own { key, .. } => Some(own_mac(key.as_ref()?, payload)?.finalize().into_bytes().to_vec()),
            Self::Shared(replica) => replica.keys().mac(payload),
        }
    }
}

fn own_mac(key: &[u8; 32], payload: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(payload);
    Some(mac)
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
