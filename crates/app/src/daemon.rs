//! The user's daemon: one for all stdio clients that use one config, so that each server runs once.

mod accept;
mod control;
mod home;
mod inherited;
mod installed;
mod life;
mod notes;
mod place;
mod sessions;
mod upgrade;

use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use manifold_config::{Config, LoadOptions};
use manifold_engine::{Budget, Reopen};
use manifold_frontends::shim::KeptCalls;
use manifold_rendezvous::hello::READY;
use manifold_rendezvous::{Identity, Lock, Place, SandboxMarks};
use manifold_upstreams::Handover;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cli::Flags;
use crate::commands::http::check;
use crate::door::{Bound, Door};
use crate::machine::budget;
use crate::signals;
use crate::wiring::{Services, Serving};
use home::Home;
pub(crate) use inherited::{Inherited, InheritedFds};
use installed::Installed;
pub(crate) use installed::SelfCheck;
pub(crate) use life::Life;
pub(crate) use place::{base_folders, identity, is_below_another};
use sessions::Sessions;
pub(crate) use upgrade::STATES;
use upgrade::{Failed, State};

/// How long the clients of a process that was replaced may take to come back.
const COMING_BACK: Duration = Duration::from_secs(15);

/// How long responses may take when another program takes our place.
const HTTP_PATIENCE: Duration = Duration::from_secs(2);

/// Everything a daemon is.
pub(crate) struct Daemon {
    place: Place,
    identity: Identity,
    services: Services,
    life: Arc<Life>,
    sessions: Sessions,
    upgrades: mpsc::Sender<upgrade::Order>,
    /// This life, as shims know it.
    epoch: String,
    /// The lives whose places were taken, the last one first: clients of any of them may come back.
    epochs_before: Vec<String>,
    /// What they had handed to servers and nobody has come back for.
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

/// What a daemon begins with.
pub(crate) struct Beginning {
    pub(crate) place: Place,
    pub(crate) identity: Identity,
    pub(crate) started: Started,
    /// Whether somebody waits on a pipe to hear that we can be reached.
    pub(crate) detached: bool,
    pub(crate) origin: Origin,
}

/// Where its lock and its sockets come from.
pub(crate) enum Origin {
    Nothing(Lock),
    /// The program whose place we took.
    Another(Inherited),
}

/// Serves until the last client has been gone for long enough, or somebody orders the end.
pub(crate) async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    beginning: Beginning,
) -> Result<(), String> {
    let Beginning { place, identity, started, detached, origin } = beginning;
    let failed = |error: io::Error| format!("`{}` cannot be used: {error}", place.folder().display());
    let Taken { mut home, left, http } = origin.take(&place).map_err(failed)?;
    let bound = http_door(&config, flags, http).await;
    let stays = bound.is_some() || left.as_ref().is_some_and(|(state, _)| state.stays);
    let started = if stays { Started::ByOrder } else { started };
    let mut installed = Installed::new(options.environment.program.clone().unwrap_or_default());
    let (upgrades, mut orders) = mpsc::channel(1);
    let kept = Arc::<KeptCalls>::default();
    let epochs_before = left.as_ref().map(|(state, _)| state.epochs()).unwrap_or_default();
    let left = left.map(|(_, handover)| (handover, Arc::clone(&kept) as Arc<dyn Reopen>));
    let daemon = Arc::new(Daemon {
        budget: budget(&config.settings.limits),
        life: Life::new(config.settings.daemon.linger, started),
        services: Services::going_on(config, options.clone(), flags, Serving::All, left),
        epoch: random_name(),
        epochs_before,
        kept,
        marks: SandboxMarks::own(),
        since: Instant::now(),
        sessions: Sessions::default(),
        upgrades,
        place,
        identity,
    });
    let stop = signals::watch_signals(&daemon.services.tasks).map_err(|error| error.to_string())?;
    let spare = bound.as_ref().and_then(|bound| bound.spare().ok());
    let opened_door = daemon.prepare_clients();
    let door = bound.map(|bound| bound.open(&daemon.services, None, false));
    let _ = opened_door.set(door.as_ref().map(Arc::downgrade).unwrap_or_default());
    let close_door = Notify::new();
    daemon.follow_config(door.as_ref());
    daemon.write_about();
    info!(config = daemon.identity.config, folder = %daemon.place.folder().display(), "daemon started");
    say_ready(detached);
    daemon.wait_for_those_who_come_back();
    let mut opened = pin!(serve_http(&daemon, door.as_deref(), &close_door));
    let mut stop = pin!(signals::asked(stop));
    loop {
        let order: Option<upgrade::Order> = tokio::select! {
            () = accept::accept(Arc::clone(&daemon), home.clients()) => break,
            () = control::serve(Arc::clone(&daemon), home.orders()) => break,
            () = notes::tell(&daemon) => break,
            () = daemon.life.over() => break,
            () = &mut opened => break,
            () = &mut stop => {
                daemon.life.end();
                break;
            }
            order = orders.recv() => order,
            () = installed.changed() => None,
            () = home.keep(&daemon.life) => break,
        };
        // Responses under way are finished; who connects meanwhile waits in the listener, which stays.
        let door_closed = async {
            if door.is_some() {
                close_door.notify_one();
                let _ = tokio::time::timeout(HTTP_PATIENCE, &mut opened).await;
            }
        };
        match upgrade::upgrade(&daemon, &home, spare.as_ref(), &installed, &options, door_closed).await {
            Failed::NotBegun(why) => {
                warn!("not upgraded: {why}");
                if let Some(order) = order {
                    let _ = order.send(why);
                }
            }
            Failed::Fatal(why) => return Err(why),
        }
    }
    home.close();
    daemon.finish().await;
    Ok(())
}

/// What is there when a daemon begins.
struct Taken {
    home: Home,
    /// What the program whose place we took has left to us.
    left: Option<(State, Handover)>,
    http: Option<OwnedFd>,
}

impl Origin {
    fn take(self, place: &Place) -> io::Result<Taken> {
        let Inherited { lock, clients, orders, http, state } = match self {
            Self::Nothing(lock) => {
                return Ok(Taken { home: Home::open(place.clone(), lock)?, left: None, http: None });
            }
            Self::Another(inherited) => inherited,
        };
        let home = Home::inherited(place.clone(), lock, clients, orders)?;
        let left =
            State::read(&state).inspect_err(|why| warn!("the state left to us cannot be read: {why}")).ok();
        // Servers that nobody has taken over end with their sockets, and clients go on as after a crash.
        inherited::close_the_rest();
        Ok(Taken { home, left, http })
    }
}

/// Serves HTTP, where there is a door, until the daemon ends or the door is to be closed.
async fn serve_http(daemon: &Daemon, door: Option<&Door>, close: &Notify) {
    let Some(door) = door else { return std::future::pending().await };
    let drain = daemon.services.fleet.config().settings.drain_timeout;
    let closed = async {
        tokio::select! {
            () = daemon.life.over() => {}
            () = close.notified() => {}
        }
    };
    door.serve(drain, closed).await;
}

/// Opens the door of HTTP, where the config wants one. Clients on pipes are served whether it opens or not.
async fn http_door(config: &Config, flags: &Flags, before: Option<OwnedFd>) -> Option<Bound> {
    if !config.settings.daemon.http {
        return None;
    }
    let opened = match check(config, flags) {
        Ok(tls) => match before {
            Some(listener) => Bound::on(config, tls, listener.into()),
            None => Bound::at(config, tls).await,
        },
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
        let _ = tokio::time::timeout(Duration::from_millis(500), self.services.tasks.finished()).await;
    }

    /// Gives clients of the process whose place we took some time to come back; what nobody has taken up then, ends.
    fn wait_for_those_who_come_back(&self) {
        if self.epochs_before.is_empty() {
            return;
        }
        let (upstreams, kept) = (Arc::clone(&self.services.upstreams), Arc::clone(&self.kept));
        self.services.tasks.spawn_background(async move {
            tokio::time::sleep(COMING_BACK).await;
            upstreams.stop_unclaimed();
            kept.give_up();
        });
    }

    /// Has every client's servers resolved anew before a new config is in force. The door opens after this, so that its
    /// servers are resolved likewise; where it is comes with the cell.
    fn prepare_clients(self: &Arc<Self>) -> Arc<OnceLock<Weak<Door>>> {
        let door: Arc<OnceLock<Weak<Door>>> = Arc::default();
        let (me, opened) = (Arc::downgrade(self), Arc::clone(&door));
        self.services.prepare_clients(move || {
            if let Some(daemon) = me.upgrade() {
                daemon.sessions.prepare(&daemon.services);
            }
            if let Some(door) = opened.get().and_then(Weak::upgrade) {
                door.prepare();
            }
        });
        door
    }

    /// Takes over changes of the config, for every client.
    fn follow_config(self: &Arc<Self>, door: Option<&Arc<Door>>) {
        let door = door.map(Arc::downgrade);
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
