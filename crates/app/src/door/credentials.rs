//! What lets clients in by HTTP, put together from the config, the command line, and the tokens that commands made. It
//! is made anew whenever one of them changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use manifold_config::{Auth, Config, Grant, HttpSettings, NamedToken, Secret, Selection, TokenDigest};
use manifold_engine::{Grants, Lock as _};
use manifold_frontends::http::{Accepted, Protection, Token, Until, is_loopback};
use manifold_oauth::door::{Introspection, Rules, Verifier};
use manifold_oauth::{Http, Spawn, SystemClock};
use tracing::warn;

use crate::tokens::TokenFile;

/// The name that the one token without a name goes by.
const DEFAULT: &str = "default";

/// What lets clients in.
pub(super) struct Credentials {
    /// A token of the command line or a variable, which counts more than that of the config.
    given: Option<Secret>,
    stored: Option<TokenFile>,
    /// What was last read of it.
    known: Mutex<Vec<NamedToken>>,
    /// Once a token was needed, the door is not opened to those without for as long as it is served.
    was_closed: AtomicBool,
    http: Arc<dyn Http>,
    tasks: Arc<dyn Spawn>,
    /// What checks tokens of authorization servers, for as long as the rules are the same.
    verifier: Mutex<Option<(Auth, Arc<Verifier>)>>,
}

/// Where we are, as far as clients know.
pub(super) struct Address<'a> {
    pub(super) scheme: &'a str,
    pub(super) host: &'a str,
    pub(super) port: u16,
}

impl Credentials {
    pub(super) fn new(
        given: Option<Secret>,
        stored: Option<TokenFile>,
        (http, tasks): (Arc<dyn Http>, Arc<dyn Spawn>),
    ) -> Self {
        Self {
            given,
            stored,
            known: Mutex::default(),
            was_closed: AtomicBool::new(false),
            http,
            tasks,
            verifier: Mutex::default(),
        }
    }

    pub(super) fn stored(&self) -> Option<&TokenFile> {
        self.stored.as_ref()
    }

    /// Returns what lets in by a config.
    pub(super) fn accepted(&self, config: &Config, selected: &Selection, at: &Address<'_>) -> Accepted {
        let settings = &config.settings.http;
        let alias = alias(config, selected);
        let mut tokens: Vec<Token> = Vec::new();
        let default = self.given.as_ref().or(settings.token.as_ref());
        tokens.extend(default.map(|secret| Token {
            name: DEFAULT.into(),
            digest: TokenDigest::of(secret.expose().trim()),
            until: None,
            grants: None,
            is_operators: true,
        }));
        tokens.extend(settings.tokens.iter().chain(&self.read()).map(|token| named(token, &alias)));
        let protection = settings.auth.as_ref().map(|auth| self.protection(auth, settings, at, &alias));
        let certificates = settings.tls.as_ref().is_some_and(|tls| tls.clients.is_some());
        let is_closed = !tokens.is_empty() || protection.is_some() || certificates;
        let must_be = self.was_closed.fetch_or(is_closed, Ordering::Relaxed) || !is_loopback(at.host);
        if must_be && !is_closed {
            warn!("nothing lets in any more, so nobody comes in; make a token with `manifold token create`");
        }
        Accepted { tokens, protection, certificates, nobody: must_be && !is_closed }
    }

    /// Returns the tokens that commands made. A file that cannot be read changes nothing.
    fn read(&self) -> Vec<NamedToken> {
        let mut known = self.known.locked();
        match self.stored.as_ref().map(TokenFile::named) {
            None => {}
            Some(Ok(tokens)) => *known = tokens,
            Some(Err(why)) => warn!("the stored tokens cannot be read, so those read last count: {why}"),
        }
        known.clone()
    }

    fn protection(
        &self,
        auth: &Auth,
        settings: &HttpSettings,
        at: &Address<'_>,
        alias: &Alias,
    ) -> Protection {
        let verifier = {
            let mut kept = self.verifier.locked();
            match &*kept {
                Some((rules, verifier)) if rules == auth => Arc::clone(verifier),
                _ => {
                    let (http, tasks) = (Arc::clone(&self.http), Arc::clone(&self.tasks));
                    let verifier = Arc::new(Verifier::new(rules(auth), http, Arc::new(SystemClock), tasks));
                    *kept = Some((auth.clone(), Arc::clone(&verifier)));
                    verifier
                }
            }
        };
        let auth =
            Auth { scopes: auth.scopes.clone().map(|scopes| with_alias(scopes, alias)), ..auth.clone() };
        let protection = Protection::new(&auth, verifier, bases(settings.public_url.as_deref(), at));
        match alias {
            Some(id) => protection.with_alias(DEFAULT, id.as_deref()),
            None => protection,
        }
    }
}

/// What `default` stands for where no namespace has that name: the selected one, or all servers.
type Alias = Option<Option<String>>;

fn alias(config: &Config, selected: &Selection) -> Alias {
    if config.namespaces.iter().any(|namespace| namespace.id == DEFAULT) {
        return None;
    }
    match selected {
        Selection::Namespace { id, .. } => Some(Some(id.clone())),
        Selection::All => Some(None),
        Selection::Unknown { .. } | Selection::Ambiguous { .. } => None,
    }
}

fn with_alias<K: Ord>(
    scopes: std::collections::BTreeMap<K, Grant>,
    alias: &Alias,
) -> std::collections::BTreeMap<K, Grant> {
    scopes.into_iter().map(|(scope, grant)| (scope, resolved(grant, alias))).collect()
}

/// Puts the namespace that `default` stands for beside it.
fn resolved(mut grant: Grant, alias: &Alias) -> Grant {
    if let (Some(names), Some(Some(id))) = (&mut grant.namespaces, alias)
        && names.iter().any(|name| name == DEFAULT)
    {
        names.push(id.clone());
    }
    grant
}

fn named(token: &NamedToken, alias: &Alias) -> Token {
    let is_restricted = token.grant != Grant::default();
    Token {
        name: token.name.as_str().into(),
        digest: token.digest,
        until: token.expires.map(Until::Date),
        grants: is_restricted.then(|| Arc::new(Grants::only(resolved(token.grant.clone(), alias)))),
        is_operators: false,
    }
}

/// Returns our address as clients write it. On this machine it has three names, none of which anybody else can have.
fn bases(public_url: Option<&str>, at: &Address<'_>) -> Vec<String> {
    if let Some(url) = public_url {
        return vec![url.to_owned()];
    }
    let own = if at.host.contains(':') { format!("[{}]", at.host) } else { at.host.to_owned() };
    let mut hosts = vec![own];
    hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
    hosts.dedup();
    hosts.into_iter().map(|host| format!("{}://{host}:{}", at.scheme, at.port)).collect()
}

fn rules(auth: &Auth) -> Rules {
    Rules {
        issuers: auth.issuers.clone(),
        jwks: auth.jwks.clone(),
        introspection: auth.introspection.as_ref().map(|asked| Introspection {
            url: asked.url.clone(),
            client_id: asked.client_id.clone(),
            client_secret: asked.client_secret.expose().into(),
        }),
        scope_claims: auth.scope_claims.clone(),
        leeway: auth.leeway,
        algorithms: auth.algorithms.clone(),
        require_typ: auth.require_typ,
    }
}
