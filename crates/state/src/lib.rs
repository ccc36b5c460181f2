//! What several gateways share, in Redis or Valkey. Nobody waits for it longer than a moment: where it is away, that is
//! the answer, and what can go on without it does.

mod address;
mod connection;
mod events;
mod lease;
mod nodes;
mod rate;
mod sessions;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use thiserror::Error;
use tokio::sync::Notify;

use connection::Connection;
pub use events::{Appended, Entry, Place};
pub use nodes::Node;
pub use rate::{Take, UsedUp};
pub use sessions::SessionFields;

/// How long anybody should wait for an answer.
pub const PATIENCE: Duration = Duration::from_millis(50);
/// What every key begins with, and the channel of news, where nothing else is said.
pub const PREFIX: &str = "mf:";

/// The store cannot be reached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("redis is away")]
pub struct Away;

/// Why a store cannot be used at all.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the address of redis cannot be used: {0}")]
    Address(#[source] redis::RedisError),
    #[error("{path}: {error}")]
    Password { path: PathBuf, error: std::io::Error },
}

/// Where the store is, and how it lets us in.
#[derive(Debug, Clone)]
pub struct Options {
    pub url: String,
    /// A file with the password, read at each connection.
    pub password_file: Option<PathBuf>,
    /// What every key begins with: gateways of one prefix belong together.
    pub prefix: String,
    /// How long anybody waits for an answer.
    pub patience: Duration,
    /// Who we are.
    pub node: Node,
}

/// The store. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// What is heard of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'t> {
    /// One of them says this.
    News(&'t str),
    /// For a while nothing could be heard: something may have been said.
    Missed,
}

/// Is told what others tell.
pub type Hear = Box<dyn Fn(Heard<'_>) + Send + Sync>;

struct Shared {
    connection: Connection,
    prefix: String,
    me: Node,
    /// We say no more that we live.
    leaving: AtomicBool,
    /// Where we are reached, as it was said last.
    address: ArcSwap<String>,
    nodes: nodes::Nodes,
    rates: rate::LocalRates,
    hear: std::sync::OnceLock<Hear>,
    /// There is something to hear by.
    heard: Notify,
}

impl Store {
    /// Opens the store; `keep` must be polled for as long as it is used, and connects.
    pub fn open(options: Options) -> Result<(Self, impl Future<Output = ()> + Send + 'static), OpenError> {
        let connection = Connection::new(&options)?;
        let shared = Arc::new(Shared {
            connection,
            prefix: options.prefix,
            leaving: AtomicBool::new(false),
            address: ArcSwap::from_pointee(options.node.address.clone()),
            me: options.node,
            nodes: nodes::Nodes::default(),
            rates: rate::LocalRates::default(),
            hear: std::sync::OnceLock::new(),
            heard: Notify::new(),
        });
        let store = Self { shared };
        let kept = store.clone();
        Ok((store, async move { kept.keep().await }))
    }

    /// Says anew where we are reached.
    pub fn move_to(&self, address: String) {
        self.shared.address.store(Arc::new(address));
    }

    /// Returns why not all that replicas share can be had now.
    pub fn degraded(&self) -> Option<String> {
        self.shared.connection.degraded()
    }

    #[cfg(test)]
    fn is_connected(&self) -> bool {
        !self.shared.connection.is_away() && self.degraded().is_none()
    }

    /// Tells all who listen.
    pub async fn publish(&self, news: &str) -> Result<(), Away> {
        let mut command = redis::cmd("PUBLISH");
        command.arg(self.key("news")).arg(news);
        self.ask::<i64>(&command).await.map(|_| ())
    }

    /// Says who hears what is told. This is said once.
    pub fn listen(&self, hear: Hear) {
        let _ = self.shared.hear.set(hear);
        self.shared.heard.notify_one();
    }

    async fn keep(&self) {
        tokio::join!(self.shared.connection.keep(), self.keep_announced(), self.keep_listening());
    }

    /// Hears what others tell, over a connection of its own.
    async fn keep_listening(&self) {
        while self.shared.hear.get().is_none() {
            self.shared.heard.notified().await;
        }
        let channel = self.key("news");
        let heard = |heard: Heard<'_>| {
            if let Some(hear) = self.shared.hear.get() {
                hear(heard);
            }
        };
        let mut is_first = true;
        loop {
            self.shared.connection.wait_connected().await;
            let begun = || {
                if !std::mem::take(&mut is_first) {
                    heard(Heard::Missed);
                }
            };
            self.shared.connection.listen(&channel, begun, |text| heard(Heard::News(text))).await;
            tokio::time::sleep(connection::AGAIN).await;
        }
    }

    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, Away> {
        self.shared.connection.ask(command).await
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.shared.prefix)
    }
}
