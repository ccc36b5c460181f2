//! What the authorization server knows: codes, tokens and their families.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::Misbehaviour;

/// A refresh token that is good, or was.
struct Refresh {
    family: u64,
    is_spent: bool,
    user: String,
    scope: String,
}

pub(super) struct State {
    pub(super) counts: HashMap<&'static str, usize>,
    pub(super) secrets: Vec<String>,
    pub(super) scopes_asked: Vec<String>,
    pub(super) misbehaviour: Option<Misbehaviour>,
    pub(super) life: u64,
    pub(super) pause: Duration,
    pub(super) user: String,
    /// The tokens that are accepted, each with its user and scopes.
    pub(super) access: HashMap<String, (String, String)>,
    pub(super) refresh: HashMap<String, ()>,
    pub(super) devices_approved: bool,
    /// A spent refresh token is taken again, for whoever lost the answer.
    pub(super) has_grace: bool,
    pub(super) moved_to: Option<String>,
    /// All that was sent, request by request.
    pub(super) heard: Vec<String>,
    families: HashMap<String, Refresh>,
    /// Challenge, redirect and scopes of each code.
    codes: HashMap<String, (String, String, String)>,
    last: u64,
    pub(super) salt: u16,
}

impl Default for State {
    fn default() -> Self {
        Self {
            counts: HashMap::new(),
            secrets: Vec::new(),
            scopes_asked: Vec::new(),
            misbehaviour: None,
            life: 3600,
            pause: Duration::ZERO,
            user: "somebody".to_owned(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            devices_approved: false,
            has_grace: false,
            moved_to: None,
            heard: Vec::new(),
            families: HashMap::new(),
            codes: HashMap::new(),
            last: 0,
            salt: 0,
        }
    }
}

impl State {
    pub(super) fn note(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn fresh(&mut self, what: &str) -> String {
        self.last += 1;
        format!("{what}-{:08x}-{}-{}", self.last.wrapping_mul(2_654_435_761), self.salt, self.last)
    }

    /// Makes up something that nobody may ever see.
    pub(super) fn fresh_secret(&mut self, what: &str) -> String {
        let secret = self.fresh(&format!("canary-{what}"));
        self.secrets.push(secret.clone());
        secret
    }

    pub(super) fn code(&mut self, challenge: &str, redirect: &str, scope: &str) -> String {
        let code = self.fresh_secret("code");
        self.codes.insert(code.clone(), (challenge.to_owned(), redirect.to_owned(), scope.to_owned()));
        code
    }

    pub(super) fn device(&mut self, issuer: &str) -> Value {
        self.note("device");
        let code = self.fresh_secret("device");
        json!({
            "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": format!("{issuer}/activate"),
            "expires_in": 600, "interval": 1,
        })
    }

    pub(super) fn give_token(&mut self) -> String {
        let token = self.fresh_secret("access");
        self.access.insert(token.clone(), (self.user.clone(), "mcp:basic".to_owned()));
        token
    }

    /// Answers a token request, or says by which error it is refused.
    pub(super) fn grant(&mut self, form: &HashMap<String, String>) -> Result<Value, &'static str> {
        let value = |name: &str| form.get(name).cloned().unwrap_or_default();
        if value("resource").is_empty() {
            return Err("invalid_target");
        }
        match value("grant_type").as_str() {
            "authorization_code" => {
                self.note("code");
                self.secrets.push(value("code_verifier"));
                let (challenge, redirect, scope) =
                    self.codes.remove(&value("code")).ok_or("invalid_grant")?;
                if redirect != value("redirect_uri") || challenge != s256(&value("code_verifier")) {
                    return Err("invalid_grant");
                }
                self.last += 1;
                let (family, user) = (self.last, self.user.clone());
                Ok(self.tokens(family, &user, &scope))
            }
            "refresh_token" => {
                self.note("refresh");
                let token = value("refresh_token");
                let known = self.refresh.contains_key(&token);
                let found = self.families.get_mut(&token).ok_or("invalid_grant")?;
                let (family, user, scope) = (found.family, found.user.clone(), found.scope.clone());
                let is_forgiven = found.is_spent && self.has_grace;
                if (found.is_spent || !known) && !is_forgiven {
                    // Whoever comes with an old one may have stolen it: all of the family are worth nothing any more.
                    let dead: Vec<String> = self
                        .families
                        .iter()
                        .filter(|(_, one)| one.family == family)
                        .map(|(token, _)| token.clone())
                        .collect();
                    self.refresh.retain(|token, ()| !dead.contains(token));
                    self.note("reuse");
                    return Err("invalid_grant");
                }
                found.is_spent = true;
                self.refresh.remove(&token);
                Ok(self.tokens(family, &user, &scope))
            }
            "urn:ietf:params:oauth:grant-type:device_code" => {
                self.note("poll");
                if !self.devices_approved {
                    return Err("authorization_pending");
                }
                self.last += 1;
                let (family, user) = (self.last, self.user.clone());
                Ok(self.tokens(family, &user, "mcp:basic"))
            }
            "client_credentials" => {
                self.note("machine");
                let assertion = value("client_assertion");
                if assertion.is_empty() {
                    return Err("invalid_client");
                }
                self.secrets.push(assertion);
                self.last += 1;
                let family = self.last;
                Ok(self.tokens(family, "machine", "mcp:basic"))
            }
            _ => Err("unsupported_grant_type"),
        }
    }

    fn tokens(&mut self, family: u64, user: &str, scope: &str) -> Value {
        let (access, refresh) = (self.fresh_secret("access"), self.fresh_secret("refresh"));
        let id = self.fresh_secret("id-token");
        self.access.insert(access.clone(), (user.to_owned(), scope.to_owned()));
        self.refresh.insert(refresh.clone(), ());
        let kept = Refresh { family, is_spent: false, user: user.to_owned(), scope: scope.to_owned() };
        self.families.insert(refresh.clone(), kept);
        json!({
            "access_token": access, "token_type": "bearer", "expires_in": self.life, "refresh_token": refresh,
            "scope": scope, "id_token": id,
        })
    }
}

fn s256(verifier: &str) -> String {
    use sha2::{Digest as _, Sha256};
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}
