//! The user's daemon: one for all stdio clients that use one config, so that each server runs once.

mod accept;
mod control;
mod home;
mod life;
mod notes;
mod place;
mod sessions;

use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

use manifold_config::{Config, LoadOptions};
use manifold_engine::Budget;
use manifold_frontends::shim::KeptCalls;
use manifold_rendezvous::{Identity, Lock, Place, SandboxMarks};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cli::Flags;
use crate::commands::http::check;
use crate::door::{Bound, Door};
use crate::machine::budget;
use crate::signals;
use crate::wiring::{Services, Serving};
use home::Home;
pub(crate) use life::Life;
pub(crate) use place::{identity, is_below_another, wanted};
use sessions::Sessions;

/// What a daemon that can be reached says to whoever started it.
const READY: &[u8] = b"ready\n";

/// Everything a daemon is.
pub(crate) struct Daemon {
    place: Place,
    identity: Identity,
    services: Services,
    life: Arc<Life>,
    sessions: Sessions,
    /// This life, as shims know it.
    epoch: String,
    /// The life whose place this one took, if it took one.
    epoch_before: Option<String>,
    /// What that one had handed to servers.
    kept: Arc<KeptCalls>,
    budget: Budget,
    marks: SandboxMarks,
    since: Instant,
}

/// How it came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// By a client that needed one: it ends some time after the last of them.
    ForClients,
    /// By somebody who will end it.
    ByOrder,
}

/// Serves until the last client has been gone for long enough, or somebody orders the end.
pub(crate) async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    (place, identity, lock): (Place, Identity, Lock),
    (started, detached): (Started, bool),
) -> Result<(), String> {
    let failed = |error: io::Error| format!("`{}` cannot be used: {error}", place.folder().display());
    let mut home = Home::open(place.clone(), lock).map_err(failed)?;
    let bound = http_door(&config, flags).await;
    let started = if bound.is_some() { Started::ByOrder } else { started };
    let daemon = Arc::new(Daemon {
        budget: budget(&config.settings.limits),
        life: Life::new(config.settings.daemon.linger, started),
        services: Services::new(config, options, flags, Serving::All),
        epoch: random_name(),
        epoch_before: None,
        kept: Arc::default(),
        marks: SandboxMarks::own(),
        since: Instant::now(),
        sessions: Sessions::default(),
        place,
        identity,
    });
    let stop = signals::watch_signals(&daemon.services.tasks).map_err(|error| error.to_string())?;
    let door = bound.map(|bound| bound.open(&daemon.services, None, false));
    daemon.follow_config(door.as_ref());
    daemon.write_about();
    info!(config = daemon.identity.config, folder = %daemon.place.folder().display(), "daemon started");
    say_ready(detached);
    let drain = daemon.services.fleet.config().settings.drain_timeout;
    let opened = async {
        match &door {
            Some(door) => door.serve(drain, daemon.life.over()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = accept::accept(Arc::clone(&daemon), home.clients()) => {}
        () = control::serve(Arc::clone(&daemon), home.orders()) => {}
        () = notes::tell(&daemon) => {}
        () = daemon.life.over() => {}
        () = opened => {}
        () = signals::asked(stop) => daemon.life.end(),
        () = home.keep(&daemon.life) => {}
    }
    home.close();
    daemon.finish().await;
    Ok(())
}

/// Opens the door of HTTP, where the config wants one. Clients on pipes are served whether it opens or not.
async fn http_door(config: &Config, flags: &Flags) -> Option<Bound> {
    if !config.settings.daemon.http {
        return None;
    }
    let opened = match check(config, flags) {
        Ok(tls) => Bound::at(config, tls).await,
        Err(why) => Err(why),
    };
    opened.inspect_err(|why| warn!("HTTP is not served: {why}")).ok()
}

impl Daemon {
    /// Lets clients go, ends the servers and leaves the place as it was found.
    async fn finish(&self) {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        self.sessions.leave(self.life.leaving()).await;
        self.services.close().await;
        info!("daemon ended");
        self.life.finished();
        // Whoever ordered the end hears of it before we are gone.
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(500), self.services.tasks.finished()).await;
    }

    /// Takes over changes of the config, for every client.
    fn follow_config(self: &Arc<Self>, door: Option<&Arc<Door>>) {
        let (me, door) = (Arc::downgrade(self), door.map(Arc::downgrade));
        self.services.prepare_clients(move || {
            if let Some(daemon) = me.upgrade() {
                daemon.sessions.prepare(&daemon.services);
            }
        });
        self.services.watch_config(move || {
            if let Some(door) = door.as_ref().and_then(Weak::upgrade) {
                door.renew();
            }
        });
    }

    /// Tells people, in a file, which process this is.
    fn write_about(&self) {
        let about = serde_json::json!({
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "config": self.identity.config,
            "profile": self.identity.profile,
        });
        if let Err(error) = std::fs::write(self.place.about_file(), format!("{about}\n")) {
            warn!("{}: {error}", self.place.about_file().display());
        }
    }
}

/// Tells whoever started us that we can be reached, and lets go of its pipes.
fn say_ready(detached: bool) {
    if detached {
        let mut output = io::stdout().lock();
        let _ = output.write_all(READY);
        let _ = output.flush();
        drop(output);
        let_go();
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

/// Puts nothing in the place of our standard streams: they are somebody's who may be gone soon.
fn let_go() {
    if let Ok(nothing) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let nothing = nothing.as_fd();
        let _ = nix::unistd::dup2_stdin(nothing);
        let _ = nix::unistd::dup2_stdout(nothing);
        let _ = nix::unistd::dup2_stderr(nothing);
    }
}

/// Returns a name that nobody can guess.
fn random_name() -> String {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes);
    if filled.is_err() {
        return format!("{}-{:?}", std::process::id(), Instant::now());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
