//! The life of one server: asleep, starting, ready, resting after a failure, stopped. One task owns the state;
//! others hold a handle to ask and a snapshot to look.

mod backoff;
mod ended;
mod handle;
mod life;
mod mailbox;
mod not_running;
mod ready;
mod saved_listing;
mod shown;
mod starting;
mod suspend;

use std::sync::Arc;
use std::time::Duration;

use manifold_engine::{Exchange, Listing};
use manifold_protocol::{Call, Fault};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::fair_queue::FairQueue;
use backoff::{Attempts, Complaint};
use handle::Shared;
pub(crate) use handle::{FollowedSignIn, Supervised};
pub(crate) use life::{Ending, GivenUp, Launcher, Life, Running};
use mailbox::Commands;
use not_running::NotRunning;
use suspend::Suspending;
pub(crate) use suspend::{Begin, Suspended};

const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// Callers wait through a rest of this length.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Calls start a server that fails this often at most; a few may do so one after the other.
const CALL_BACKOFF: Duration = Duration::from_secs(5);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);

struct Supervisor<L> {
    shared: Arc<Shared>,
    launcher: L,
    commands: Commands,
    /// Calls that wait for the start.
    waiting: FairQueue,
    discovering: Vec<oneshot::Sender<()>>,
    ordering: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// Those who want its lists read anew.
    refreshing: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// Starts that failed, or lived without answering a call, in a row.
    failures: u32,
    /// When a start that failed is tried again, asked or not.
    retry_at: Option<Instant>,
    /// Starts that calls may still cause.
    attempts: Attempts,
    complaint: Complaint,
    /// What a server offers that ran before us, and since when it runs.
    known: Option<Arc<Listing>>,
    since: Option<Instant>,
}

/// What a rest or a life ended with.
enum Next {
    Start,
    NotRunning(NotRunning),
    Closed(Option<oneshot::Sender<()>>),
    /// Another program goes on with it.
    Suspended(Suspending),
    Left,
}

impl<L: Launcher> Supervisor<L> {
    fn new(launcher: L, shared: Arc<Shared>, commands: Commands) -> Self {
        Self {
            shared,
            launcher,
            commands,
            waiting: FairQueue::default(),
            discovering: Vec::new(),
            ordering: Vec::new(),
            refreshing: Vec::new(),
            failures: 0,
            retry_at: None,
            attempts: Attempts::default(),
            complaint: Complaint::default(),
            known: None,
            since: None,
        }
    }

    /// Each state is one method; this loop is the whole diagram.
    async fn live(mut self, begin: Begin<L::Life>) {
        (self.known, self.since) = (begin.listing, begin.since);
        let mut next = match (begin.running, begin.trouble) {
            (Some(running), _) => self.ready(running).await,
            (None, _) if begin.is_stopped => Next::NotRunning(NotRunning::Stopped),
            (None, Some((fault, _))) => {
                let retry_at = (!self.is_manual()).then(|| Instant::now() + FIRST_BACKOFF);
                Next::NotRunning(NotRunning::Failed(fault, retry_at))
            }
            (None, None) => Next::NotRunning(NotRunning::Asleep),
        };
        let done = loop {
            next = match next {
                Next::NotRunning(state) => self.not_running(state).await,
                Next::Start => match self.starting().await {
                    Ok(running) => self.ready(running).await,
                    Err(next) => next,
                },
                Next::Closed(done) => break done,
                Next::Suspended(suspending) => {
                    self.leave(suspending, false, None);
                    Next::Left
                }
                Next::Left => {
                    self.launcher.cache().settle(self.launcher.server());
                    // Nothing of it may act any more: calls that wait here are asked again elsewhere.
                    return std::mem::forget(self);
                }
            };
        };
        self.refuse_all(&Fault::ShuttingDown);
        self.launcher.gone().await;
        self.launcher.cache().settle(self.launcher.server());
        self.commands.close();
        if let Some(done) = done {
            let _ = done.send(());
        }
        // Calls that slipped in are answered by the drop of their exchange.
        while self.commands.recv().await.is_some() {}
    }

    /// Lets a call wait for the start.
    fn wait(&mut self, call: Call, exchange: Exchange) {
        if let Some(refused) = self.waiting.push(call, exchange) {
            refused.tell(&self.shared.id);
        }
    }

    fn stopped(&self) -> Fault {
        let reason = "it was stopped; use the servers_start tool to start it".to_owned();
        Fault::NotRunning { server: self.shared.id.clone(), reason }
    }

    fn refuse_all(&mut self, fault: &Fault) {
        for (_, exchange) in self.waiting.take_all() {
            exchange.fail(fault.clone());
        }
        for done in self.ordering.drain(..).chain(self.refreshing.drain(..)) {
            let _ = done.send(Err(fault.clone()));
        }
        for done in self.discovering.drain(..) {
            let _ = done.send(());
        }
    }
}

#[cfg(test)]
mod tests;
