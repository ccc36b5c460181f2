//! The connection: kept open by one task, asked by all. After some failures it is away until that task has it back.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use redis::aio::MultiplexedConnection;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisResult, ServerErrorKind};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use crate::address::{Address, Reached};
use crate::{Away, OpenError, Options};

/// How soon it is tried again to connect.
pub(crate) const AGAIN: Duration = Duration::from_millis(200);
/// How long connecting may take; nobody waits for that.
const CONNECTING: Duration = Duration::from_secs(2);
/// So many failures one after another, and it is away.
const BREAKER: u32 = 5;

pub(crate) struct Connection {
    address: Address,
    patience: Duration,
    /// `None`: it is away, and whoever asks is told so at once.
    live: ArcSwapOption<Live>,
    failures: AtomicU32,
    lost: Notify,
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
            lost: Notify::new(),
            connected: Notify::new(),
        })
    }

    pub(crate) fn is_away(&self) -> bool {
        self.live.load().is_none()
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
            Ok(Err(error)) if is_answer(&error) => warn!("redis refuses: {error}"),
            Ok(Err(error)) => {
                debug!("redis: {error}");
                self.lose();
            }
            Err(_) => {
                debug!("redis took longer than {:?}", self.patience);
                if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= BREAKER {
                    self.lose();
                }
            }
        }
        Err(Away)
    }

    /// Lets go of it: whoever asks from now on is told that it is away.
    fn lose(&self) {
        if self.live.swap(None).is_some() {
            warn!("redis is away; what can go on without it does");
            self.lost.notify_one();
        }
    }

    /// Connects, and again whenever it was lost.
    pub(crate) async fn keep(&self) {
        let mut was_told = false;
        loop {
            match timeout(CONNECTING, self.connect()).await {
                Ok(Ok(connection)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    self.live.store(Some(std::sync::Arc::new(connection)));
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
        // One that sleeps takes connections and answers nothing.
        live.ask::<String>(&redis::cmd("PING")).await.map(|_| live).map_err(|error| error.to_string())
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

    /// Hears what is told on a channel, until the connection breaks.
    pub(crate) async fn listen(&self, channel: &str, hear: impl Fn(&str)) {
        let Ok(Ok(client)) = timeout(CONNECTING, self.address.server()).await else { return };
        let Ok(Ok(mut listening)) = timeout(CONNECTING, client.get_async_pubsub()).await else { return };
        if !matches!(timeout(CONNECTING, listening.subscribe(channel)).await, Ok(Ok(()))) {
            return;
        }
        let mut messages = listening.on_message();
        while let Some(message) = messages.next().await {
            if let Ok(text) = message.get_payload::<String>() {
                hear(&text);
            }
        }
    }
}

/// Returns whether the store has answered, though with an error. A server that is no primary any more has not: another is.
fn is_answer(error: &redis::RedisError) -> bool {
    let is_former = [ServerErrorKind::ReadOnly, ServerErrorKind::MasterDown];
    !is_former.iter().any(|kind| error.kind() == ErrorKind::Server(*kind))
        && !error.is_io_error()
        && !error.is_connection_dropped()
        && !error.is_timeout()
        && error.code().is_some()
}
