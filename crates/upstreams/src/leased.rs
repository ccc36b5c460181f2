//! A local server that runs at one of several gateways: ours while we have its lease, else reached at whoever has it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use manifold_config::{
    EraSetting, RemoteKind, RemoteSpec, Replicas, Secret, Server, ServerKey, Sharing, Transport,
};
use manifold_engine::{BoxFuture, Host, Tasks};
use manifold_protocol::Fault;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use crate::cache::Cache;
use crate::logs::LogRing;
use crate::remote::{Reached, Remote, Trust};
use crate::stdio::{Launch, Process};
use crate::supervisor::{Ending, GivenUp, Launcher, Life, Running};

/// How often who has a lease says that it still does: it lasts three times as long.
const RENEWED_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether a server can be had whose owner cannot be reached.
const LOOKED_EVERY: Duration = Duration::from_millis(500);
/// How long another gateway may take over the handshake.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// The leases of servers that run once, wherever they are kept.
pub trait Leases: Send + Sync {
    /// Takes the lease of a server, or renews it, and returns who has it now. `None`: nobody can tell.
    fn hold(&self, server: &ServerKey) -> BoxFuture<Option<Holder>>;

    /// Lets go of the lease of a server that no longer runs here.
    fn release(&self, server: &ServerKey) -> BoxFuture<()>;
}

/// Who has a lease.
pub enum Holder {
    Us,
    /// Another gateway, and how the server is reached there; `None`: that one is not heard of any more.
    Another(Option<Way>),
}

/// How a server is reached at the gateway that runs it.
pub struct Way {
    pub replica: String,
    pub url: String,
    pub header: (String, Secret),
}

/// What it takes to start the server here, or to reach it elsewhere.
pub(crate) struct Leased {
    pub(crate) here: Launch,
    /// Empty where we are the only one.
    pub(crate) leases: Arc<OnceLock<Arc<dyn Leases>>>,
    pub(crate) tasks: Tasks,
    pub(crate) trust: Trust,
}

/// Returns whether a server is meant to run once. What each client has of its own nobody else reaches.
pub(crate) fn is_meant(server: &Server) -> bool {
    server.replicas == Replicas::One
        && server.shared != Sharing::PerClient
        && matches!(server.transport, Transport::Process(_))
}

/// Where the server runs.
pub(crate) enum Place {
    Here { process: Process, lease: Option<Lease> },
    There(Reached),
}

/// A lease that is renewed for as long as this lives.
pub(crate) struct Lease {
    leases: Arc<dyn Leases>,
    key: ServerKey,
    /// It ends once somebody else has the lease.
    renewing: JoinSet<()>,
}

impl Launcher for Leased {
    type Life = Place;

    fn server(&self) -> &Arc<Server> {
        self.here.server()
    }

    fn host(&self) -> &Arc<dyn Host> {
        self.here.host()
    }

    fn logs(&self) -> &Arc<LogRing> {
        self.here.logs()
    }

    fn cache(&self) -> &Cache {
        self.here.cache()
    }

    /// Asks who has the lease, until the server can be had here or there. An owner that is gone keeps it for a while.
    async fn launch(&self) -> Result<Running<Place>, Fault> {
        self.here.shutdowns.begin();
        let Some(leases) = self.leases.get() else { return self.start(None).await };
        let deadline = Instant::now() + self.server().start_timeout;
        loop {
            let fault = match leases.hold(&self.server().key).await {
                Some(Holder::Us) => return self.start(Some(Lease::keep(leases, &self.server().key))).await,
                Some(Holder::Another(Some(way))) => match self.reach(way).await {
                    Ok(running) => return Ok(running),
                    Err(fault) => fault,
                },
                Some(Holder::Another(None)) => self
                    .here
                    .failed("the replica that ran it is gone, and its lease has not run out".to_owned()),
                // Nobody new may have it: it could run twice.
                None => {
                    let why = "what the replicas share is away, so nobody can tell which of them runs it";
                    return Err(self.here.failed(why.to_owned()));
                }
            };
            if Instant::now() + LOOKED_EVERY > deadline {
                return Err(fault);
            }
            debug!(server = %self.server().key.id, "{}", fault.message());
            tokio::select! {
                () = sleep(LOOKED_EVERY) => {}
                () = self.here.shutdowns.given_up() => return Err(Fault::ShuttingDown),
            }
        }
    }

    fn give_up(&self) -> GivenUp {
        self.here.give_up()
    }

    async fn gone(&self) {
        self.here.gone().await;
    }
}

impl Leased {
    /// Starts it here, while the lease is kept.
    async fn start(&self, lease: Option<Lease>) -> Result<Running<Place>, Fault> {
        match self.here.launch().await {
            Ok(Running { connection, said, pid, life }) => {
                Ok(Running { connection, said, pid, life: Place::Here { process: life, lease } })
            }
            Err(fault) => {
                if let Some(lease) = lease {
                    // Nothing of it runs here when another tries.
                    self.here.gone().await;
                    lease.release().await;
                }
                Err(fault)
            }
        }
    }

    /// Reaches it at the gateway that runs it, which speaks every revision; without sessions a question is always that of
    /// the call it came in.
    async fn reach(&self, way: Way) -> Result<Running<Place>, Fault> {
        let spec = RemoteSpec {
            kind: RemoteKind::StreamableHttp,
            url: way.url,
            headers: vec![way.header],
            credential_variables: Vec::new(),
            sign_in: None,
            retries: 0,
            retry_delay: LOOKED_EVERY,
            reconnect_interval: LOOKED_EVERY,
            max_retries: 0,
        };
        let server = Server {
            transport: Transport::Remote(spec.clone()),
            era: EraSetting::Modern,
            start_timeout: REACHED_WITHIN,
            ..(**self.server()).clone()
        };
        let remote = Remote {
            server: Arc::new(server),
            spec,
            host: Arc::clone(self.host()),
            logs: Arc::clone(self.logs()),
            tasks: self.tasks.clone(),
            trust: self.trust.clone(),
            cache: self.cache().clone(),
            limit_bytes: self.here.limit_bytes,
            may_move: true,
            sign_in: None,
        };
        let reached = tokio::select! {
            reached = remote.launch() => reached?,
            () = self.here.shutdowns.given_up() => return Err(Fault::ShuttingDown),
        };
        info!(server = %self.server().key.id, replica = way.replica, "it runs at another replica");
        let Running { connection, said, pid, life } = reached;
        Ok(Running { connection, said, pid, life: Place::There(life) })
    }
}

impl Lease {
    fn keep(leases: &Arc<dyn Leases>, key: &ServerKey) -> Self {
        let mut renewing = JoinSet::new();
        renewing.spawn(renew(Arc::clone(leases), key.clone()));
        Self { leases: Arc::clone(leases), key: key.clone(), renewing }
    }

    /// Waits until somebody else has it.
    async fn lost(&mut self) {
        let _ = self.renewing.join_next().await;
    }

    async fn release(mut self) {
        // A renewal under way would take it again.
        self.renewing.shutdown().await;
        self.leases.release(&self.key).await;
    }
}

/// Renews a lease until another has it. Where the store is away nobody new gets one, so the server goes on.
async fn renew(leases: Arc<dyn Leases>, key: ServerKey) {
    loop {
        sleep(RENEWED_EVERY).await;
        if let Some(Holder::Another(_)) = leases.hold(&key).await {
            warn!(server = %key.id, "another replica has its lease; stopping");
            return;
        }
    }
}

impl Life for Place {
    async fn ended(&mut self) -> Ending {
        match self {
            Self::There(reached) => reached.ended().await,
            Self::Here { process, lease: None } => process.ended().await,
            Self::Here { process, lease: Some(lease) } => tokio::select! {
                ending = process.ended() => ending,
                () = lease.lost() => {
                    Ending::Exited { code: None, how: "because another replica runs it now".to_owned() }
                }
            },
        }
    }

    async fn stop(self) {
        match self {
            Self::There(reached) => reached.stop().await,
            Self::Here { process, lease } => {
                process.stop().await;
                if let Some(lease) = lease {
                    lease.release().await;
                }
            }
        }
    }
}
