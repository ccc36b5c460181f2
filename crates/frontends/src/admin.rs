//! The control API: what operators see and do, as JSON over HTTP/1.1. Its words are those of `manifold_admin`, its routes
//! `manifold_admin::ROUTES`; `admin/README.md` walks through a request.

mod access;
mod answer;
mod ask;
mod audit;
mod clients;
mod config;
mod daemon;
mod errors;
mod events;
mod items;
mod later;
mod logs;
mod peer;
mod questions;
mod recordings;
mod request;
mod route;
mod serve;
mod servers;
mod setup;
mod shared_port;
mod sse;
mod traffic;
mod underway;
mod web;

use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{
    About, AskerEnvironment, AuditLine, CommandError, ConfigChanged, ConfigCheck, ConfigFile, ErrorCode,
    Recording, RecordingStart, Server,
};
use manifold_config::Edit;
use manifold_engine::{BoxFuture, Control, Gateway};
use serde_json::value::RawValue;

pub(crate) use answer::{Answer, AnswerBody};
pub use peer::{Peer, Scope};
use questions::Questions;
pub use serve::{serve, serve_connection};
pub use shared_port::SharedPage;
pub(crate) use shared_port::no_token;
use underway::Underway;
pub use web::Pages;

/// What is behind the control API: the fleet's own control, and what only the program can do. One for all connections.
#[derive(Clone)]
pub struct Office {
    pub control: Control,
    pub program: Arc<dyn ControlledProgram>,
    questions: Arc<Questions>,
    underway: Arc<Underway>,
    pages: Option<Arc<Pages>>,
}

impl Office {
    pub fn new(control: Control, program: Arc<dyn ControlledProgram>) -> Self {
        Self { control, program, questions: Arc::default(), underway: Arc::default(), pages: None }
    }

    /// Lets pages be opened, and goes on with those of the program before us.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        let pages = self.pages.insert(Arc::new(pages)).clone();
        pages.go_on(&self);
        self
    }

    /// Waits until no operator waits for a server, at most so long. They may go on asking.
    pub async fn settled(&self, patience: Duration) {
        self.underway.settled(patience).await;
    }

    /// Lets what operators have asked of servers come to its end, for so long, and takes nothing new. Who waits longer is
    /// told that the gateway ends.
    pub async fn close(&self, patience: Duration) {
        self.pages.iter().for_each(|pages| pages.close());
        self.underway.close(patience).await;
    }
}

/// What the program does for operators, beside what its servers do.
pub trait ControlledProgram: Send + Sync {
    fn about(&self) -> About;

    /// Adds what earlier runs have learnt of servers of which nothing is known yet.
    fn remember(&self, servers: &mut [Server]) {
        let _ = servers;
    }

    /// Opens a namespace for an operator, as it would be for a client with these variables; `None`: the program's own. It is
    /// an operator's for as long as it is held.
    fn open(
        &self,
        namespace: Option<&str>,
        client: Option<AskerEnvironment>,
    ) -> Result<Arc<Gateway>, CommandError>;

    fn config(&self) -> BoxFuture<Result<ConfigFile, CommandError>>;

    /// Says what would come of a text, and does nothing.
    fn check_config(&self, text: String) -> BoxFuture<ConfigCheck>;

    /// Writes a change into the config file and takes it over. `expected` is the revision it was made for.
    fn edit_config(
        &self,
        edit: Edit,
        expected: Option<String>,
        undo: Undo,
    ) -> BoxFuture<Result<ConfigChanged, CommandError>>;

    /// Ends, restarts or replaces the program, where it can do so.
    fn daemon(&self, order: DaemonOrder) -> BoxFuture<Result<(), CommandError>>;

    /// Returns what `GET /v1/daemon` says, as JSON; `None`: this is no daemon.
    fn daemon_status(&self) -> Option<Box<RawValue>> {
        None
    }

    /// Keeps a line of the audit. Nobody waits for a disk.
    fn audit(&self, line: AuditLine);

    /// Returns the last lines of it.
    fn audited(&self, lines: usize) -> Result<Vec<AuditLine>, CommandError>;

    /// Returns the recordings that run, and the files of those that have ended.
    fn recordings(&self) -> Result<Vec<Recording>, CommandError> {
        Ok(Vec::new())
    }

    /// Begins to keep what passes in a file.
    fn start_recording(&self, _start: &RecordingStart) -> Result<Recording, CommandError> {
        Err(CommandError::new(ErrorCode::Unsupported, "this gateway keeps no recordings"))
    }

    /// Ends a recording that runs; its file stays.
    fn stop_recording(&self, name: &str) -> Result<Recording, CommandError> {
        Err(CommandError::new(ErrorCode::UnknownItem, format!("there is no recording '{name}' that runs")))
    }

    /// Returns a recording in another format: `har`, `text` or `json`.
    fn export_recording(&self, name: &str, _format: &str) -> BoxFuture<Result<String, CommandError>> {
        let none = CommandError::new(ErrorCode::UnknownItem, format!("there is no recording '{name}'"));
        Box::pin(std::future::ready(Err(none)))
    }

    /// Runs one of our commands and returns what it writes.
    fn run_verb(&self, _words: Vec<String>) -> BoxFuture<Result<Vec<u8>, CommandError>> {
        let none = CommandError::new(ErrorCode::Unsupported, "this gateway runs no commands");
        Box::pin(std::future::ready(Err(none)))
    }

    /// Keeps the program from ending for want of clients while it is held: somebody looks at it.
    fn hold(&self) -> Box<dyn Send + Sync>;
}

/// Who keeps the record by which a change of the config is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// The program that makes the change.
    Program,
    /// Whoever asked: a command, whose record may hold more than this change.
    Asker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaemonOrder {
    Stop,
    Restart,
    Upgrade,
}

#[cfg(test)]
mod tests;
