//! One of several gateways that serve the same clients: the keys they share, and the store.

mod leases;
mod link;
mod rates;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manifold_config::{RUNS_AT_EACH, Replicas, ScaleSettings, Secret};
use manifold_engine::{Health, Tasks};
use manifold_frontends::replica::{Replica, StateKeys};
use manifold_state::{Node, Options, PATIENCE, PREFIX, Store};
use tracing::{info, warn};

use crate::watch::watch_folder;
use crate::wiring::Services;
use leases::StoreLeases;
use link::StoreLink;
use rates::SharedRates;

/// What others than its owner may not do with the key file: the group may read it.
const OTHERS: u32 = 0o037;
/// How often it is looked whether the store is there, for those who ask how we are.
const LOOK: Duration = Duration::from_millis(200);

/// Who we are among several, and the store where one is shared.
pub(crate) type Opened = (Arc<Replica>, Option<Store>);

/// Returns who we are among several, where the settings say that there are. `address` is where we listen.
pub(crate) fn open(
    scale: &ScaleSettings,
    address: &str,
    services: &Services,
) -> Result<Option<Opened>, String> {
    let Some(file) = &scale.state_key_file else {
        return match &scale.state {
            None => Ok(None),
            Some(_) => Err("what replicas share needs a key that all of them have; make one with `openssl \
                            rand -base64 32` and name its file with --state-key-file"
                .to_owned()),
        };
    };
    let tasks = &services.tasks;
    let keys = read(file)?;
    let name = scale.replica.clone().unwrap_or_else(|| own_name(address));
    let no_randomness = || "the system has no randomness to give".to_owned();
    let replica = Replica::new(name, keys, tasks).ok_or_else(no_randomness)?;
    let (replica, store) = match &scale.state {
        None => {
            warn_of_servers_that_run_at_each(services);
            (replica, None)
        }
        Some(url) => {
            linked(replica, url, scale, address, tasks).map(|(linked, store)| (linked, Some(store)))?
        }
    };
    let replica = Arc::new(replica);
    if let Some(store) = &store {
        services
            .upstreams
            .lease_by(Arc::new(StoreLeases { store: store.clone(), replica: Arc::clone(&replica) }));
        services.fleet.rates().share(Arc::new(SharedRates(store.clone())));
        tasks.spawn_background(tell_of(store.clone(), Arc::clone(services.fleet.health())));
    }
    info!(replica = replica.name(), "one of several: sessions and states are sealed with the keys of all");
    let address = shown(scale, address).to_owned();
    watch_keys(file.clone(), &replica, store.clone(), address, tasks);
    Ok(Some((replica, store)))
}

/// Says which servers are meant to run once and do not, where the config alone did not show it.
fn warn_of_servers_that_run_at_each(services: &Services) {
    let config = services.fleet.config();
    if config.problems.iter().any(|problem| problem.what == RUNS_AT_EACH) {
        return;
    }
    for server in config.servers.iter().filter(|server| server.replicas == Replicas::One) {
        warn!(server = %server.key.id, "`replicas` {RUNS_AT_EACH}; name it by --state");
    }
}

/// Connects a replica with the store that all share.
fn linked(
    replica: Replica,
    url: &Secret,
    scale: &ScaleSettings,
    address: &str,
    tasks: &Tasks,
) -> Result<(Replica, Store), String> {
    let shown = shown(scale, address);
    if ["//0.0.0.0:", "//[::]:"].iter().any(|any| shown.contains(any)) {
        warn!("other replicas cannot reach {shown}; write where they can into `scale.address`");
    } else if !shown.starts_with("http://") {
        warn!("replicas reach each other by plain HTTP; write such an address into `scale.address`");
    }
    let address = replica.signed_address(shown);
    let node = Node { number: replica.number(), name: replica.name().to_owned(), address };
    // However busy the machine of a test is, its Redis answers.
    let patience = std::env::var("MANIFOLD_STATE_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
    let options = Options {
        url: url.expose().to_owned(),
        password_file: scale.state_password_file.clone(),
        prefix: prefix(scale)?,
        patience: patience.map_or(PATIENCE, Duration::from_millis),
        node,
    };
    let (store, keep) = Store::open(options).map_err(|error| error.to_string())?;
    tasks.spawn_background(keep);
    let link = StoreLink { store: store.clone(), tasks: tasks.clone() };
    Ok((replica.linked(Arc::new(link)), store))
}

/// Says whether the store is there.
async fn tell_of(store: Store, health: Arc<Health>) {
    loop {
        match store.degraded() {
            Some(why) => health.degrade("state", why),
            None => health.recover("state"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns where the others reach us.
fn shown<'a>(scale: &'a ScaleSettings, address: &'a str) -> &'a str {
    scale.address.as_deref().unwrap_or(address).trim_end_matches('/')
}

/// Returns what our keys in the store begin with, and the channel of news.
fn prefix(scale: &ScaleSettings) -> Result<String, String> {
    let Some(name) = &scale.cluster else { return Ok(PREFIX.to_owned()) };
    // Braces would put all into one slot of a cluster.
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    if name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(format!("{PREFIX}{name}:"));
    }
    Err("`scale.cluster` has up to 64 letters, digits, `-`, `_` and `.`".to_owned())
}

/// Reads the key file. Its group may read it, as where a secret is mounted; who else can has every client's session.
fn read(file: &Path) -> Result<StateKeys, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", file.display());
    let mode = std::fs::metadata(file).map_err(wrong)?.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        let file = file.display();
        return Err(format!("the key file {file} has mode {mode:o}; close it with `chmod 600`"));
    }
    let text = std::fs::read_to_string(file).map_err(wrong)?;
    StateKeys::parse(&text).map_err(|error| format!("the key file {}: {error}", file.display()))
}

/// Takes over keys as they are added and retired.
fn watch_keys(file: PathBuf, replica: &Arc<Replica>, store: Option<Store>, address: String, tasks: &Tasks) {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let replica = Arc::downgrade(replica);
    let watched = file.clone();
    watch_folder(&folder, &watched, tasks, move || {
        let Some(replica) = replica.upgrade() else { return };
        match read(&file) {
            Ok(keys) => {
                replica.renew_keys(keys);
                if let Some(store) = &store {
                    store.move_to(replica.signed_address(&address));
                }
                info!("the keys of the replicas were read again");
            }
            Err(why) => warn!("the keys of the replicas stay as they were: {why}"),
        }
    });
}

fn own_name(address: &str) -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let port = address.rsplit(':').next().unwrap_or_default();
    format!("{}:{port}", machine.as_deref().map_or("replica", str::trim))
}
