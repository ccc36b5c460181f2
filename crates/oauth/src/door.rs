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

use crate::clock::Clock;
use crate::http::Http;
use crate::secret::Secret;
use cache::Cache;
use jwks::Keys;

/// A longer token is not looked at.
pub const MAX_TOKEN_BYTES: usize = 8 << 10;
/// For how long at the most what was found out of a token counts.
const KEPT: Duration = Duration::from_secs(60);
/// For how long a refusal of the authorization server counts.
const REFUSAL_KEPT: Duration = Duration::from_secs(10);

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
    /// Nobody can tell now; the same token may be good in a moment.
    Unavailable,
}

/// Checks tokens.
pub struct Verifier {
    rules: Rules,
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    /// One for each issuer, in their order.
    keys: Vec<Keys>,
    cache: Cache,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("issuers", &self.rules.issuers).finish_non_exhaustive()
    }
}

impl Verifier {
    pub fn new(rules: Rules, http: Arc<dyn Http>, clock: Arc<dyn Clock>) -> Self {
        let keys = rules.issuers.iter().map(|issuer| Keys::new(issuer, rules.jwks.as_deref())).collect();
        Self { rules, http, clock, keys, cache: Cache::default() }
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
        if let Some(known) = self.cache.get(&key, self.clock.now()) {
            return match known {
                Ok(verified) if verified.expires > self.now() => Ok(verified),
                Ok(_) => Err(Unverified::Invalid("it has expired")),
                Err(why) => Err(Unverified::Invalid(why)),
            };
        }
        let found = match jwt::parse(token) {
            Some(jwt) if self.is_ours(&jwt) || self.rules.introspection.is_none() => self.check(&jwt).await,
            _ => match &self.rules.introspection {
                Some(asked) => {
                    let found = introspection::ask(asked, &self.rules, token, &*self.http, self.now()).await;
                    // What is no good for the one who knows is not asked again for a while.
                    if let Err(Unverified::Invalid(why)) = found {
                        self.cache.put(key, Err(why), self.clock.now() + REFUSAL_KEPT);
                    }
                    found
                }
                None => Err(Unverified::Invalid("it is no JWT")),
            },
        }?;
        let verified = Arc::new(found);
        let until = self.clock.now() + verified.good_for(self.now());
        self.cache.put(key, Ok(Arc::clone(&verified)), until);
        Ok(verified)
    }

    fn is_ours(&self, jwt: &jwt::Jwt<'_>) -> bool {
        jwt.issuer().is_some_and(|issuer| self.rules.issuers.contains(&issuer))
    }

    async fn check(&self, jwt: &jwt::Jwt<'_>) -> Result<Verified, Unverified> {
        let head = jwt.head(&self.rules)?;
        let issuer = jwt.issuer().ok_or(Unverified::Invalid("it names no issuer"))?;
        let at = self.rules.issuers.iter().position(|one| *one == issuer);
        let keys = at.and_then(|at| self.keys.get(at));
        let keys = keys.ok_or(Unverified::Invalid("it is of another issuer"))?;
        // What its claims forbid needs no key: nobody makes us fetch one for it.
        let verified = jwt.claims(&self.rules, self.now())?;
        let key = keys.find(&head, &*self.http, &*self.clock).await?;
        match jwt.is_signed_by(&key, head.algorithm) {
            true => Ok(verified),
            false => Err(Unverified::Invalid("its signature is wrong")),
        }
    }
}
