//! Which scopes are asked for.

use crate::challenge::Challenge;
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::record::Credential;

const OFFLINE_ACCESS: &str = "offline_access";

/// Cuts a list of scopes at its spaces; each is there once, in the order of their first mention.
pub fn split(text: &str) -> Vec<String> {
    let mut scopes = Vec::new();
    add(&mut scopes, text.split_ascii_whitespace());
    scopes
}

/// Tells whether this is a list of scopes (RFC 6749, section 3.3).
pub fn is_list(text: &str) -> bool {
    text.bytes().all(|byte| byte == b' ' || (byte.is_ascii_graphic() && byte != b'"' && byte != b'\\'))
}

/// Adds what is not there yet.
pub fn add<'a>(scopes: &mut Vec<String>, more: impl IntoIterator<Item = &'a str>) {
    for scope in more {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

/// Returns what a renewal asks for: what was asked for at login, less what was not given (RFC 6749, section 6). Many give a
/// refresh token for `offline_access` without naming it among what they gave, and refuse it here.
pub(crate) fn to_renew<'a>(requested: &'a [String], granted: &[String]) -> Vec<&'a str> {
    let is_given = |scope: &&str| granted.iter().any(|given| given == scope);
    let all = || requested.iter().map(String::as_str);
    let given: Vec<&str> = all().filter(is_given).collect();
    // Who calls them by other names than we do knows what is meant.
    if given.is_empty() { all().collect() } else { given }
}

/// What there is to choose from.
pub(crate) struct Choice<'a> {
    /// What the user asks for by hand.
    pub(crate) asked: &'a [String],
    pub(crate) configured: &'a [String],
    pub(crate) challenge: Option<&'a Challenge>,
    pub(crate) resource: Option<&'a ResourceMetadata>,
    pub(crate) server: &'a ServerMetadata,
    /// What is stored, if it is of the same issuer.
    pub(crate) known: Option<&'a Credential>,
}

impl Choice<'_> {
    /// Chooses: asked, configured, what we had, what the refusal names, what the server offers, or nothing. What a
    /// call was refused for comes on top (never instead, or a step up would lose what was granted before).
    pub(crate) fn scopes(&self) -> Vec<String> {
        if !self.asked.is_empty() {
            return self.asked.to_vec();
        }
        let mut scopes = self.base();
        if let Some(known) = self.known {
            add(&mut scopes, known.wanted_scopes.iter().map(String::as_str));
        }
        let challenged = self.challenge.map(Challenge::scopes).unwrap_or_default();
        let is_step_up = self.known.is_some() || self.challenge.is_some_and(Challenge::is_insufficient_scope);
        if is_step_up {
            add(&mut scopes, challenged.iter().map(String::as_str));
        }
        if self.configured.is_empty() {
            // Only the authorization server knows whether it gives refresh tokens for a scope.
            scopes.retain(|scope| scope != OFFLINE_ACCESS);
            if self.server.lists_scope(OFFLINE_ACCESS) && !scopes.is_empty() {
                scopes.push(OFFLINE_ACCESS.to_owned());
            }
        }
        scopes
    }

    fn base(&self) -> Vec<String> {
        let before = self.known.map(|known| {
            if known.requested_scopes.is_empty() { &known.granted_scopes } else { &known.requested_scopes }
        });
        if !self.configured.is_empty() {
            return self.configured.to_vec();
        }
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            return before.clone();
        }
        let challenged = self.challenge.map(Challenge::scopes).filter(|scopes| !scopes.is_empty());
        let offered = || self.resource.and_then(|resource| resource.scopes_supported.clone());
        challenged.or_else(offered).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
