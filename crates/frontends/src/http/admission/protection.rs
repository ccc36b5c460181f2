//! Tokens of authorization servers: for which of our addresses they are meant, what their scopes give, and what is said
//! to those who come without (RFC 9728, RFC 6750).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use manifold_config::{Auth, Grant};
use manifold_engine::{Access, Grants, Principal, User, Wish};
use manifold_oauth::door::{Verified, Verifier};
use manifold_protocol::{Raw, RawObject};
use tokio::time::Instant;
use tracing::info;

use super::Refused;
use super::credentials::{Known, Until};
use crate::http::endpoint::{Endpoint, named_by};

/// Where the documents about our addresses are.
pub(in crate::http) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Protects our addresses with the tokens of authorization servers.
pub struct Protection {
    verifier: Arc<Verifier>,
    issuers: Vec<String>,
    audiences: Vec<String>,
    scopes: Option<BTreeMap<String, Grant>>,
    required: Vec<Arc<str>>,
    /// Our address as clients write it; the first is what we call ourselves.
    bases: Vec<String>,
    /// Each namespace that has several names, as `default` has.
    aliases: BTreeMap<String, Option<String>>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection").field("issuers", &self.issuers).field("bases", &self.bases).finish()
    }
}

impl Protection {
    /// Protects what is known under these addresses.
    pub fn new(auth: &Auth, verifier: Arc<Verifier>, bases: Vec<String>) -> Self {
        Self {
            verifier,
            issuers: auth.issuers.clone(),
            audiences: auth.audiences.clone(),
            scopes: auth.scopes.clone(),
            required: auth.required_scopes.iter().map(|scope| scope.as_str().into()).collect(),
            bases,
            aliases: BTreeMap::new(),
        }
    }

    /// Says that a namespace of a path is served under another id, or is that of all servers.
    #[must_use]
    pub fn with_alias(mut self, name: &str, id: Option<&str>) -> Self {
        self.aliases.insert(name.to_owned(), id.map(str::to_owned));
        self
    }

    pub(in crate::http) fn verifier(&self) -> &Arc<Verifier> {
        &self.verifier
    }

    pub(super) fn has_issuer(&self, issuer: &str) -> bool {
        self.issuers.iter().any(|one| one == issuer)
    }

    /// Returns who somebody is by a token that was checked, where it is meant for this address.
    pub(super) fn known(&self, verified: &Verified, path: &str) -> Result<Known, Refused> {
        let endpoint = Endpoint::of(path);
        if !self.is_meant(verified, &endpoint) {
            return Err(Refused::InvalidToken);
        }
        let has = |scope: &str| verified.scopes.iter().any(|one| one == scope);
        let user = User {
            issuer: verified.issuer.clone(),
            subject: verified.subject.clone(),
            client: verified.client_id.clone(),
        };
        let principal = Principal::User(Arc::new(user));
        let missing: Vec<&str> =
            self.required.iter().map(|scope| &**scope).filter(|scope| !has(scope)).collect();
        if !missing.is_empty() {
            info!(%principal, path, scope = %missing.join(" "), "a scope is missing");
            return Err(Refused::Scope);
        }
        let grants = match &self.scopes {
            None => Grants::only(Grant::default()),
            Some(scopes) => {
                let (given, lacking): (Vec<_>, Vec<_>) = scopes.iter().partition(|(scope, _)| has(scope));
                let given = given.into_iter().map(|(_, grant)| grant.clone()).collect();
                let lacking =
                    lacking.into_iter().map(|(scope, grant)| (scope.as_str().into(), grant.clone()));
                Grants::scoped(given, lacking.collect(), self.required.clone())
            }
        };
        // What is said of all is said of those the token is meant for.
        let grants = match (endpoint, self.covered(verified)) {
            (Endpoint::Status, Some(namespaces)) => grants.within(&namespaces),
            _ => grants,
        };
        Ok(Known {
            principal,
            until: Some(Until::At(Instant::now() + verified.good_for(self.verifier.now()))),
            expires: Until::seconds(verified.expires),
            grants: Some(Arc::new(grants)),
            is_operators: false,
        })
    }

    /// Returns the namespaces that a token is meant for, as grants name them; `None`: all there are.
    fn covered(&self, verified: &Verified) -> Option<Vec<String>> {
        if verified.audiences.iter().any(|audience| self.audiences.contains(audience)) {
            return None;
        }
        let paths = verified
            .audiences
            .iter()
            .flat_map(|audience| self.bases.iter().filter_map(|base| audience.strip_prefix(base.as_str())));
        let granted = |named: Option<String>| {
            let named = named.unwrap_or_else(|| "default".to_owned());
            match self.aliases.get(&named) {
                Some(Some(id)) => id.clone(),
                // All servers together go by that name.
                Some(None) => "default".to_owned(),
                None => named,
            }
        };
        Some(paths.filter_map(named_by).map(granted).collect())
    }

    /// Returns whether a token is meant for an address: it names the address, or what the config names instead.
    fn is_meant(&self, verified: &Verified, endpoint: &Endpoint) -> bool {
        let is_ours = |audience: &str| {
            self.bases.iter().any(|base| match audience.strip_prefix(base.as_str()) {
                Some(path) => endpoint.is_named_by(path),
                None => false,
            })
        };
        verified.audiences.iter().any(|audience| self.audiences.contains(audience) || is_ours(audience))
    }

    /// Returns the scopes that somebody needs to come in here at all, and those that every call needs.
    fn entry_scopes(&self, endpoint: &Endpoint) -> Vec<Arc<str>> {
        let Some(scopes) = &self.scopes else { return self.required.clone() };
        let is_required = |scope: &str| self.required.iter().any(|one| **one == *scope);
        let (given, lacking): (Vec<_>, Vec<_>) = scopes.iter().partition(|(scope, _)| is_required(scope));
        let given = given.into_iter().map(|(_, grant)| grant.clone()).collect();
        let lacking = lacking.into_iter().map(|(scope, grant)| (scope.as_str().into(), grant.clone()));
        let grants = Grants::scoped(given, lacking.collect(), self.required.clone());
        let named = endpoint.namespace().unwrap_or("default");
        let namespace = match self.aliases.get(named) {
            Some(id) => id.as_deref(),
            None => endpoint.namespace(),
        };
        match grants.access(namespace, Wish::Enter) {
            Access::NeedsScope(scopes) => scopes,
            Access::Granted | Access::Hidden => self.required.clone(),
        }
    }

    /// Returns what `WWW-Authenticate` says to somebody who is refused.
    pub(in crate::http) fn challenge(
        &self,
        path: &str,
        host: Option<&str>,
        error: Option<&str>,
        scopes: Option<&[Arc<str>]>,
    ) -> String {
        let endpoint = Endpoint::of(path);
        let mut parts = Vec::new();
        if let Some(error) = error {
            parts.push(format!("error=\"{error}\""));
        }
        if let Some(path) = Endpoint::described(path) {
            parts.push(format!("resource_metadata=\"{}{WELL_KNOWN}{path}\"", self.base(host)));
        }
        let scopes = scopes.map_or_else(|| self.entry_scopes(&endpoint), <[_]>::to_vec);
        if !scopes.is_empty() {
            parts.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) }
    }

    /// Returns the document about one of our addresses.
    pub(in crate::http) fn document(&self, path: &str, host: Option<&str>) -> Raw {
        let mut document = RawObject::default();
        document.set("resource", Raw::string(&format!("{}{path}", self.base(host))));
        document.set("authorization_servers", Raw::serialize(&self.issuers));
        document.set("bearer_methods_supported", Raw::from_static(r#"["header"]"#));
        document.set("resource_name", Raw::from_static(r#""Manifold""#));
        let scopes = self.entry_scopes(&Endpoint::of(path));
        let scopes: Vec<&str> =
            scopes.iter().map(|scope| &**scope).filter(|scope| *scope != "offline_access").collect();
        if !scopes.is_empty() {
            document.set("scopes_supported", Raw::serialize(&scopes));
        }
        document.into_raw()
    }

    /// Returns our address, as whoever asks wrote it if that is one of ours: on this machine there are three names for it.
    fn base(&self, host: Option<&str>) -> &str {
        let asked = host.and_then(|host| {
            self.bases
                .iter()
                .find(|base| base.split_once("://").is_some_and(|(_, ours)| ours.eq_ignore_ascii_case(host)))
        });
        asked.or(self.bases.first()).map_or("", String::as_str)
    }
}
