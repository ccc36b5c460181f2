//! What lets clients in: tokens by name, tokens of authorization servers, certificates. It is replaced as a whole when
//! the config or the stored tokens change.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};
use manifold_config::TokenDigest;
use manifold_engine::{Grants, Principal};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::protection::Protection;
use super::text;

/// The samples of LiteMCP spell it so.
pub(in crate::http) const AUTHENTICATION: HeaderName = HeaderName::from_static("authentication");

/// What lets clients in. Without any of it, whoever reaches us is let in.
#[derive(Debug, Default)]
pub struct Accepted {
    pub tokens: Vec<Token>,
    /// Tokens of authorization servers.
    pub protection: Option<Protection>,
    /// Certificates of clients, which the connection has checked.
    pub certificates: bool,
    /// Nobody is let in, whatever is missing above: what let in before has been taken away.
    pub nobody: bool,
}

/// A token and what it makes of who brings it. Only its hash is here.
#[derive(Debug, Clone)]
pub struct Token {
    pub name: Arc<str>,
    pub digest: TokenDigest,
    pub until: Option<Until>,
    /// What it may use, where that is not everything.
    pub grants: Option<Arc<Grants>>,
    /// Whether it lets the page in, which is an operator.
    pub is_operators: bool,
}

/// Until when something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    At(Instant),
    /// A date, which the machine's sleep does not put off.
    Date(SystemTime),
}

impl Until {
    /// Returns the date so many seconds after the beginning of 1970; none where that is past all dates.
    pub(super) fn seconds(seconds: u64) -> Option<Self> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).map(Self::Date)
    }

    pub(super) fn is_past(self) -> bool {
        match self {
            Self::At(at) => Instant::now() >= at,
            Self::Date(date) => SystemTime::now() >= date,
        }
    }

    /// Returns how long it is until then.
    pub(super) fn left(self) -> Duration {
        match self {
            Self::At(at) => at.saturating_duration_since(Instant::now()),
            Self::Date(date) => date.duration_since(SystemTime::now()).unwrap_or_default(),
        }
    }
}

/// What a request brings to be let in by.
pub(super) enum Brought<'h> {
    Nothing,
    /// What is after `Bearer`, at the most in both of the headers that we know.
    Bearer([Option<&'h str>; 2]),
    /// Two of one header, which nobody could judge.
    Several,
}

/// Who somebody is by a credential.
pub(super) struct Known {
    pub(super) principal: Principal,
    pub(super) until: Option<Until>,
    /// When its credential is over for good.
    pub(super) expires: Option<Until>,
    pub(super) grants: Option<Arc<Grants>>,
    pub(super) is_operators: bool,
}

impl Accepted {
    /// Returns whether whoever comes must show something.
    pub(super) fn is_closed(&self) -> bool {
        !self.tokens.is_empty() || self.protection.is_some() || self.certificates || self.nobody
    }

    /// Returns whether those who come in may be different principals. One token, or none, makes all of them one.
    pub(super) fn has_several_principals(&self) -> bool {
        self.tokens.len() > 1 || self.protection.is_some() || self.certificates
    }

    /// Returns whether somebody may still be here who came in earlier.
    pub(in crate::http) fn still_knows(&self, principal: &Principal) -> bool {
        match principal {
            Principal::Token(name) => {
                let mut named = self.tokens.iter().filter(|token| token.name == *name);
                named.any(|token| token.until.is_none_or(|until| !until.is_past()))
            }
            Principal::User(user) => {
                self.protection.as_ref().is_some_and(|protection| protection.has_issuer(&user.issuer))
            }
            Principal::Certificate(_) => self.certificates,
            Principal::Local => !self.is_closed(),
            Principal::Gateway => true,
        }
    }

    /// Returns whose a token is. All are compared, and each to its end, so that the time taken tells nothing.
    pub(super) fn by_token(&self, given: &[Option<&str>]) -> Option<Known> {
        let given: Vec<TokenDigest> = given.iter().flatten().map(|given| TokenDigest::of(given)).collect();
        let mut found = None;
        for token in &self.tokens {
            let is_given =
                given.iter().fold(0_u8, |same, given| same | given.0.ct_eq(&token.digest.0).unwrap_u8());
            if is_given == 1 {
                found = Some(token);
            }
        }
        let token = found.filter(|token| token.until.is_none_or(|until| !until.is_past()))?;
        Some(Known {
            principal: Principal::Token(Arc::clone(&token.name)),
            until: token.until,
            expires: token.until,
            grants: token.grants.clone(),
            is_operators: token.is_operators,
        })
    }
}

/// Returns what a request brings.
pub(super) fn brought(headers: &HeaderMap) -> Brought<'_> {
    let both = [AUTHORIZATION, AUTHENTICATION];
    if both.iter().any(|name| headers.get_all(name).iter().count() > 1) {
        return Brought::Several;
    }
    if !both.iter().any(|name| headers.contains_key(name)) {
        return Brought::Nothing;
    }
    Brought::Bearer(both.map(|name| {
        let (scheme, token) = text(headers, &name)?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }))
}
