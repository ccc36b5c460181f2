//! What a token endpoint gives.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};

use crate::login::LoginError;
use crate::record::{TokenKind, Tokens};
use crate::scope;
use crate::secret::Secret;

/// No token lives longer than this, whatever is said of it: ten years.
const MAX_LIFE: u64 = 10 * 365 * 24 * 3600;
/// What fits into a header with room for the others.
const MAX_TOKEN_BYTES: usize = 64 << 10;

/// A token as it was given.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// In seconds; 0: it is expired already; `None`: nobody knows.
    pub(crate) life: Option<u64>,
    pub(crate) scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Told {
    access_token: Option<Secret>,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<u64>,
    refresh_token: Option<Secret>,
    scope: Option<String>,
}

impl Answer {
    /// Reads an answer; `now` is the wall's clock.
    pub(crate) fn read(host: &str, body: &[u8], now: u64) -> Result<Self, LoginError> {
        let unusable = |why| LoginError::UnusableToken { host: host.to_owned(), why };
        let told: Told =
            serde_json::from_slice(body).map_err(|_| unusable("the answer is not what the standard says"))?;
        let access = told.access_token.ok_or_else(|| unusable("there is none"))?;
        if !told.token_type.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(unusable("its type is not Bearer"));
        }
        let is_plain = access.expose().bytes().all(|byte| byte.is_ascii_graphic());
        if access.is_empty() || access.expose().len() > MAX_TOKEN_BYTES || !is_plain {
            return Err(unusable("it does not fit into a header"));
        }
        let life = told.expires_in.or_else(|| life_of_jwt(&access, now)).map(|life| life.min(MAX_LIFE));
        let refresh = told.refresh_token.filter(|refresh| !refresh.is_empty());
        let scopes = told.scope.filter(|text| scope::is_list(text)).map(|text| scope::split(&text));
        Ok(Self { access, refresh, life, scopes })
    }

    /// Returns what is kept. Without a new refresh token the old one stays (RFC 6749, section 6).
    pub(crate) fn tokens(&self, old_refresh: Option<Secret>, now: u64) -> Tokens {
        Tokens {
            kind: TokenKind::Bearer,
            access: self.access.clone(),
            refresh: self.refresh.clone().or(old_refresh),
            expires_at: self.life.map(|life| now.saturating_add(life)),
            life: self.life,
        }
    }
}

/// A number, also one with a fraction or in quotes; what is below zero is zero. What is neither is as good as absent.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Told {
        Number(f64),
        Text(String),
        Other(serde::de::IgnoredAny),
    }
    let number = match Told::deserialize(deserializer)? {
        Told::Number(number) => Some(number),
        Told::Text(text) => text.trim().parse::<f64>().ok(),
        Told::Other(_) => None,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is cut to the bounds")]
    Ok(number.filter(|number| number.is_finite()).map(|number| number.clamp(0.0, MAX_LIFE as f64) as u64))
}

/// Looks into a token that is a JWT for its end: a hint, nothing is verified and nothing depends on it.
fn life_of_jwt(token: &Secret, now: u64) -> Option<u64> {
    #[derive(Deserialize)]
    struct Claims {
        exp: f64,
    }
    let mut parts = token.expose().split('.');
    let payload = parts.nth(1)?;
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "floats are cut to the bounds"
    )]
    let end = claims.exp as u64;
    end.checked_sub(now).filter(|life| *life > 0)
}
