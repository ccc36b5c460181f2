//! Another program takes our place, in the same process: servers, sockets and the lock stay, clients come back.

use std::ffi::CString;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use manifold_admin::{NotUpgraded, RecordingStart};
use manifold_config::{LoadOptions, hash_seed, restore_hash_seed};
use manifold_engine::TrafficPlace;
use manifold_rendezvous::versions;
use manifold_upstreams::Handover;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{info, warn};

use super::home::Home;
use super::inherited::{InheritedFds, leave_open, sealed};
use super::installed::{Installed, SelfCheck, Unfit, check};
use super::{Daemon, Started};
use crate::commands::config_args;

/// How long servers that are being started may take until we go.
const START_PATIENCE: Duration = Duration::from_secs(2);

/// How many lives back a client may have been served last.
const MAX_EPOCHS: usize = 16;

/// An order to upgrade, and who hears why it was not carried out.
pub(crate) type Order = oneshot::Sender<String>;

/// What travels beside the servers. Members are only added; those not known are passed over.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    version: u32,
    /// The life that ends here, as shims know it.
    pub(crate) epoch: String,
    /// Those before it.
    #[serde(default)]
    epochs_before: Vec<String>,
    /// Somebody will stop it: it does not end with its last client.
    #[serde(default)]
    pub(crate) stays: bool,
    /// By which instances are told apart.
    hash_seed: [u8; 16],
    /// What is being recorded.
    #[serde(default)]
    pub(crate) recordings: Vec<RecordingStart>,
    /// How far the frames of traffic had come.
    #[serde(default)]
    pub(crate) traffic: TrafficPlace,
    /// What `upstreams` has written down.
    servers: String,
}

impl State {
    /// Returns the lives whose clients may still come back, the last one first.
    pub(crate) fn epochs(&self) -> Vec<String> {
        let before = self.epochs_before.iter().take(MAX_EPOCHS - 1);
        std::iter::once(&self.epoch).chain(before).cloned().collect()
    }

    /// Reads what the program before us has written down.
    pub(crate) fn read(text: &str) -> Result<(Self, Handover), String> {
        let state: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let [oldest, newest] = versions::states();
        if !(oldest..=newest).contains(&state.version) {
            return Err(format!("it is of version {}", state.version));
        }
        if !restore_hash_seed(state.hash_seed) {
            return Err("instances have been told apart by another seed already".to_owned());
        }
        let handover = Handover::from_json(&state.servers).map_err(|error| error.to_string())?;
        Ok((state, handover))
    }
}

/// Whether another program is to take our place: somebody orders it, or another one is installed.
pub(super) struct Upgrades {
    orders: mpsc::Receiver<Order>,
    installed: Installed,
    deciding: Option<Deciding>,
}

/// A program that is asked whether it could.
struct Deciding {
    order: Option<Order>,
    check: Pin<Box<dyn Future<Output = Result<SelfCheck, Unfit>> + Send>>,
}

/// A program that can take our place.
pub(super) struct Due {
    version: String,
    program: PathBuf,
    /// Whoever ordered it hears from that program, when this is gone with us.
    _order: Option<Order>,
}

impl Upgrades {
    pub(super) fn new(orders: mpsc::Receiver<Order>, program: PathBuf) -> Self {
        Self { orders, installed: Installed::new(program), deciding: None }
    }

    /// Resolves when another program is to take our place and says that it could. Clients are served meanwhile, however long
    /// it thinks about it.
    pub(super) async fn due(&mut self, refused: &watch::Sender<Option<NotUpgraded>>) -> Due {
        loop {
            let Some(deciding) = &mut self.deciding else {
                let order = tokio::select! {
                    Some(order) = self.orders.recv() => Some(order),
                    () = self.installed.changed() => None,
                };
                let check = Box::pin(check(self.installed.path(), versions::states()[1]));
                self.deciding = Some(Deciding { order, check });
                continue;
            };
            let checked = deciding.check.as_mut().await;
            let order = self.deciding.take().and_then(|deciding| deciding.order);
            self.installed.judged(checked.is_ok());
            let Unfit { version, why } = match checked {
                Ok(SelfCheck { version, .. }) => {
                    return Due { version, program: self.installed.path(), _order: order };
                }
                Err(unfit) => unfit,
            };
            warn!("not upgraded: {why}");
            match order {
                Some(order) => drop(order.send(why)),
                // Nobody waits to hear it.
                None => _ = refused.send_replace(Some(NotUpgraded { version, why })),
            }
        }
    }
}

/// Puts another program in our place. Returns only where that failed, with why: nothing of ours works any more then, and
/// clients find another daemon, as after a crash.
pub(super) async fn upgrade(
    daemon: &Daemon,
    home: &Home,
    http: Option<&TcpListener>,
    due: Due,
    options: &LoadOptions,
) -> String {
    info!(version = due.version, "upgrading");
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Reloading]);
    daemon.services.upstreams.starts_settled(START_PATIENCE).await;
    daemon.sessions.hold().await;
    let mut handover = match daemon.services.upstreams.suspend().await {
        Ok(handover) => handover,
        Err(error) => return format!("the servers cannot be left to another: {error}"),
    };
    daemon.sessions.let_go().await;
    // Nothing more comes from servers: what has come for clients that are away is all there is.
    handover.add_answers(daemon.kept.take_answers(), daemon.services.codes());
    let state = State {
        version: versions::states()[1],
        epoch: daemon.epoch.clone(),
        epochs_before: daemon.epochs_before.clone(),
        stays: daemon.life.started() == Started::ByOrder,
        hash_seed: hash_seed(),
        recordings: daemon.services.recorder.suspend(),
        traffic: daemon.services.fleet.traffic().place(),
        servers: match handover.to_json() {
            Ok(servers) => servers,
            Err(error) => return error.to_string(),
        },
    };
    let fds = match fds(&state, home, http, &handover) {
        Ok(fds) => fds,
        Err(error) => return format!("the state cannot be left to another: {error}"),
    };
    crate::logging::flush();
    // Where the new one cannot be run after all, what we run goes on from the same state.
    for program in [due.program.as_path(), Path::new("/proc/self/exe")] {
        let why = execute(program, fds, options);
        warn!("`{}` cannot take over: {why}", program.display());
    }
    "no program could be run in our place".to_owned()
}

fn fds(
    state: &State,
    home: &Home,
    http: Option<&TcpListener>,
    handover: &Handover,
) -> std::io::Result<InheritedFds> {
    let state = sealed(&serde_json::to_string(state).map_err(std::io::Error::other)?)?;
    handover.keep_across_exec()?;
    let [lock, clients, orders] = home.leave_open()?;
    let fds = InheritedFds {
        state: leave_open(&state)?,
        lock,
        clients,
        orders,
        http: http.map(leave_open).transpose()?,
    };
    // It must not close before we are gone.
    std::mem::forget(state);
    Ok(fds)
}

fn execute(program: &Path, fds: InheritedFds, options: &LoadOptions) -> String {
    let text = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
    let mut args = vec![
        text(b"manifold"),
        text(b"daemon"),
        text(b"run"),
        text(b"--resume"),
        text(fds.to_argument().as_bytes()),
    ];
    args.extend(config_args(options).iter().map(|argument| text(argument.as_bytes())));
    let variables = options.environment.vars.iter();
    let env: Vec<CString> =
        variables.map(|(name, value)| text(format!("{name}={value}").as_bytes())).collect();
    match nix::unistd::execve(&text(program.as_os_str().as_bytes()), &args, &env) {
        Ok(never) => match never {},
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: u32, servers: &str) -> String {
        let seed: Vec<u8> = hash_seed().to_vec();
        serde_json::json!({
            "version": version, "epoch": "e", "hashSeed": seed, "servers": servers, "somethingNew": [1],
        })
        .to_string()
    }

    // A11
    #[test]
    fn a_state_of_another_version_is_not_taken_for_ours() {
        let [oldest, newest] = versions::states();
        for version in [oldest - 1, newest + 1] {
            assert!(State::read(&state(version, "{}")).err().is_some_and(|why| why.contains("version")));
        }
        // What is new in it is passed over; what it holds of servers is judged by who can.
        assert!(State::read(&state(newest, "{}")).err().is_some_and(|why| !why.contains("version")));
    }
}
