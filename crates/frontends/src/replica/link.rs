//! What replicas share beside their keys, as far as front ends know it. Every answer comes soon, or says that there is none.

use bytes::Bytes;
use manifold_engine::BoxFuture;
use thiserror::Error;
use tokio::time::Instant;

/// The store that replicas share cannot be reached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("what replicas share is away")]
pub struct Away;

/// What is known of a session beside what its id says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNotes {
    /// Whether anything is.
    pub is_known: bool,
    pub level: Option<String>,
    pub subscriptions: Vec<String>,
    /// Its client, or an operator, has ended it.
    pub is_over: bool,
}

/// What changes in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Level(String),
    Subscribed(String),
    Unsubscribed(String),
    Over,
}

/// One entry in the log of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// It answers the requests with these ids, a JSON array.
    Opened(String),
    Event(Bytes),
    /// Nothing more will be said.
    Finished,
    /// From here on not all is in the log, or it is not understood here.
    Broken,
}

/// What is heard of the other replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'t> {
    /// One of them says this.
    News(&'t str),
    /// For a while nothing could be heard: something may have been said.
    Missed,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    Done,
    /// There is one with this number, or a later one.
    Conflict,
}

/// The way to what replicas share.
pub trait Link: Send + Sync {
    fn session(&self, sid: &str) -> BoxFuture<Result<SessionNotes, Away>>;

    fn note(&self, sid: &str, note: Note) -> BoxFuture<Result<(), Away>>;

    /// Notes that these sessions are in use.
    fn used(&self, sids: Vec<String>) -> BoxFuture<()>;

    /// Returns those of these sessions that are over.
    fn over(&self, sids: Vec<String>) -> BoxFuture<Result<Vec<String>, Away>>;

    /// Adds an entry to the log of a stream. Numbers only grow. What stands before `keep_from` may go.
    fn append(
        &self,
        stream: &str,
        number: u64,
        keep_from: u64,
        entry: Entry,
    ) -> BoxFuture<Result<Appended, Away>>;

    /// Returns what the log of a stream was opened with.
    fn opened(&self, stream: &str) -> BoxFuture<Result<Option<String>, Away>>;

    /// Reads entries after a number: some of them, where there are many.
    fn read(&self, stream: &str, after: u64) -> BoxFuture<Result<Vec<(u64, Entry)>, Away>>;

    /// Returns the number of the last entry; 0 where there is none.
    fn last(&self, stream: &str) -> BoxFuture<Result<u64, Away>>;

    /// Returns the signed address of another replica, for as long as that lives: as far as is known here.
    fn address(&self, replica: u32) -> Option<String>;

    /// Reads anew who there is, unless that was done a moment ago.
    fn look_for_replicas(&self) -> BoxFuture<()>;

    /// Returns whether another replica is known to be gone, by something heard after `asked`.
    fn is_gone(&self, replica: u32, asked: Instant) -> bool;

    /// Returns how many other replicas live, as far as is known here.
    fn others(&self) -> usize {
        0
    }

    /// Tells the other replicas.
    fn tell(&self, news: String);

    /// Calls whoever wants to hear what others tell; there is one.
    fn listen(&self, hear: Box<dyn Fn(Heard<'_>) + Send + Sync>);
}
