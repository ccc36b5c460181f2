//! The user's daemon: one for all stdio clients that use one config, so that each server runs once.

mod accept;
mod control;
mod home;
mod http;
mod inherited;
mod installed;
mod life;
mod notes;
mod place;
mod sessions;
mod upgrade;

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{GatewayKind, NotUpgraded};
use manifold_config::{Config, LoadOptions};
use manifold_engine::{Budget, Reopen};
use manifold_frontends::admin::{Office, Pages};
use manifold_frontends::shim::KeptCalls;
use manifold_rendezvous::hello::READY;
use manifold_rendezvous::{Identity, Lock, Place, SandboxMarks};
use manifold_upstreams::Handover;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cli::Flags;
use crate::machine::budget;
use crate::operator::ControlledGateway;
use crate::signals;
use crate::telemetry::Stdout;
use crate::wiring::{Services, Serving};
use home::Home;
use http::Http;
pub(crate) use inherited::{Inherited, InheritedFds};
pub(crate) use installed::SelfCheck;
pub(crate) use life::{Life, Presence};
pub(crate) use place::{base_folders, identity, is_below_another, is_listened_for};
use sessions::Sessions;
use upgrade::{State, Upgrades};

/// How long the clients of a process that was replaced may take to come back.
const COMING_BACK: Duration = Duration::from_secs(15);

/// Everything a daemon is.
pub(crate) struct Daemon {
    place: Place,
    identity: Identity,
    services: Services,
    life: Arc<Life>,
    sessions: Sessions,
    http: Http,
    upgrades: mpsc::Sender<upgrade::Order>,
    /// The installed program that was not taken over.
    not_upgraded: watch::Sender<Option<NotUpgraded>>,
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
    let Taken { mut home, left, http } = origin.take(&place, is_listened_for(&options)).map_err(failed)?;
    let door = http::open(&config, &options, flags, http).await;
    let stays = left.as_ref().is_some_and(|(state, _)| state.stays);
    let recordings = left.as_ref().map(|(state, _)| state.recordings.clone()).unwrap_or_default();
    let traffic = left.as_ref().map(|(state, _)| state.traffic).unwrap_or_default();
    let started = if stays { Started::ByOrder } else { started };
    let (orders, ordered) = mpsc::channel(1);
    let mut upgrades = Upgrades::new(ordered, options.environment.program.clone().unwrap_or_default());
    let life = Life::new(config.settings.daemon.linger, started);
    let daemon = Arc::new(Daemon::new((place, identity), life, orders, left, |left| {
        Services::going_on(config, options.clone(), flags, Serving::Windows, left)
    }));
    daemon.services.fleet.traffic().go_on_from(traffic);
    // Nobody reads what a daemon writes there.
    daemon.services.tell_of_calls(Stdout::Taken);
    let stop = signals::watch_signals(&daemon.services.tasks).map_err(|error| error.to_string())?;
    let program = Arc::new(ControlledGateway::new(&daemon.services, GatewayKind::Daemon, options.clone()));
    program.set_daemon(&daemon);
    program.go_on_recording(&recordings);
    let pages = Pages::new(Some(daemon.place.pages_file(None)), daemon.services.tasks.clone());
    let office = Office::new(daemon.services.control.clone(), Arc::clone(&program) as _).with_pages(pages);
    daemon.follow_config();
    daemon.write_about();
    info!(config = daemon.identity.config, folder = %daemon.place.folder().display(), "daemon started");
    say_ready(detached);
    daemon.wait_for_those_who_come_back();
    let mut http = pin!(http::serve(&daemon, flags, door));
    let mut is_http_closed = false;
    let mut stop = pin!(signals::asked(stop));
    let due = tokio::select! {
        () = accept::accept(Arc::clone(&daemon), home.clients()) => None,
        () = control::serve(Arc::clone(&daemon), office.clone(), home.orders()) => None,
        () = notes::tell(&daemon) => None,
        () = daemon.life.over() => None,
        () = &mut http => {
            is_http_closed = true;
            None
        }
        () = &mut stop => {
            daemon.life.end();
            None
        }
        due = async {
            let due = upgrades.due(&daemon.not_upgraded).await;
            // What an operator or a client of HTTP has asked cannot be carried over as a window's is: it is waited for, and all
            // else goes on.
            tokio::join!(office.settled(daemon.drain_timeout()), daemon.http.stand_aside());
            due
        } => Some(due),
        () = home.keep(&daemon.life) => None,
    };
    if let Some(due) = due {
        home.ensure();
        office.close(Duration::ZERO).await;
        let listener = daemon.http.spare();
        return Err(upgrade::upgrade(&daemon, &home, listener.as_ref(), due, &options).await);
    }
    home.close();
    daemon.http.close();
    let http_closed = async {
        if !is_http_closed {
            http.await;
        }
    };
    daemon.finish(http_closed, &office).await;
    program.flush();
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
    /// `are_given`: systemd listens for us.
    fn take(self, place: &Place, are_given: bool) -> io::Result<Taken> {
        let Inherited { lock, clients, orders, http, state } = match self {
            Self::Nothing(lock) => {
                return Ok(Taken { home: Home::open(place.clone(), lock)?, left: None, http: None });
            }
            Self::Another(inherited) => inherited,
        };
        let home = Home::inherited(place.clone(), lock, (clients, orders), are_given)?;
        let left =
            State::read(&state).inspect_err(|why| warn!("the state left to us cannot be read: {why}")).ok();
        // Servers that nobody has taken over end with their sockets, and clients go on as after a crash.
        inherited::close_the_rest();
        Ok(Taken { home, left, http })
    }
}

/// The servers that were left to us, and where their answers go.
type LeftServers = Option<(Handover, Arc<dyn Reopen>)>;

impl Daemon {
    fn new(
        (place, identity): (Place, Identity),
        life: Arc<Life>,
        upgrades: mpsc::Sender<upgrade::Order>,
        left: Option<(State, Handover)>,
        services: impl FnOnce(LeftServers) -> Services,
    ) -> Self {
        let kept = Arc::<KeptCalls>::default();
        let epochs_before = left.as_ref().map(|(state, _)| state.epochs()).unwrap_or_default();
        let left = left.map(|(_, mut handover)| {
            kept.restore_answers(handover.take_answers());
            (handover, Arc::clone(&kept) as Arc<dyn Reopen>)
        });
        let services = services(left);
        Self {
            budget: budget(&services.fleet.config().settings.limits),
            services,
            life,
            epoch: random_name(),
            epochs_before,
            kept,
            marks: SandboxMarks::own(),
            since: Instant::now(),
            sessions: Sessions::default(),
            http: Http::default(),
            upgrades,
            not_upgraded: watch::Sender::default(),
            place,
            identity,
        }
    }

    /// Lets clients go, ends the servers and leaves the place as it was found.
    async fn finish(&self, http_closed: impl Future<Output = ()>, office: &Office) {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        let operators = office.close(self.drain_timeout());
        tokio::join!(self.sessions.leave(self.life.leaving()), http_closed, operators);
        self.services.close().await;
        info!("daemon ended");
        self.life.finished();
        // Whoever ordered the end hears of it before we are gone.
        let _ = tokio::time::timeout(Duration::from_millis(500), self.services.tasks.finished()).await;
    }

    /// Returns how long what is in flight may take at the end.
    fn drain_timeout(&self) -> Duration {
        self.services.fleet.config().settings.drain_timeout
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

    /// Takes over changes of the config, for every client: their servers are resolved anew before it is in force. HTTP is
    /// opened after this, so that its servers are resolved likewise.
    fn follow_config(self: &Arc<Self>) {
        let me = Arc::downgrade(self);
        self.services.prepare_clients(move || {
            let Some(daemon) = me.upgrade() else { return };
            daemon.sessions.prepare(&daemon.services);
            if let Some(door) = daemon.http.door() {
                door.prepare();
            }
        });
        let me = Arc::downgrade(self);
        self.services.watch_config(move || {
            if let Some(daemon) = me.upgrade() {
                daemon.http.renew();
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
            "stays": self.life.started() == Started::ByOrder,
        });
        let path = self.place.about_file();
        let written = std::fs::write(&path, format!("{about}\n"))
            .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o600)));
        if let Err(error) = written {
            warn!("{}: {error}", path.display());
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
