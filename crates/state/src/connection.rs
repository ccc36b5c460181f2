//! The connection: kept open by one task, asked by all. After some failures it is away until that task has it back.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use redis::aio::MultiplexedConnection;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisResult, ServerErrorKind};
use tokio::sync::Notify;
use tokio::time::{Instant, interval_at, sleep, timeout};
use tracing::{debug, info, warn};

use crate::address::{Address, Reached};
use crate::{Away, OpenError, Options};

/// How soon it is tried again to connect.
pub(crate) const AGAIN: Duration = Duration::from_millis(200);
/// How long connecting may take; nobody waits for that.
const CONNECTING: Duration = Duration::from_secs(2);
/// So many failures one after another, and it is away.
const BREAKER: u32 = 5;
/// How often it is asked whether the connection by which news come still lives.
const PING: Duration = Duration::from_secs(3);
/// What it refused counts against it for so long: each replica writes more often than that.
const REFUSED_FOR: Duration = Duration::from_secs(5);

pub(crate) struct Connection {
    address: Address,
    patience: Duration,
    /// `None`: it is away, and whoever asks is told so at once.
    live: ArcSwapOption<Live>,
    failures: AtomicU32,
    /// Whether the first attempt to connect has come to its end.
    was_tried: AtomicBool,
    /// Numbers connections, from 1 on.
    generation: AtomicU64,
    /// What it last refused to do, by its own word for why.
    refusal: Mutex<Option<(String, Instant)>>,
    /// A key that is written to see whether it takes anything.
    probe: String,
    lost: Notify,
    /// Wakes those that must not outlive a connection.
    gone: Notify,
    connected: Notify,
}

/// A connection that is open: to one server, or to all of a cluster.
#[derive(Clone)]
enum Live {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Live {
    async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        match self {
            Self::Server(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }

    async fn run<T: FromRedisValue>(&mut self, script: &redis::ScriptInvocation<'_>) -> RedisResult<T> {
        match self {
            Self::Server(connection) => script.invoke_async(connection).await,
            Self::Cluster(connection) => script.invoke_async(connection).await,
        }
    }

    /// What is asked together concerns several keys, which in a cluster lie anywhere.
    async fn tell(&mut self, commands: &[Cmd]) -> RedisResult<()> {
        match self {
            Self::Server(connection) => {
                let mut together = redis::pipe();
                for command in commands {
                    together.add_command(command.clone()).ignore();
                }
                together.query_async(connection).await
            }
            Self::Cluster(connection) => {
                let each = commands.iter().map(|command| {
                    let mut connection = connection.clone();
                    async move { command.query_async::<()>(&mut connection).await }
                });
                futures_util::future::try_join_all(each).await.map(|_| ())
            }
        }
    }
}

impl Connection {
    pub(crate) fn new(options: &Options) -> Result<Self, OpenError> {
        // TLS needs one, and which one is said once in a process.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Ok(Self {
            address: Address::read(&options.url, options.password_file.clone())?,
            patience: options.patience,
            live: ArcSwapOption::empty(),
            failures: AtomicU32::new(0),
            was_tried: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            refusal: Mutex::default(),
            probe: format!("{}probe", options.prefix),
            lost: Notify::new(),
            gone: Notify::new(),
            connected: Notify::new(),
        })
    }

    pub(crate) fn is_away(&self) -> bool {
        self.live.load().is_none()
    }

    /// Returns the number of the connection that there is, or was last.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns why not all can be had of it.
    pub(crate) fn degraded(&self) -> Option<String> {
        let refusal = self.refusal();
        let is_new = refusal.as_ref().is_some_and(|(_, at)| at.elapsed() < REFUSED_FOR);
        match (self.is_away(), refusal) {
            (_, Some((code, _))) if is_new => Some(format!("redis refuses: {code}")),
            // Before, nobody can say so.
            (true, _) if self.was_tried.load(Ordering::Relaxed) => Some("redis is away".to_owned()),
            _ => None,
        }
    }

    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Away> {
        let Some(live) = self.live.load_full() else { return Err(Away) };
        let mut live = (*live).clone();
        self.judge(timeout(self.patience, live.ask(command)).await)
    }

    /// Says several things at once; there are no answers.
    pub(crate) async fn tell(&self, commands: &[Cmd]) -> Result<(), Away> {
        let Some(live) = self.live.load_full() else { return Err(Away) };
        let mut live = (*live).clone();
        self.judge(timeout(self.patience, live.tell(commands)).await)
    }

    /// Asks by a script; an error of the script's own is told apart from a store that is away.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        script: &redis::ScriptInvocation<'_>,
    ) -> Result<T, Away> {
        let Some(live) = self.live.load_full() else { return Err(Away) };
        let mut live = (*live).clone();
        self.judge(timeout(self.patience, live.run(script)).await)
    }

    fn judge<T>(&self, asked: Result<RedisResult<T>, tokio::time::error::Elapsed>) -> Result<T, Away> {
        match asked {
            Ok(Ok(answer)) => {
                // Written only if it must be: all who ask share it.
                if self.failures.load(Ordering::Relaxed) != 0 {
                    self.failures.store(0, Ordering::Relaxed);
                }
                return Ok(answer);
            }
            Ok(Err(error)) => {
                debug!("redis: {error}");
                match Failure::of(&error) {
                    Failure::Broken => self.lose(),
                    Failure::Refused { code, is_all } => {
                        self.note_refusal(code);
                        if is_all {
                            self.count_failure();
                        }
                    }
                }
            }
            Err(_) => {
                debug!("redis took longer than {:?}", self.patience);
                self.count_failure();
            }
        }
        Err(Away)
    }

    fn count_failure(&self) {
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= BREAKER {
            self.lose();
        }
    }

    fn note_refusal(&self, code: String) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        let is_said = refusal.as_ref().is_some_and(|(said, at)| *said == code && at.elapsed() < REFUSED_FOR);
        if !is_said {
            warn!("redis refuses: {code}");
        }
        *refusal = Some((code, Instant::now()));
    }

    fn refusal(&self) -> Option<(String, Instant)> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of it: whoever asks from now on is told that it is away.
    fn lose(&self) {
        if self.live.swap(None).is_some() {
            warn!("redis is away; what can go on without it does");
            self.lost.notify_one();
            self.gone.notify_waiters();
        }
    }

    /// Connects, and again whenever it was lost.
    pub(crate) async fn keep(&self) {
        let mut was_told = false;
        loop {
            match timeout(CONNECTING, self.connect()).await {
                Ok(Ok(connection)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    self.generation.fetch_add(1, Ordering::AcqRel);
                    self.live.store(Some(Arc::new(connection)));
                    self.was_tried.store(true, Ordering::Relaxed);
                    info!("connected to redis");
                    was_told = false;
                    self.connected.notify_waiters();
                    self.lost.notified().await;
                }
                Ok(Err(why)) if !was_told => {
                    warn!("redis is away: {why}");
                    was_told = true;
                }
                _ => {}
            }
            self.was_tried.store(true, Ordering::Relaxed);
            sleep(AGAIN).await;
        }
    }

    async fn connect(&self) -> Result<Live, String> {
        let mut live = match self.address.reached().await.map_err(|error| error.to_string())? {
            Reached::Server(client) => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(CONNECTING))
                    .set_response_timeout(Some(CONNECTING));
                client.get_multiplexed_async_connection_with_config(&config).await.map(Live::Server)
            }
            Reached::Cluster(client) => client.get_async_connection().await.map(Live::Cluster),
        }
        .map_err(|error| error.to_string())?;
        // One that sleeps takes connections and answers nothing, one that is full answers and takes nothing.
        let mut written = redis::cmd("SET");
        written.arg(&self.probe).arg(1).arg("PX").arg(1000);
        if let Err(error) = live.ask::<redis::Value>(&written).await {
            if let Failure::Refused { code, .. } = Failure::of(&error) {
                self.note_refusal(code);
            }
            return Err(error.to_string());
        }
        Ok(live)
    }

    /// Resolves at the next connection that is made.
    pub(crate) async fn reconnected(&self) {
        self.connected.notified().await;
    }

    pub(crate) async fn wait_connected(&self) {
        loop {
            let connected = self.connected.notified();
            if !self.is_away() {
                return;
            }
            connected.await;
        }
    }

    /// Hears what is told on a channel, until that connection breaks or the other one does: after a failover they may be
    /// with two servers. `begun` is called once it listens.
    pub(crate) async fn listen(&self, channel: &str, begun: impl FnOnce(), hear: impl Fn(&str)) {
        let lost = self.gone.notified();
        tokio::pin!(lost);
        lost.as_mut().enable();
        if self.is_away() {
            return;
        }
        let Ok(Ok(client)) = timeout(CONNECTING, self.address.server()).await else { return };
        let Ok(Ok(listening)) = timeout(CONNECTING, client.get_async_pubsub()).await else { return };
        let (mut asking, mut messages) = listening.split();
        if !matches!(timeout(CONNECTING, asking.subscribe(channel)).await, Ok(Ok(()))) {
            return;
        }
        begun();
        let hearing = async {
            while let Some(message) = messages.next().await {
                if let Ok(text) = message.get_payload::<String>() {
                    hear(&text);
                }
            }
        };
        // Nothing is said for long, and half a connection says the same.
        let asking = async {
            let mut ticks = interval_at(Instant::now() + PING, PING);
            loop {
                ticks.tick().await;
                let answer = timeout(self.patience.max(CONNECTING), asking.ping::<redis::Value>()).await;
                if !matches!(answer, Ok(Ok(_))) {
                    return;
                }
            }
        };
        tokio::select! {
            () = hearing => {}
            () = asking => {}
            () = lost => {}
        }
        debug!("news of other replicas are not heard now");
    }
}

/// What an error of the store says about it.
enum Failure {
    /// The connection is no good: it is broken, or leads to a server that another has taken the place of.
    Broken,
    /// It answers and does not do it. `is_all`: nor anything else, as far as one can tell by that.
    Refused { code: String, is_all: bool },
}

impl Failure {
    fn of(error: &redis::RedisError) -> Self {
        let is_broken = error.is_io_error() || error.is_connection_dropped() || error.is_timeout();
        let former = [ServerErrorKind::ReadOnly, ServerErrorKind::MasterDown, ServerErrorKind::BusyLoading];
        let is_former = former.iter().any(|kind| error.kind() == ErrorKind::Server(*kind));
        match error.code() {
            Some(code) if !is_broken && !is_former => {
                // A password that was changed is read again at the next connection.
                if matches!(code, "NOAUTH" | "WRONGPASS") {
                    return Self::Broken;
                }
                let is_all = matches!(code, "OOM" | "MISCONF" | "CLUSTERDOWN");
                Self::Refused { code: code.to_owned(), is_all }
            }
            _ => Self::Broken,
        }
    }
}
