//! The ways to reach a server.

mod broken;
mod builtin;
mod cache;
mod connection;
mod era;
mod fair_queue;
#[cfg(test)]
mod fake;
mod handover;
mod leased;
mod listing;
mod litemcp;
mod logs;
pub mod process;
mod remote;
mod stdio;
mod supervisor;

use std::sync::{Arc, Mutex, OnceLock};

use manifold_config::{Builtin, Server, Transport};
use manifold_engine::{Connector, Host, Lock as _, Tasks, Upstream};

pub use builtin::manager;
pub use cache::{Cache, Saved};
pub use handover::{Handover, HandoverError};
use handover::{Live, Unclaimed};
use leased::Leased;
pub use leased::{Holder, Leases, Way};
use process::ProcessHost;
pub use remote::{
    CollectorHttp, Fetched, GetError, OAuthHttp, SignIns, get as http_get,
    settings_of as sign_in_settings_of, spawner,
};
use supervisor::{FollowedSignIn, Supervised};

/// Makes upstreams for every kind of server we can reach.
pub struct Upstreams {
    processes: ProcessHost,
    tasks: Tasks,
    trust: remote::Trust,
    cache: Cache,
    /// The longest message a server may send (`limits.messageBytes`).
    limit_bytes: usize,
    /// What tells a gateway among our servers who stands above it (`config::Nesting`).
    above: Arc<str>,
    /// Those that run, or may.
    live: Mutex<Vec<Live>>,
    /// What the program left whose place we took.
    unclaimed: Option<Unclaimed>,
    /// Who is signed in where; none where nothing can be stored.
    sign_ins: Option<Arc<SignIns>>,
    /// Whether there may be other gateways, which run a server for us or have us run it.
    may_lease: bool,
    /// Which of them runs a server that runs once; empty where we are the only one.
    leases: Arc<OnceLock<Arc<dyn Leases>>>,
}

impl Upstreams {
    /// Starts what all upstreams share. No process is started before a server needs one.
    pub fn new(tasks: Tasks, cache: Cache, limit_bytes: usize) -> Self {
        let (processes, owner) = ProcessHost::new();
        tasks.spawn_background(owner);
        let cache = cache.written_behind(&tasks);
        Self {
            processes,
            tasks,
            trust: remote::Trust::default(),
            cache,
            limit_bytes,
            above: Arc::default(),
            live: Mutex::default(),
            unclaimed: None,
            sign_ins: None,
            may_lease: false,
            leases: Arc::default(),
        }
    }

    /// Says whether there may be other gateways beside this one. Servers that they could run do not outlive us.
    pub fn one_of_several(self, may_lease: bool) -> Self {
        Self { may_lease, ..self }
    }

    /// Says who runs the servers that run once among several gateways.
    pub fn lease_by(&self, leases: Arc<dyn Leases>) {
        let _ = self.leases.set(leases);
    }

    /// Returns whether a server runs at one of several gateways.
    pub fn is_leased(&self, server: &Server) -> bool {
        self.may_lease && self.leases.get().is_some() && leased::is_meant(server)
    }

    /// Signs in to servers by these.
    pub fn signing_in(self, sign_ins: Option<Arc<SignIns>>) -> Self {
        Self { sign_ins, ..self }
    }

    /// Marks every process, so that a gateway among them knows who stands above it.
    pub fn marked(self, above: &str) -> Self {
        Self { above: above.into(), ..self }
    }

    fn note_live(&self, server: &Arc<Server>, instance: Option<String>, supervised: &Arc<Supervised>) {
        let mut live = self.live.locked();
        live.retain(|live| live.supervised.strong_count() > 0);
        live.push(Live { server: Arc::clone(server), instance, supervised: Arc::downgrade(supervised) });
    }

    /// Returns what starts the processes, to be finished when all servers are closed.
    pub fn processes(&self) -> ProcessHost {
        self.processes.clone()
    }
}

impl Connector for Upstreams {
    fn connect(&self, server: &Arc<Server>, host: Arc<dyn Host>) -> Arc<dyn Upstream> {
        if let Some(broken) = broken::Broken::of(server) {
            return Arc::new(broken);
        }
        match &server.transport {
            Transport::Builtin(Builtin::Time) => builtin::time(server.key.clone(), host, self.tasks.clone()),
            Transport::Process(spec) => {
                let launch = stdio::Launch {
                    server: Arc::clone(server),
                    spec: spec.clone(),
                    processes: self.processes.clone(),
                    logs: logs::LogRing::of(&server.key, &host),
                    host,
                    cache: self.cache.clone(),
                    limit_bytes: self.limit_bytes,
                    above: Arc::clone(&self.above),
                    shutdowns: stdio::Shutdowns::default(),
                };
                if self.may_lease && leased::is_meant(server) {
                    let (leases, tasks, trust) =
                        (Arc::clone(&self.leases), self.tasks.clone(), self.trust.clone());
                    let leased = Leased { here: launch, leases, tasks, trust };
                    return Supervised::new(leased, &self.tasks);
                }
                let instance = launch.host.instance();
                let supervised = self.supervise(launch, instance.as_deref());
                self.note_live(server, instance, &supervised);
                supervised
            }
            Transport::Remote(spec) => {
                let followed = self.sign_ins.as_ref().and_then(|sign_ins| {
                    Some(FollowedSignIn { sign_in: sign_ins.of(server)?, sign_ins: Arc::clone(sign_ins) })
                });
                let remote = remote::Remote {
                    sign_in: followed.as_ref().map(|followed| followed.sign_in.clone()),
                    server: Arc::clone(server),
                    spec: spec.clone(),
                    logs: logs::LogRing::of(&server.key, &host),
                    host,
                    tasks: self.tasks.clone(),
                    trust: self.trust.clone(),
                    cache: self.cache.clone(),
                    limit_bytes: self.limit_bytes,
                    may_move: false,
                };
                let supervised = Supervised::new(remote, &self.tasks);
                self.note_live(server, None, &supervised);
                if let Some(followed) = followed {
                    supervised.follow_sign_in(followed, &self.tasks);
                }
                supervised
            }
        }
    }
}
