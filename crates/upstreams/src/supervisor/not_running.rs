//! A server that is not running: why, for how long, and what becomes of those who want something of it meanwhile.

use manifold_config::ServerStart;
use manifold_engine::{Order, Phase};
use manifold_protocol::Fault;
use tokio::time::{Instant, sleep_until};

use super::mailbox::Command;
use super::{Launcher, Next, SHORT_WAIT, Supervisor};

/// Why a server is not running.
pub(super) enum NotRunning {
    /// It never ran, or ended in good order.
    Asleep,
    /// Its start failed, or it ended and is not to be started again by itself. It is tried again then, if at all; a call
    /// need not wait for that, a list does not wait at all (D4).
    Failed(Fault, Option<Instant>),
    /// It ended, for this reason, and will be started again at the second time, asked or not; not before the first.
    Restarting(Fault, Instant, Instant),
    Stopped,
}

/// What becomes of a call or a list that finds the server at rest.
enum Admit {
    Start,
    /// It is started soon enough by itself.
    Wait,
    Refuse(Fault),
}

impl<L: Launcher> Supervisor<L> {
    /// Waits for a reason to start, or for the end.
    pub(super) async fn not_running(&mut self, state: NotRunning) -> Next {
        self.enter(&state);
        loop {
            let command = match &state {
                NotRunning::Restarting(_, _, at) | NotRunning::Failed(_, Some(at)) => tokio::select! {
                    command = self.commands.recv() => command,
                    () = sleep_until(*at) => return Next::Start,
                },
                NotRunning::Asleep | NotRunning::Failed(_, None) | NotRunning::Stopped => {
                    self.commands.recv().await
                }
            };
            match command {
                None => return Next::Closed(None),
                Some(Command::Close(done)) => return Next::Closed(Some(done)),
                Some(Command::Suspend(suspending)) => {
                    self.leave(suspending, matches!(state, NotRunning::Stopped), None);
                    return Next::Left;
                }
                Some(Command::Call(call, exchange)) => match self.called(&state) {
                    Admit::Refuse(fault) => exchange.fail(fault),
                    then => {
                        self.wait(call, exchange);
                        if matches!(then, Admit::Start) {
                            return Next::Start;
                        }
                    }
                },
                Some(Command::Discover(done)) => match self.listed(&state) {
                    Admit::Refuse(_) => {
                        let _ = done.send(());
                    }
                    then => {
                        self.discovering.push(done);
                        if matches!(then, Admit::Start) {
                            return Next::Start;
                        }
                    }
                },
                Some(Command::Order(Order::Stop, done)) => {
                    let _ = done.send(Ok(()));
                    return Next::NotRunning(NotRunning::Stopped);
                }
                Some(Command::Order(Order::Start | Order::Restart, done)) => {
                    self.ordering.push(done);
                    return Next::Start;
                }
                Some(Command::Order(Order::Refresh, done)) if matches!(state, NotRunning::Stopped) => {
                    let _ = done.send(Err(self.stopped()));
                }
                Some(Command::Order(Order::Refresh, done)) => {
                    self.refreshing.push(done);
                    return Next::Start;
                }
                Some(Command::Order(Order::Sleep, done)) => {
                    let _ = done.send(Ok(()));
                }
                // Somebody has signed in: it need not rest any longer.
                Some(Command::SignIn(true))
                    if matches!(state, NotRunning::Failed(Fault::SignInNeeded { .. }, _)) =>
                {
                    self.failures = 0;
                    self.retry_at = None;
                    return Next::Start;
                }
                Some(Command::SignIn(_)) => self.tell_status(),
            }
        }
    }

    fn enter(&mut self, state: &NotRunning) {
        match state {
            NotRunning::Asleep => {
                self.failures = 0;
                self.show(Phase::Idle);
            }
            // The list stays while a restart is being tried.
            NotRunning::Restarting(fault, _, at) => {
                self.show_until(Phase::Starting, Some(fault), Some(*at));
            }
            NotRunning::Failed(fault, at) => {
                self.show_until(Phase::Failed(fault.clone()), Some(fault), *at);
                // What it offers is known all the same, and whoever calls it hears how to sign in.
                if !matches!(fault, Fault::SignInNeeded { .. }) {
                    self.publish(None);
                }
                self.refuse_all(fault);
            }
            NotRunning::Stopped => {
                self.show(Phase::Stopped);
                self.publish(None);
                self.refuse_all(&self.stopped());
            }
        }
    }

    /// Decides what becomes of a call. One starts a server that has failed at once, so that what was mended works; a flood
    /// of calls is told why it failed, and starts it seldom.
    fn called(&mut self, state: &NotRunning) -> Admit {
        let now = Instant::now();
        match state {
            NotRunning::Asleep if self.is_manual() => {
                let reason =
                    "the config lets only an operator start it; use the servers_start tool".to_owned();
                Admit::Refuse(Fault::NotRunning { server: self.shared.id.clone(), reason })
            }
            NotRunning::Asleep => Admit::Start,
            NotRunning::Stopped => Admit::Refuse(self.stopped()),
            // A short rest is waited out.
            NotRunning::Restarting(_, _, at) if *at <= now + SHORT_WAIT => Admit::Wait,
            // A delay that somebody has set is kept.
            NotRunning::Restarting(fault, earliest, _) if *earliest > now => Admit::Refuse(fault.clone()),
            NotRunning::Failed(fault, _) if self.is_manual() => Admit::Refuse(fault.clone()),
            // Nothing is asked of a server that would only say again who must sign in.
            NotRunning::Failed(Fault::SignInNeeded { .. }, _) if self.launcher.held_back().is_some() => {
                Admit::Refuse(self.launcher.held_back().unwrap_or(Fault::ShuttingDown))
            }
            NotRunning::Failed(fault, _) | NotRunning::Restarting(fault, ..) => {
                match self.attempts.take(self.launcher.call_backoff()) {
                    true => Admit::Start,
                    false => Admit::Refuse(fault.clone()),
                }
            }
        }
    }

    /// Decides what becomes of a list: it never waits for a server that has failed before (D4).
    fn listed(&mut self, state: &NotRunning) -> Admit {
        match state {
            NotRunning::Failed(fault, _) => Admit::Refuse(fault.clone()),
            NotRunning::Restarting(fault, ..) if self.failures > 0 => Admit::Refuse(fault.clone()),
            NotRunning::Restarting(fault, _, at) if *at > Instant::now() + SHORT_WAIT => {
                Admit::Refuse(fault.clone())
            }
            NotRunning::Restarting(..) => Admit::Wait,
            NotRunning::Asleep | NotRunning::Stopped => self.called(state),
        }
    }

    pub(super) fn is_manual(&self) -> bool {
        self.launcher.server().start == ServerStart::Manual
    }
}
