//! Who is signed in where: one sign-in for each credential, shared by all connections that use it.

mod fault;
mod http;
mod presented;

use std::sync::{Arc, Mutex, OnceLock};

use manifold_config::{GrantSetting, RemoteSpec, ResourceSetting, Server, Transport};
use manifold_engine::{Lock as _, SignInReport, Tasks};
use manifold_oauth as oauth;
use oauth::{BoxFuture, Clock, CredentialStore, Grant, Http, Parts, Pkce, ResourceChoice, Settings, SignIn};

use crate::supervisor::FollowedSignIn;
pub(crate) use fault::{fault_of, named_account};
pub use http::OAuthHttp;
pub(crate) use presented::SignedIn;

/// The sign-ins of this process. What is stored changes in others too: [`SignIns::stored_anew`] takes that up.
pub struct SignIns {
    store: Arc<dyn CredentialStore>,
    http: Arc<dyn Http>,
    clock: Arc<dyn Clock>,
    tasks: Tasks,
    /// Tells what kind of store it is, in a word; empty before the first value decides it.
    kind: Box<dyn Fn() -> String + Send + Sync>,
    decided: OnceLock<String>,
    known: Mutex<Vec<Known>>,
}

struct Known {
    server: oauth::Server,
    settings: Settings,
    sign_in: SignIn,
}

impl SignIns {
    /// Makes the sign-ins whose credentials lie in this store. Nothing is read yet.
    pub fn new(
        store: Arc<dyn CredentialStore>,
        kind: impl Fn() -> String + Send + Sync + 'static,
        tasks: Tasks,
    ) -> Arc<Self> {
        let http = Arc::new(OAuthHttp::new(tasks.clone()));
        Arc::new(Self {
            store,
            http,
            clock: Arc::new(oauth::SystemClock),
            tasks,
            kind: Box::new(kind),
            decided: OnceLock::new(),
            known: Mutex::default(),
        })
    }

    pub fn store(&self) -> &Arc<dyn CredentialStore> {
        &self.store
    }

    /// Returns what kind of store credentials lie in, in a word; empty before there are any.
    pub fn store_kind(&self) -> String {
        if let Some(kind) = self.decided.get() {
            return kind.clone();
        }
        let kind = (self.kind)();
        if !kind.is_empty() {
            let _ = self.decided.set(kind.clone());
        }
        kind
    }

    /// Returns the sign-in of a server; none where nobody signs in to it.
    pub fn of(&self, server: &Server) -> Option<SignIn> {
        let (of, settings) = settings_of(server)?;
        let mut known = self.known.locked();
        if let Some(found) = known.iter().find(|one| one.server == of && one.settings == settings) {
            return Some(found.sign_in.clone());
        }
        let parts = Parts {
            server: of.clone(),
            settings: settings.clone(),
            http: Arc::clone(&self.http),
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            tasks: Arc::new(Spawner(self.tasks.clone())),
        };
        let sign_in = SignIn::new(parts).ok()?;
        // Of one that was configured otherwise nobody asks any more.
        known.retain(|one| one.server != of || one.settings.account != settings.account);
        known.push(Known { server: of, settings, sign_in: sign_in.clone() });
        let opened = sign_in.clone();
        self.tasks.spawn_background(async move { opened.open().await });
        Some(sign_in)
    }

    /// Returns what a login to a server works with; none where nobody signs in to it.
    pub fn context(&self, server: &Server) -> Option<oauth::Context> {
        let (server, settings) = settings_of(server)?;
        let (http, clock) = (Arc::clone(&self.http), Arc::clone(&self.clock));
        Some(oauth::Context { server, settings, http, clock })
    }

    /// Tells how a server is signed in to, from the store alone; none where nobody signs in.
    pub async fn report(self: &Arc<Self>, server: &Server) -> Option<SignInReport> {
        let sign_in = self.of(server)?;
        sign_in.open().await;
        Some(FollowedSignIn { sign_in, sign_ins: Arc::clone(self) }.report())
    }

    /// Takes up what has changed in the store: somebody else has signed in, or out.
    pub async fn stored_anew(&self) {
        let all: Vec<SignIn> = self.known.locked().iter().map(|one| one.sign_in.clone()).collect();
        for sign_in in all {
            sign_in.changed_on_disk().await;
        }
    }
}

/// Returns what starts the tasks of the OAuth client.
pub fn spawner(tasks: Tasks) -> Arc<dyn oauth::Spawn> {
    Arc::new(Spawner(tasks))
}

/// Starts what a sign-in does beside the calls.
struct Spawner(Tasks);

impl oauth::Spawn for Spawner {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    fn spawn_background(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn_background(task);
    }
}

/// Returns what is configured of signing in to a server; none where a header of the file says who asks, or the file says
/// that nobody is to sign in.
pub fn settings_of(server: &Server) -> Option<(oauth::Server, Settings)> {
    let Transport::Remote(spec) = &server.transport else { return None };
    if spec.has_authorization() {
        return None;
    }
    let settings = settings(spec)?;
    let id = match &server.key.schema {
        Some(schema) => format!("{schema}/{}", server.key.id),
        None => server.key.id.clone(),
    };
    // A WebSocket is asked for by HTTP.
    let url = match spec.url.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        _ => spec.url.clone(),
    };
    Some((oauth::Server { id, url }, settings))
}

fn settings(spec: &RemoteSpec) -> Option<Settings> {
    let written = spec.sign_in.as_deref()?;
    let secret = |secret: &manifold_config::Secret| oauth::Secret::new(secret.expose());
    Some(Settings {
        client_id: written.client_id.clone(),
        client_secret: written.client_secret.as_ref().map(secret),
        client_name: written.client_name.clone(),
        client_metadata_url: written.client_metadata_url.clone(),
        issuer: written.issuer.clone().or_else(|| issuer_of(written.metadata_url.as_deref()?)),
        resource: match &written.resource {
            ResourceSetting::AsTheServerSays => ResourceChoice::Discovered,
            ResourceSetting::Given(resource) => ResourceChoice::Given(resource.clone()),
            ResourceSetting::Unsaid => ResourceChoice::Omitted,
        },
        scopes: written.scopes.clone(),
        params: written.params.clone(),
        callback_port: written.callback_port,
        callback_url: written.callback_url.clone(),
        pkce: if written.assume_pkce { Pkce::Assume } else { Pkce::Required },
        allow_private: written.allow_private,
        assume_endpoints: written.assume_endpoints,
        credential: written.credential.clone(),
        grant: match written.grant {
            GrantSetting::Code => Grant::Code,
            GrantSetting::ClientCredentials => Grant::ClientCredentials,
            GrantSetting::Device => Grant::Device,
        },
        private_key: written.private_key.as_ref().map(secret),
        account: Some(written.account.clone()),
    })
}

/// Returns the issuer whose metadata is at an address (RFC 8414, 3.1; OpenID Connect Discovery, 4), if it is where an
/// issuer's belongs.
fn issuer_of(metadata_url: &str) -> Option<String> {
    let known = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
    let (before, after) = known.iter().find_map(|place| metadata_url.split_once(place))?;
    (after.is_empty() || after.starts_with('/')).then(|| format!("{before}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_known_by_where_its_metadata_is() {
        let check = |url: &str, issuer: Option<&str>| assert_eq!(issuer_of(url).as_deref(), issuer, "{url}");
        check("https://as/.well-known/oauth-authorization-server", Some("https://as"));
        check("https://as/.well-known/oauth-authorization-server/tenant", Some("https://as/tenant"));
        check("https://as/tenant/.well-known/openid-configuration", Some("https://as/tenant"));
        check("https://as/metadata.json", None);
        check("https://as/.well-known/openid-configuration.json", None);
    }
}
