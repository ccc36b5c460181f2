//! A JWT, read and checked. Its head and claims are read before its signature is known to be right, so everything in
//! them is somebody's word until then.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::{Rules, Unverified, Verified};

/// What others choose and we keep is no longer than this.
const MAX_NAME_BYTES: usize = 512;

/// The three parts of a token.
pub(super) struct Jwt<'t> {
    head: Vec<u8>,
    claims: Vec<u8>,
    /// What is signed.
    message: &'t str,
    signature: &'t str,
}

/// What a head says, once it is one that we accept.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) algorithm: Algorithm,
    pub(super) name: String,
    pub(super) kid: Option<String>,
}

/// A member that is there twice fails to be read.
#[derive(Deserialize)]
struct RawHead {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Claims {
    pub(super) iss: Option<String>,
    pub(super) sub: Option<String>,
    pub(super) aud: Option<Audience>,
    pub(super) exp: Option<f64>,
    pub(super) nbf: Option<f64>,
    pub(super) iat: Option<f64>,
    pub(super) client_id: Option<String>,
    pub(super) azp: Option<String>,
    /// Only an id token has one, and it is for the client that asked.
    nonce: Option<Value>,
    at_hash: Option<Value>,
    /// Whose key it is bound to; no proof of that comes with a bearer token.
    cnf: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Several(several) => several,
        }
    }
}

/// Returns whether a token is a JWT, signed or encrypted, by its form and by its head.
pub(super) fn is_jose(token: &str) -> bool {
    let is_part = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let parts: Vec<&str> = token.split('.').collect();
    let head = parts.first().and_then(|head| URL_SAFE_NO_PAD.decode(head).ok());
    let head = head.and_then(|head| serde_json::from_slice::<Value>(&head).ok());
    matches!(parts.len(), 3 | 5)
        && parts.into_iter().all(is_part)
        && head.is_some_and(|head| head.get("alg").is_some_and(Value::is_string))
}

/// Returns the parts of a token, if it has those of a JWT.
pub(super) fn parse(token: &str) -> Option<Jwt<'_>> {
    let (message, signature) = token.rsplit_once('.')?;
    let (head, claims) = message.split_once('.')?;
    if claims.contains('.') {
        return None;
    }
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    Some(Jwt { head: decoded(head)?, claims: decoded(claims)?, message, signature })
}

impl Jwt<'_> {
    /// Returns whose it says it is.
    pub(super) fn issuer(&self) -> Option<String> {
        serde_json::from_slice::<Claims>(&self.claims).ok()?.iss
    }

    /// Reads the head, if it is one that we accept.
    pub(super) fn head(&self, rules: &Rules) -> Result<Head, Unverified> {
        let invalid = Unverified::Invalid;
        let head: RawHead =
            serde_json::from_slice(&self.head).map_err(|_| invalid("its head cannot be read"))?;
        // We understand no extension, so none may be critical (RFC 7515, 4.1.11).
        if head.crit.is_some() {
            return Err(invalid("its head has critical members that are not known here"));
        }
        let is_typed = |typ: &str| {
            let typ = typ.to_ascii_lowercase();
            let typ = typ.strip_prefix("application/").unwrap_or(&typ).to_owned();
            typ == "at+jwt" || (typ == "jwt" && !rules.require_typ)
        };
        if !head.typ.as_deref().map_or(!rules.require_typ, is_typed) {
            return Err(invalid("it is no access token"));
        }
        let is_accepted = rules.algorithms.contains(&head.alg);
        let algorithm = algorithm(&head.alg).filter(|_| is_accepted);
        let algorithm = algorithm.ok_or(invalid("its signature is of a kind that is not accepted"))?;
        if head.kid.as_ref().is_some_and(|kid| kid.len() > MAX_NAME_BYTES) {
            return Err(invalid("it names a key that there cannot be"));
        }
        Ok(Head { algorithm, name: head.alg, kid: head.kid })
    }

    /// Reads what it claims, where that is enough and still true.
    pub(super) fn claims(&self, rules: &Rules, now: u64) -> Result<Verified, Unverified> {
        let unreadable = Unverified::Invalid("its claims cannot be read");
        let claims: Claims = serde_json::from_slice(&self.claims).map_err(|_| unreadable)?;
        let all: Value = serde_json::from_slice(&self.claims).map_err(|_| unreadable)?;
        if claims.nonce.is_some() || claims.at_hash.is_some() {
            return Err(Unverified::Invalid("it is an id token"));
        }
        verified(claims, &all, rules, now)
    }

    pub(super) fn is_signed_by(&self, key: &DecodingKey, algorithm: Algorithm) -> bool {
        jsonwebtoken::crypto::verify(self.signature, self.message.as_bytes(), key, algorithm).unwrap_or(false)
    }
}

/// Judges claims, of a token or of what is said of one.
pub(super) fn verified(claims: Claims, all: &Value, rules: &Rules, now: u64) -> Result<Verified, Unverified> {
    let invalid = Unverified::Invalid;
    let leeway = rules.leeway.as_secs();
    let seconds = |at: f64| (0.0..1e15).contains(&at).then_some(at as u64);
    let exp = claims.exp.and_then(seconds).ok_or(invalid("it does not say until when it is good"))?;
    if exp.saturating_add(leeway) <= now {
        return Err(invalid("it has expired"));
    }
    for (at, why) in [(claims.nbf, "it is not good yet"), (claims.iat, "it was made in the future")] {
        let Some(at) = at else { continue };
        if seconds(at).is_none_or(|at| at > now.saturating_add(leeway)) {
            return Err(invalid(why));
        }
    }
    if claims.cnf.is_some() {
        return Err(invalid("it is bound to a key that is not shown"));
    }
    let issuer = claims.iss.ok_or(invalid("it names no issuer"))?;
    if !rules.issuers.contains(&issuer) {
        return Err(invalid("it is of another issuer"));
    }
    let audiences = claims.aud.map(Audience::into_vec).unwrap_or_default();
    if audiences.is_empty() {
        return Err(invalid("it is meant for nobody"));
    }
    let client_id = claims.client_id.or(claims.azp);
    // A token that a client has for itself names the client alone.
    let subject = claims.sub.or_else(|| client_id.clone()).filter(|subject| !subject.is_empty());
    let subject = subject.ok_or(invalid("it does not say whose it is"))?;
    if subject.len() > MAX_NAME_BYTES || client_id.as_ref().is_some_and(|id| id.len() > MAX_NAME_BYTES) {
        return Err(invalid("whose it is takes too many words"));
    }
    let scopes = scopes(all, &rules.scope_claims);
    Ok(Verified { issuer, subject, client_id, audiences, scopes, expires: exp.saturating_add(leeway) })
}

/// Returns the scopes in all claims that hold some: words in a text, or texts in a list.
fn scopes(claims: &Value, paths: &[String]) -> Vec<String> {
    let mut scopes = Vec::new();
    for path in paths {
        // A name may have dots itself, as those that are addresses do.
        let found = claims.get(path).or_else(|| path.split('.').try_fold(claims, |at, part| at.get(part)));
        match found {
            Some(Value::String(text)) => scopes.extend(text.split_whitespace().map(str::to_owned)),
            Some(Value::Array(items)) => {
                scopes.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    scopes
}

/// Returns the signatures that a public key can be asked for; those of a shared secret are none.
fn algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::RS256,
        "RS384" => Algorithm::RS384,
        "RS512" => Algorithm::RS512,
        "PS256" => Algorithm::PS256,
        "PS384" => Algorithm::PS384,
        "PS512" => Algorithm::PS512,
        "ES256" => Algorithm::ES256,
        "ES384" => Algorithm::ES384,
        "EdDSA" => Algorithm::EdDSA,
        _ => return None,
    })
}
