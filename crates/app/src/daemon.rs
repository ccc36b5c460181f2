//! The user's daemon: one for all stdio clients that use one config, so that each server runs once.

mod accept;
mod control;
mod life;
mod place;
mod sessions;

use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use manifold_config::{Config, LoadOptions};
use manifold_engine::Budget;
use manifold_rendezvous::{Identity, Lock, Place, SandboxMarks};
use tokio::net::UnixListener;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cli::Flags;
use crate::machine::budget;
use crate::signals;
use crate::wiring::{Services, Serving};
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
    #[expect(dead_code, reason = "servers are resolved with them")]
    options: LoadOptions,
    life: Arc<Life>,
    sessions: Sessions,
    /// This life, as shims know it.
    epoch: String,
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
    started: Started,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("`{}` cannot be used: {error}", place.folder().display());
    let clients = listen(&place, &place.client_socket()).map_err(failed)?;
    let controls = listen(&place, &place.control_socket()).map_err(failed)?;
    let life = Life::new(config.settings.daemon.linger, started);
    let daemon = Arc::new(Daemon {
        budget: budget(&config.settings.limits),
        services: Services::new(config, options.clone(), flags, Serving::All),
        epoch: random_name(),
        marks: SandboxMarks::own(),
        since: Instant::now(),
        sessions: Sessions::default(),
        life,
        place,
        identity,
        options,
    });
    let stop = signals::watch_signals(&daemon.services.tasks).map_err(|error| error.to_string())?;
    let renewed = Arc::downgrade(&daemon);
    daemon.services.watch_config(move || {
        if let Some(daemon) = renewed.upgrade() {
            daemon.sessions.reload(&daemon);
        }
    });
    daemon.write_about();
    info!(config = daemon.identity.config, folder = %daemon.place.folder().display(), "daemon started");
    say_ready();
    let accepting = accept::accept(Arc::clone(&daemon), clients);
    let controlling = control::serve(Arc::clone(&daemon), controls);
    tokio::select! {
        () = accepting => {}
        () = controlling => {}
        () = daemon.life.over() => info!("the end was ordered, or the last client has been gone for long enough"),
        () = signals::asked(stop) => daemon.life.end(),
    }
    daemon.finish(&lock).await;
    Ok(())
}

fn listen(place: &Place, socket: &Path) -> io::Result<UnixListener> {
    let listener = place.listen(socket)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

impl Daemon {
    /// Lets clients go, ends the servers and leaves the place as it was found.
    async fn finish(&self, lock: &Lock) {
        if lock.is_at(&self.place.run_lock()) {
            self.place.clear();
        }
        self.sessions.leave(self.life.leaving()).await;
        self.services.close().await;
        info!("daemon ended");
        self.life.finished();
        // Whoever ordered the end hears of it before we are gone.
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(500), self.services.tasks.finished()).await;
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
fn say_ready() {
    let mut output = io::stdout().lock();
    let _ = output.write_all(READY);
    let _ = output.flush();
    drop(output);
    let_go();
}

/// Puts nothing in the place of our standard streams: they are somebody's who may be gone soon.
pub(crate) fn let_go() {
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
