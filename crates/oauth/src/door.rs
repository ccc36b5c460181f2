//! Our own door: whether a token that a client brings is good, and whose it is (RFC 9068, RFC 7662).
//!
//! A JWT is checked with the keys of its issuer, anything else is asked about. What was found out is kept for a minute by
//! the hash of the token. For which of our addresses a token is meant is for whoever asks to judge: `audiences` says.

mod cache;
mod introspection;
mod jwks;
mod jwt;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::clock::Clock;
use crate::http::Http;
use crate::secret::Secret;
use crate::spawn::Spawn;
use cache::{Cache, Key};
use jwks::Keys;

/// A longer token is not looked at.
pub const MAX_TOKEN_BYTES: usize = 8 << 10;
/// For how long at the most what was found out of a token counts.
const KEPT: Duration = Duration::from_secs(60);
/// For how long a refusal of the authorization server counts.
const REFUSAL_KEPT: Duration = Duration::from_secs(10);
/// Tokens that are asked about at once, and how long another waits for its turn.
const ASKED_AT_ONCE: usize = 16;
const TURN_PATIENCE: Duration = Duration::from_secs(5);

/// Whose tokens are good, and how they are checked.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Exactly as each names itself.
    pub issuers: Vec<String>,
    /// Where the keys of the one issuer are, if it is not asked for that.
    pub jwks: Option<String>,
    pub introspection: Option<Introspection>,
    /// The claims that hold scopes, as paths with dots.
    pub scope_claims: Vec<String>,
    /// By how much clocks may differ.
    pub leeway: Duration,
    /// The signatures accepted, by their names in JWTs.
    pub algorithms: Vec<String>,
    /// Whether a JWT must be typed as an access token.
    pub require_typ: bool,
}

/// Whom to ask about tokens that are no JWT, and as whom.
#[derive(Debug, Clone)]
pub struct Introspection {
    pub url: String,
    pub client_id: String,
    pub client_secret: Secret,
}

/// What a good token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub issuer: String,
    pub subject: String,
    pub client_id: Option<String>,
    /// What it is meant for; never empty.
    pub audiences: Vec<String>,
    pub scopes: Vec<String>,
    /// Until when it is good, in seconds since 1970, the leeway included.
    pub expires: u64,
}

impl Verified {
    /// Returns for how long it may be gone by without another look.
    pub fn good_for(&self, wall: u64) -> Duration {
        Duration::from_secs(self.expires.saturating_sub(wall)).min(KEPT)
    }
}

/// Why a token does not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unverified {
    /// It is no good, for a reason that holds nothing of it.
    Invalid(&'static str),
    /// Nobody whose tokens are good here ever gave it out, or nothing shows it: somebody may be guessing.
    Wrong(&'static str),
    /// Nobody can tell now; the same token may be good in a moment.
    Unavailable,
}

/// Checks tokens.
pub struct Verifier {
    rules: Rules,
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    /// One for each issuer, in their order.
    keys: Vec<Arc<Keys>>,
    cache: Cache,
    tasks: Arc<dyn Spawn>,
    /// Held by whoever asks about a token; by its hash, so that nobody asks about one that is asked about.
    asking: [tokio::sync::Mutex<()>; ASKED_AT_ONCE],
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("issuers", &self.rules.issuers).finish_non_exhaustive()
    }
}

impl Verifier {
    pub fn new(rules: Rules, http: Arc<dyn Http>, clock: Arc<dyn Clock>, tasks: Arc<dyn Spawn>) -> Self {
        let keys = |issuer: &String| Arc::new(Keys::new(issuer, rules.jwks.as_deref()));
        let keys = rules.issuers.iter().map(keys).collect();
        Self { rules, http, clock, keys, cache: Cache::default(), tasks, asking: Default::default() }
    }

    /// Returns the time of day, in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.clock.wall()
    }

    /// Finds out whether a token is good, and whose.
    pub async fn verify(&self, token: &str) -> Result<Arc<Verified>, Unverified> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Unverified::Invalid("it is too long"));
        }
        let key = Cache::key(token);
        if let Some(known) = self.known(&key) {
            return known;
        }
        // Whose it is and whether it is good is in it: nobody else is shown another issuer's token.
        let is_jose = jwt::is_jose(token);
        match (jwt::parse(token), &self.rules.introspection) {
            (Some(jwt), asked) if asked.is_none() || is_jose => {
                let verified = self.check(&jwt).await?;
                Ok(self.keep(key, verified))
            }
            (None, Some(_)) if is_jose => Err(Unverified::Wrong("it is encrypted")),
            (_, Some(asked)) => self.ask(asked, key, token).await,
            (_, None) => Err(Unverified::Wrong("it is no JWT")),
        }
    }

    /// Asks about a token; one at a time is asked about of those that share a turn.
    async fn ask(&self, asked: &Introspection, key: Key, token: &str) -> Result<Arc<Verified>, Unverified> {
        let turn = self.asking.get(usize::from(key[0]) % ASKED_AT_ONCE).ok_or(Unverified::Unavailable)?;
        let turn = timeout(TURN_PATIENCE, turn.lock()).await.map_err(|_| Unverified::Unavailable)?;
        // Whoever had it before may have asked the same.
        if let Some(known) = self.known(&key) {
            return known;
        }
        let found = introspection::ask(asked, &self.rules, token, &*self.http, self.now()).await;
        // What is no good for the one who knows is not asked again for a while.
        if let Err(why @ (Unverified::Invalid(_) | Unverified::Wrong(_))) = found {
            self.cache.refuse(key, why, self.clock.now() + REFUSAL_KEPT);
        }
        let kept = found.map(|verified| self.keep(key, verified));
        drop(turn);
        kept
    }

    /// Returns what was found out of a token a while ago.
    fn known(&self, key: &Key) -> Option<Result<Arc<Verified>, Unverified>> {
        Some(match self.cache.get(key, self.clock.now())? {
            Ok(verified) if verified.expires > self.now() => Ok(verified),
            Ok(_) => Err(Unverified::Invalid("it has expired")),
            Err(why) => Err(why),
        })
    }

    fn keep(&self, key: Key, verified: Verified) -> Arc<Verified> {
        let verified = Arc::new(verified);
        let until = self.clock.now() + verified.good_for(self.now());
        self.cache.keep(key, Arc::clone(&verified), until);
        verified
    }

    async fn check(&self, jwt: &jwt::Jwt<'_>) -> Result<Verified, Unverified> {
        let head = jwt.head(&self.rules)?;
        let issuer = jwt.issuer().ok_or(Unverified::Invalid("it names no issuer"))?;
        let at = self.rules.issuers.iter().position(|one| *one == issuer);
        let keys = at.and_then(|at| self.keys.get(at));
        let keys = keys.ok_or(Unverified::Invalid("it is of another issuer"))?;
        // What its claims forbid needs no key: nobody makes us fetch one for it.
        let verified = jwt.claims(&self.rules, self.now())?;
        let key = keys.find(&head, &self.http, &self.clock, &*self.tasks).await?;
        match jwt.is_signed_by(&key, head.algorithm) {
            true => Ok(verified),
            false => Err(Unverified::Wrong("its signature is wrong")),
        }
    }
}
