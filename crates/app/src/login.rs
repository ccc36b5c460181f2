//! Signing in to a server: what the browser is shown, where it comes back to, and what is kept of it.

mod callback;
mod landing;
mod paste;
mod running;
mod shown;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use manifold_config::{Server, SignIn, Transport};
use manifold_oauth::{self as oauth, Context, Credential, CredentialKey, LoginError, Pending, Start, login};
use manifold_upstreams::SignIns;

pub(crate) use callback::{Callbacks, NoCallback};
pub(crate) use landing::{Landing, Landings};
pub(crate) use paste::{Pasted, pasted};
pub(crate) use running::RunningLogins;
pub(crate) use shown::{line as sign_in_line, signed_in};
pub(crate) use watch::watch_store;

/// How often a login looks whether another was quicker.
const GLANCE: Duration = Duration::from_secs(1);

/// Why nobody is signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(
        "nobody signs in to this server: it is not remote, has a header `Authorization`, or `oauth` is false"
    )]
    NotSignedInTo,
    #[error("more rights were asked for already within the hour; `manifold login` asks again")]
    AskedAlready,
    #[error(transparent)]
    Store(#[from] oauth::StoreError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Callback(#[from] NoCallback),
}

/// What a login is for.
pub(crate) struct Wanted {
    pub(crate) server: Arc<Server>,
    /// Beyond what is configured and asked for by the server; none: as those say.
    pub(crate) scopes: Vec<String>,
    /// Registers us even where a document of ours would do, as that was refused.
    pub(crate) without_document: bool,
}

/// A login that waits for the browser to come back.
pub(crate) struct Open {
    pending: Pending,
    /// Where it comes back to; none where that is not on this machine.
    pub(crate) callbacks: Option<Callbacks>,
    /// Its place at our own door, where it comes back to that.
    landing: Option<Landing>,
    sign_ins: Arc<SignIns>,
}

/// Returns what is needed to sign in to a server, once what is stored could be read and locked: a login must not be lost
/// for want of a place to keep it.
pub(crate) async fn prepare(
    sign_ins: &SignIns,
    wanted: &Wanted,
) -> Result<(Context, Start, CredentialKey), Failed> {
    let context = sign_ins.context(&wanted.server).ok_or(Failed::NotSignedInTo)?;
    let key = CredentialKey::of(&context.server, &context.settings).map_err(LoginError::from)?;
    let store = sign_ins.store();
    store.prepare().await?;
    drop(store.lock(&key).await?);
    let known = store.load(&key).await?;
    let challenge = sign_ins.of(&wanted.server).and_then(|sign_in| sign_in.challenge());
    let start = Start {
        challenge,
        redirect_uri: String::new(),
        known,
        scopes: wanted.scopes.clone(),
        without_document: wanted.without_document,
    };
    Ok((context, start, key))
}

/// Begins a login: finds out where one signs in, and listens for the browser that comes back, at our own door where it
/// may come there.
pub(crate) async fn begin(
    sign_ins: &Arc<SignIns>,
    wanted: &Wanted,
    landings: Option<&Landings>,
) -> Result<Open, Failed> {
    let (context, mut start, _) = prepare(sign_ins, wanted).await?;
    if let Some(landing) = landings.and_then(|landings| landings.open(&context.server, &context.settings)) {
        start.redirect_uri = landing.redirect_uri().to_owned();
        let pending = login::begin(&context, start).await?;
        let sign_ins = Arc::clone(sign_ins);
        return Ok(Open { pending, callbacks: None, landing: Some(landing), sign_ins });
    }
    let settings = settings_of(&wanted.server).ok_or(Failed::NotSignedInTo)?;
    let before = start.known.as_ref().and_then(|known| known.redirect_uri.as_deref());
    let redirect_uri = |port| login::redirect_uri(&context.server, &context.settings, port);
    let (url, port) = (settings.callback_url.as_deref(), settings.callback_port);
    let callbacks = Callbacks::open(url, port, before, redirect_uri).await?;
    start.redirect_uri = match (&callbacks, &settings.callback_url) {
        (Some(callbacks), _) => callbacks.redirect_uri().to_owned(),
        (None, elsewhere) => elsewhere.clone().unwrap_or_default(),
    };
    let pending = login::begin(&context, start).await?;
    Ok(Open { pending, callbacks, landing: None, sign_ins: Arc::clone(sign_ins) })
}

impl Open {
    /// Returns what is opened in the browser.
    pub(crate) fn url(&self) -> &str {
        self.pending.authorization_url()
    }

    /// Returns the host of that, which is told first.
    pub(crate) fn host(&self) -> String {
        oauth::Url::parse(self.url()).map(|url| url.authority()).unwrap_or_default()
    }

    pub(crate) fn redirect_uri(&self) -> &str {
        self.pending.redirect_uri()
    }

    /// Returns when it ends, in seconds since 1970.
    pub(crate) fn expires(&self) -> u64 {
        self.pending.expires()
    }

    /// Takes the query that the browser came back with, and keeps what it brings.
    pub(crate) async fn take(&self, query: &str) -> Result<Credential, Failed> {
        let credential = self.pending.finish(query).await?;
        keep(&self.sign_ins, credential).await
    }

    /// Waits for the browser. Whatever does not belong to this login is refused and leaves it open; `refused` hears why.
    pub(crate) async fn wait(&self, refused: impl Fn(&Failed)) -> Result<Credential, Failed> {
        let refused = &refused;
        let take = |query: String| async move {
            let taken = self.take(&query).await;
            if let Err(failed) = &taken
                && failed.leaves_open()
            {
                refused(failed);
            }
            taken
        };
        match (&self.landing, &self.callbacks) {
            (Some(landing), _) => landing.wait(take).await,
            (None, Some(callbacks)) => callbacks.wait(take).await,
            (None, None) => std::future::pending().await,
        }
    }
}

/// Waits until somebody else has signed in, where nobody was when this is called: another login, at the same time.
pub(crate) async fn signed_in_elsewhere(sign_ins: &SignIns, key: &CredentialKey) -> Credential {
    let found = || async {
        let found = sign_ins.store().load(key).await.ok().flatten();
        found.filter(|credential| credential.tokens.is_some())
    };
    if found().await.is_some() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(GLANCE).await;
        if found().await.is_some() {
            // It may be our own, and the browser is being told so.
            tokio::time::sleep(GLANCE).await;
            if let Some(credential) = found().await {
                return credential;
            }
        }
    }
}

/// Keeps what a login has brought, for this process and all others.
pub(crate) async fn keep(sign_ins: &SignIns, credential: Credential) -> Result<Credential, Failed> {
    let kept = login::keep(&**sign_ins.store(), credential).await?;
    sign_ins.stored_anew().await;
    Ok(kept)
}

/// Returns what the config says of signing in to a server.
pub(crate) fn settings_of(server: &Server) -> Option<&SignIn> {
    match &server.transport {
        Transport::Remote(spec) => spec.sign_in.as_deref(),
        Transport::Builtin(_) | Transport::Process(_) => None,
    }
}

impl Failed {
    /// Returns whether the login goes on all the same.
    pub(crate) fn leaves_open(&self) -> bool {
        matches!(self, Self::Login(LoginError::Callback(_)))
    }
}
