//! One start, and what follows when it fails.

use manifold_config::redact;
use manifold_engine::{Order, Phase};
use manifold_protocol::Fault;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::backoff::back_off;
use super::mailbox::Command;
use super::{GivenUp, Launcher, Life, Next, NotRunning, Running, Supervisor};

impl<L: Launcher> Supervisor<L> {
    /// Starts the server, taking in what comes meanwhile.
    pub(super) async fn starting(&mut self) -> Result<Running<L::Life>, Next> {
        if !self.ordering.is_empty() {
            // Whoever orders it hears of it again.
            self.complaint.forget();
        }
        // While one that has failed is tried again, what it failed for is what there is to say.
        if self.failures == 0 || !self.ordering.is_empty() {
            self.show(Phase::Starting);
            info!(server = %self.shared.id, "starting");
        } else {
            debug!(server = %self.shared.id, failures = self.failures, "starting again");
        }
        let began = Instant::now();
        let fault = {
            let mut attempt = Box::pin(self.launcher.launch());
            loop {
                let command = tokio::select! {
                    // Who asked before it failed hears of that, and starts it no more.
                    biased;
                    command = self.commands.recv() => command,
                    started = &mut attempt => match started {
                        Ok(running) => {
                            let took_ms = began.elapsed().as_millis() as u64;
                            let revision = &running.said.revision;
                            info!(server = %self.shared.id, pid = running.pid, %revision, took_ms, "ready");
                            return Ok(running);
                        }
                        Err(fault) => break fault,
                    },
                };
                match command {
                    None => {
                        abandon(&self.launcher, attempt).await;
                        return Err(Next::Closed(None));
                    }
                    Some(Command::Close(done)) => {
                        abandon(&self.launcher, attempt).await;
                        return Err(Next::Closed(Some(done)));
                    }
                    Some(Command::Suspend(suspending)) => {
                        // It has run for nobody yet; whoever waits for it asks again.
                        drop(attempt);
                        return Err(Next::Suspended(suspending));
                    }
                    Some(Command::Call(call, exchange)) => {
                        if let Some(refused) = self.waiting.push(call, exchange) {
                            refused.tell(&self.shared.id);
                        }
                    }
                    Some(Command::Discover(done)) if self.failures > 0 => {
                        let _ = done.send(());
                    }
                    Some(Command::Discover(done)) => self.discovering.push(done),
                    Some(Command::Order(Order::Start | Order::Restart, done)) => self.ordering.push(done),
                    Some(Command::Order(Order::Refresh, done)) => self.refreshing.push(done),
                    Some(Command::Order(Order::Stop, done)) => {
                        abandon(&self.launcher, attempt).await;
                        let _ = done.send(Ok(()));
                        return Err(Next::NotRunning(NotRunning::Stopped));
                    }
                    Some(Command::SignIn(_)) => {}
                    // Somebody else wants it.
                    Some(Command::Order(Order::Sleep, done)) => {
                        let _ = done.send(Ok(()));
                    }
                }
            }
        };
        // What it said on its way may be shown for as long as it rests (M11).
        Err(self.failed(fault.map_reason(|reason| redact(reason).into_owned())))
    }

    /// Decides what follows a start that failed: it is tried again by itself, ever more seldom. A start in between, by a
    /// call, changes nothing in that.
    fn failed(&mut self, fault: Fault) -> Next {
        match self.complaint.is_new(&fault.message()) {
            true => warn!(server = %self.shared.id, "{}", fault.message()),
            false => debug!(server = %self.shared.id, "{}", fault.message()),
        }
        if self.is_manual() {
            self.failures += 1;
            return Next::NotRunning(NotRunning::Failed(fault, None));
        }
        let now = Instant::now();
        let at = match self.retry_at.filter(|at| *at > now) {
            Some(at) => at,
            None => now + back_off(&mut self.failures, &self.shared.id),
        };
        self.retry_at = Some(at);
        Next::NotRunning(NotRunning::Failed(fault, Some(at)))
    }
}

/// Ends a start that nobody wants any more, as gently as a server that runs (D2).
async fn abandon<L: Launcher>(
    launcher: &L,
    attempt: impl Future<Output = Result<Running<L::Life>, Fault>> + Send,
) {
    match launcher.give_up() {
        GivenUp::EndsByItself => {
            if let Ok(running) = attempt.await {
                running.life.stop().await;
            }
        }
        GivenUp::IsDropped => drop(attempt),
    }
    launcher.gone().await;
}
