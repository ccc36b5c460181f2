//! What an operator may see and do: everything of the fleet, in the words of `manifold_admin`. What a model may see and do
//! through the manager tools is less, and is `NamespaceControl`.

mod commands;
mod events;
mod instances;
mod logs;
mod manager;
pub(crate) mod namespace;
mod permissions;
mod rows;
mod server;
mod usage;
pub(crate) mod words;

use std::sync::{Arc, Mutex, Weak};

use manifold_admin as admin;
use manifold_config::{Config, Difference, ServerKey};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::catalog::Catalog;
use crate::discovery::Discovery;
use crate::feed::Feed;
use crate::fleet::Fleet;
use crate::sync::Lock as _;
use crate::upstream::BoxFuture;
pub use admin::ReloadReport;
pub(crate) use logs::log_line;
pub use logs::{Followed, LogFollower};
pub use manager::NamespaceControl;
pub use permissions::configured_permissions;
pub use rows::{InstanceRow, NamespaceRow, NamespaceTable, ReloadRow, ServerRow};
use usage::Usages;
pub use usage::{ProcessTable, Usage};
use words::millis;
pub use words::{INHERIT_ADVICE, command_error, sign_in as shown_sign_in};
pub(crate) use words::{client_instance, instance_key};

/// Reads the config file anew and takes it over.
pub trait Reloader: Send + Sync {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>>;
}

/// The operator's hands. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    fleet: Weak<Fleet>,
    reloader: Arc<dyn Reloader>,
    program: Program,
    started: Instant,
    listeners: Mutex<Vec<admin::Listener>>,
    usages: Usages,
}

/// The program that runs, as it knows itself.
#[derive(Debug, Clone, Default)]
pub struct Program {
    pub version: String,
    pub build: Option<String>,
    pub pid: Option<u32>,
}

/// A place where clients can come.
#[must_use]
pub struct Listening {
    control: Control,
    listener: admin::Listener,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.control.shared.listeners.locked();
        if let Some(at) = listeners.iter().position(|one| *one == self.listener) {
            listeners.remove(at);
        }
    }
}

impl Control {
    /// Makes the operator's hands of a fleet, which they do not keep alive.
    pub fn new(fleet: &Arc<Fleet>, reloader: Arc<dyn Reloader>, program: Program) -> Self {
        let (fleet, started) = (Arc::downgrade(fleet), Instant::now());
        Self {
            shared: Arc::new(Shared {
                fleet,
                reloader,
                program,
                started,
                listeners: Mutex::default(),
                usages: Usages::default(),
            }),
        }
    }

    /// Notes that clients can come there, for as long as what is returned is held.
    pub fn listening(&self, listener: admin::Listener) -> Listening {
        self.shared.listeners.locked().push(listener.clone());
        Listening { control: Self::clone(self), listener }
    }

    /// Says who knows what processes take up.
    pub fn see_processes_by(&self, table: Arc<dyn ProcessTable>) {
        self.shared.usages.see_by(table);
    }

    /// Returns how everything is, from what is known without asking anyone.
    pub fn snapshot(&self) -> admin::Snapshot {
        self.snapshot_at(Feed::cursor)
    }

    /// Does the same for somebody who may go on from there: events are made from now on, for a while.
    pub fn snapshot_to_follow(&self) -> admin::Snapshot {
        self.snapshot_at(Feed::mark)
    }

    fn snapshot_at(&self, place: impl FnOnce(&Feed) -> admin::Cursor) -> admin::Snapshot {
        let Ok(fleet) = self.fleet() else {
            return admin::Snapshot { gateway: self.gateway(), ..admin::Snapshot::default() };
        };
        // Looked at first: what happens meanwhile is told again, and nothing is left out.
        let at = place(fleet.feed());
        let config = fleet.config();
        let gateways = fleet.gateways();
        let sessions = gateways.iter().flat_map(|gateway| {
            gateway.sessions().into_iter().map(|entry| namespace::client(gateway, &entry))
        });
        let mut servers = fleet.describe_all(&config);
        self.shared.usages.add_to(&mut servers);
        admin::Snapshot {
            at,
            gateway: admin::Gateway { profile: config.profile.name().to_owned(), ..self.gateway() },
            config: admin::ConfigSource {
                refused: fleet.outdated().map(|outdated| outdated.problem.clone()),
                ..source(&config)
            },
            servers,
            namespaces: namespace::all(&config, &gateways),
            clients: sessions.collect(),
        }
    }

    /// Returns how all servers are. It is no place to go on from as a snapshot is: no events are kept for whoever asks.
    pub fn servers(&self) -> Vec<admin::Server> {
        self.fleet().map(|fleet| fleet.describe_all(&fleet.config())).unwrap_or_default()
    }

    /// Returns how one server is; its schema may be left out where only one has a server of that id.
    pub fn find(&self, server: &admin::ServerId) -> Result<admin::Server, admin::CommandError> {
        let key = commands::find(&*self.fleet()?, server)?;
        let gone = || {
            let message = format!("there is no server '{}' any more", server.id);
            admin::CommandError::new(admin::ErrorCode::UnknownServer, message)
        };
        self.server(&key).ok_or_else(gone)
    }

    fn server(&self, key: &ServerKey) -> Option<admin::Server> {
        let mut server = self.fleet().ok()?.describe(key)?;
        self.shared.usages.add_to(std::slice::from_mut(&mut server));
        Some(server)
    }

    /// Returns which servers change, from now on, for somebody who looks at them itself; `None` once the gateway is gone.
    pub fn server_changes(&self) -> Option<broadcast::Receiver<ServerKey>> {
        Some(self.fleet().ok()?.changed_servers().subscribe())
    }

    /// Has something done that nobody waits for but the program's end.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Ok(fleet) = self.fleet() {
            fleet.tasks().spawn(work);
        }
    }

    fn fleet(&self) -> Result<Arc<Fleet>, admin::CommandError> {
        let gone =
            || admin::CommandError::new(admin::ErrorCode::ShuttingDown, "the gateway is shutting down");
        self.shared.fleet.upgrade().ok_or_else(gone)
    }

    fn reloader(&self) -> &dyn Reloader {
        self.shared.reloader.as_ref()
    }

    /// Returns what is known of the program itself.
    pub fn about(&self) -> admin::Gateway {
        let profile = self.fleet().map(|fleet| fleet.config().profile.name().to_owned()).unwrap_or_default();
        admin::Gateway { profile, ..self.gateway() }
    }

    fn gateway(&self) -> admin::Gateway {
        let program = &self.shared.program;
        admin::Gateway {
            version: program.version.clone(),
            build: program.build.clone(),
            pid: program.pid,
            uptime_ms: Some(millis(self.shared.started.elapsed())),
            profile: String::new(),
            listeners: self.shared.listeners.locked().clone(),
            degraded: self.degraded(),
        }
    }

    fn degraded(&self) -> Vec<admin::DegradedPart> {
        let parts = self.shared.fleet.upgrade().map(|fleet| fleet.health().degraded()).unwrap_or_default();
        let told = |(part, why): (&str, String)| admin::DegradedPart { part: part.to_owned(), why };
        parts.into_iter().map(told).collect()
    }
}

/// Returns what a config says of which nothing runs.
pub fn configured(config: &Config) -> admin::Snapshot {
    admin::Snapshot {
        gateway: admin::Gateway {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            profile: config.profile.name().to_owned(),
            ..admin::Gateway::default()
        },
        config: source(config),
        servers: config.servers.iter().map(|server| server::configured(config, server)).collect(),
        namespaces: config.namespaces.iter().map(namespace::configured).collect(),
        ..admin::Snapshot::default()
    }
}

fn source(config: &Config) -> admin::ConfigSource {
    admin::ConfigSource {
        path: config.source.path.as_ref().map(|path| path.display().to_string()),
        format: words::format(config.source.format),
        client: config.source.client.map(str::to_owned),
        default_namespace: config.default_namespace.clone(),
        problems: config.problems.iter().map(words::problem).collect(),
        revision: None,
        unread: config.unread.clone(),
        refused: None,
    }
}

/// Returns what taking over `config` changed.
pub fn reload_report(difference: &Difference, config: &Config) -> ReloadReport {
    let ids = |keys: &[ServerKey]| keys.iter().map(words::server_id).collect();
    ReloadReport {
        added: ids(&difference.added),
        removed: ids(&difference.removed),
        restarted: ids(&difference.changed),
        unchanged: config.servers.len() - difference.added.len() - difference.changed.len(),
        problems: config.problems.iter().map(words::problem).collect(),
    }
}

/// Returns the servers of a namespace, their lists counted as its clients see them.
pub(crate) fn servers(config: &Config, catalog: &Catalog, discovery: &Discovery) -> Vec<admin::Server> {
    servers_at(config, catalog, discovery).map(|(_, server)| server).collect()
}

/// Returns them with their places in the catalog.
pub(crate) fn servers_at(
    config: &Config,
    catalog: &Catalog,
    discovery: &Discovery,
) -> impl Iterator<Item = (usize, admin::Server)> {
    let members = catalog.view.members.iter().enumerate();
    members.filter_map(|(at, member)| {
        let upstream = member.upstream.as_ref();
        let lists = upstream.listing().map(|listing| server::shown_of(catalog, at, &listing));
        let is_in_line = || discovery.is_underway(&member.key);
        Some((at, server::live(config, member.server.as_deref()?, upstream, lists, is_in_line)))
    })
}

#[cfg(test)]
mod tests;
