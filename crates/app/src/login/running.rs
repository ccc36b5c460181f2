//! The logins that a running gateway has open: one for each credential, however many ask for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::Server;
use manifold_engine::{BoxFuture, Lock as _, Logins, OpenLogin, Tasks};
use manifold_oauth::{Clock as _, CredentialKey, State, SystemClock};
use manifold_protocol::Fault;
use manifold_upstreams::{SignIns, sign_in_settings_of};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tracing::info;

use super::{Failed, Landings, Open, Wanted, begin};

/// The logins of one process.
pub(crate) struct RunningLogins {
    sign_ins: Arc<SignIns>,
    tasks: Tasks,
    landings: Arc<Landings>,
    open: Arc<AllOpen>,
}

/// The one login of each credential. Its lock is held while one is begun, so that nobody begins a second; whose issuer
/// does not answer keeps nobody else from signing in.
type AllOpen = std::sync::Mutex<HashMap<CredentialKey, Arc<Mutex<Option<OpenLogin>>>>>;

impl RunningLogins {
    pub(crate) fn new(sign_ins: Arc<SignIns>, landings: Arc<Landings>, tasks: Tasks) -> Self {
        Self { sign_ins, tasks, landings, open: Arc::default() }
    }

    async fn begin(
        sign_ins: Arc<SignIns>,
        landings: Arc<Landings>,
        tasks: Tasks,
        open: Arc<AllOpen>,
        server: Arc<Server>,
    ) -> Result<OpenLogin, Failed> {
        let (of, settings) = sign_in_settings_of(&server).ok_or(Failed::NotSignedInTo)?;
        let key = CredentialKey::of(&of, &settings).map_err(manifold_oauth::LoginError::from)?;
        let place = Arc::clone(open.locked().entry(key).or_default());
        let mut place = place.lock().await;
        if let Some(login) = place.as_ref().filter(|login| login.done.borrow().is_none()) {
            return Ok(login.clone());
        }
        // A client that calls again and again for what it was not granted asks its user once an hour.
        if let Some(sign_in) = sign_ins.of(&server)
            && let State::NeedsScope { scopes } = sign_in.state()
            && !sign_in.may_step_up(&scopes)
        {
            return Err(Failed::AskedAlready);
        }
        let wanted = Wanted { server: Arc::clone(&server), scopes: Vec::new(), without_document: false };
        let begun = begin(&sign_ins, &wanted, Some(&landings)).await?;
        let (tell, done) = watch::channel(None);
        let login =
            OpenLogin { url: begun.url().to_owned(), host: begun.host(), until: begun.expires(), done };
        *place = Some(login.clone());
        drop(place);
        let sign_in = sign_ins.of(&server);
        if let Some(sign_in) = &sign_in {
            sign_in.login_open(Some(login.until));
        }
        info!(server = %server.key.id, host = %login.host, "a login is open");
        let left = Duration::from_secs(login.until.saturating_sub(SystemClock.wall()));
        tasks.spawn_background(async move {
            let ended = finish(begun, left).await;
            if let Some(sign_in) = sign_in {
                sign_in.login_open(None);
            }
            match &ended {
                Ok(()) => info!(server = %server.key.id, "signed in"),
                Err(why) => info!(server = %server.key.id, "the login ended: {why}"),
            }
            tell.send_replace(Some(ended));
        });
        Ok(login)
    }
}

async fn finish(open: Open, patience: Duration) -> Result<(), String> {
    match timeout(
        patience,
        open.wait(|why| info!("a callback was refused, and the login is still open: {why}")),
    )
    .await
    {
        Ok(ended) => ended.map(drop).map_err(|failed| failed.to_string()),
        Err(_) => Err("it was not finished in time".to_owned()),
    }
}

impl Logins for RunningLogins {
    fn open(&self, server: &Arc<Server>) -> BoxFuture<Result<OpenLogin, Fault>> {
        let (sign_ins, tasks) = (Arc::clone(&self.sign_ins), self.tasks.clone());
        let landings = Arc::clone(&self.landings);
        let (open, server) = (Arc::clone(&self.open), Arc::clone(server));
        Box::pin(async move {
            let id = server.key.id.clone();
            Self::begin(sign_ins, landings, tasks, open, server).await.map_err(|failed| {
                let reason = format!("nobody can sign in to it now: {failed}");
                Fault::Refused { server: id, tool: None, reason }
            })
        })
    }
}
