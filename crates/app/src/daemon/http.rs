//! HTTP beside the clients on pipes: served from when the config says so until it does not.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use manifold_admin::DaemonHttp;
use manifold_config::{Config, LoadOptions};
use manifold_engine::Lock as _;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::Daemon;
use crate::cli::Flags;
use crate::commands::http::check;
use crate::door::{Bound, Door};

/// How long connections that rest may still make a request, which is answered as their last, where clients go on elsewhere.
const REST_PATIENCE: Duration = Duration::from_millis(500);

/// How things stand with HTTP.
#[derive(Default)]
pub(crate) struct Http {
    state: Mutex<State>,
    /// A new config is in force.
    renewed: Notify,
    /// Nobody is to be let in any more.
    close: Notify,
    /// Calls in flight are done, or given up, and another program may take our place.
    stood_aside: Notify,
    /// Another program is to take our place.
    stands_aside: AtomicBool,
}

#[derive(Default)]
enum State {
    #[default]
    Off,
    Open {
        door: Weak<Door>,
        /// The listener once more, for a program that takes our place.
        spare: Option<TcpListener>,
    },
    Failed(String),
}

/// Opens the door, where the config wants one; at the listener of the program whose place we took, if it had one.
pub(super) async fn open(
    config: &Config,
    options: &LoadOptions,
    flags: &Flags,
    before: Option<OwnedFd>,
) -> Result<Option<Bound>, String> {
    if !config.settings.daemon.http {
        return Ok(None);
    }
    let tls = check(config, options, flags)?;
    let bound = match before {
        Some(listener) => Bound::on(config, tls, listener.into())?,
        None => Bound::at(config, tls).await.map_err(|why| {
            format!(
                "{why}; set another `server.port` in the config, or free it and run `manifold daemon restart`"
            )
        })?,
    };
    Ok(Some(bound))
}

/// Serves HTTP for as long as the config says so, and again when it does, until all is to be closed.
pub(super) async fn serve(daemon: &Daemon, flags: &Flags, first: Result<Option<Bound>, String>) {
    let http = &daemon.http;
    let mut opened = first;
    loop {
        match opened {
            Ok(Some(bound)) => {
                if http.serve_at(daemon, bound).await {
                    return http.closed(daemon).await;
                }
            }
            Ok(None) => http.set(State::Off),
            Err(why) => {
                let why = format!("HTTP is not served: {why}");
                warn!("{why}");
                daemon.sessions.tell_all(&format!("manifold: {why}"));
                http.set(State::Failed(why));
            }
        }
        tokio::select! {
            () = http.close.notified() => return http.closed(daemon).await,
            () = http.wanted(daemon, true) => {}
        }
        let config = daemon.services.fleet.config();
        opened = open(&config, daemon.services.options(), flags, None).await;
    }
}

impl Http {
    /// Serves until all is to be closed, which is returned, or the config wants it no more. Calls in flight are finished.
    async fn serve_at(&self, daemon: &Daemon, bound: Bound) -> bool {
        let spare = bound.spare().ok();
        let door = bound.open(&daemon.services, None, false, None);
        self.set(State::Open { door: Arc::downgrade(&door), spare });
        daemon.life.set_open_to_all(true);
        let mut closes = false;
        let closed = async {
            let patience;
            (closes, patience) = tokio::select! {
                biased;
                () = daemon.life.over() => (true, Duration::ZERO),
                () = self.close.notified() => (true, REST_PATIENCE),
                () = self.wanted(daemon, false) => (false, REST_PATIENCE),
            };
            patience
        };
        let drain = daemon.services.fleet.config().settings.drain_timeout;
        door.serve(drain, None, closed).await;
        if !closes {
            info!("HTTP is no longer served: the config does not want it");
            self.set(State::Off);
            daemon.life.set_open_to_all(false);
        }
        closes
    }

    /// Resolves with the next config that wants HTTP, or does not.
    async fn wanted(&self, daemon: &Daemon, is_wanted: bool) {
        loop {
            self.renewed.notified().await;
            if daemon.services.fleet.config().settings.daemon.http == is_wanted {
                return;
            }
        }
    }

    /// Takes over a new config, which is in force.
    pub(super) fn renew(&self) {
        if let Some(door) = self.door() {
            door.renew();
        }
        self.renewed.notify_one();
    }

    /// Lets nobody in any more; whoever waits for [`serve`] waits until calls in flight are finished.
    pub(super) fn close(&self) {
        self.close.notify_one();
    }

    /// Lets nobody in any more and waits until calls in flight are finished, or `drainTimeout` is over: then they are told that
    /// they may have run. Nothing else of the daemon waits. Who connects meanwhile waits in the listener, which stays.
    pub(super) async fn stand_aside(&self) {
        self.stands_aside.store(true, Ordering::Relaxed);
        self.close.notify_one();
        self.stood_aside.notified().await;
    }

    /// Nothing is served any more. Where another program takes our place that is not the end of the daemon.
    async fn closed(&self, daemon: &Daemon) {
        if self.stands_aside.load(Ordering::Relaxed) {
            self.stood_aside.notify_one();
            daemon.life.over().await;
        }
    }

    /// Returns what is open, if anything is.
    pub(super) fn door(&self) -> Option<Arc<Door>> {
        match &*self.state.locked() {
            State::Open { door, .. } => door.upgrade(),
            State::Off | State::Failed(_) => None,
        }
    }

    /// Returns the listener, for a program that takes our place: who connects meanwhile waits there.
    pub(super) fn spare(&self) -> Option<TcpListener> {
        match &*self.state.locked() {
            State::Open { spare, .. } => spare.as_ref()?.try_clone().ok(),
            State::Off | State::Failed(_) => None,
        }
    }

    /// Returns why HTTP is not served though the config wants it.
    pub(super) fn fault(&self) -> Option<String> {
        match &*self.state.locked() {
            State::Failed(why) => Some(why.clone()),
            State::Off | State::Open { .. } => None,
        }
    }

    /// Returns what `daemon status` says of it.
    pub(super) fn status(&self) -> Option<DaemonHttp> {
        match &*self.state.locked() {
            State::Off => None,
            State::Open { spare, .. } => {
                let address = spare.as_ref().and_then(|listener| listener.local_addr().ok());
                let address = address.map(|address| address.to_string());
                Some(DaemonHttp { address, error: None })
            }
            State::Failed(why) => Some(DaemonHttp { address: None, error: Some(why.clone()) }),
        }
    }

    fn set(&self, state: State) {
        *self.state.locked() = state;
    }
}
