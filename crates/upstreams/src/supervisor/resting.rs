//! A server that is not running: why, for how long, and what becomes of those who want something of it meanwhile.

use manifold_config::ServerStart;
use manifold_engine::{Order, Phase};
use manifold_protocol::Fault;
use tokio::time::{Instant, sleep_until};

use super::{Command, Launcher, SHORT_REST, Supervisor, Turn};

/// Why a server is not running.
pub(super) enum Rest {
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
enum Then {
    Start,
    /// It is started soon enough by itself.
    Wait,
    Refuse(Fault),
}

impl<L: Launcher> Supervisor<L> {
    /// Waits for a reason to start, or for the end.
    pub(super) async fn rest(&mut self, rest: Rest) -> Turn {
        self.enter_rest(&rest);
        loop {
            let command = match &rest {
                Rest::Restarting(_, _, at) | Rest::Failed(_, Some(at)) => tokio::select! {
                    command = self.commands.recv() => command,
                    () = sleep_until(*at) => return Turn::Start,
                },
                Rest::Asleep | Rest::Failed(_, None) | Rest::Stopped => self.commands.recv().await,
            };
            match command {
                None => return Turn::Closed(None),
                Some(Command::Close(done)) => return Turn::Closed(Some(done)),
                Some(Command::Call(call, exchange)) => match self.called(&rest) {
                    Then::Refuse(fault) => exchange.fail(fault),
                    then => {
                        self.wait(call, exchange);
                        if matches!(then, Then::Start) {
                            return Turn::Start;
                        }
                    }
                },
                Some(Command::Discover(done)) => match self.listed(&rest) {
                    Then::Refuse(_) => {
                        let _ = done.send(());
                    }
                    then => {
                        self.discovering.push(done);
                        if matches!(then, Then::Start) {
                            return Turn::Start;
                        }
                    }
                },
                Some(Command::Order(Order::Stop, done)) => {
                    let _ = done.send(Ok(()));
                    return Turn::Rest(Rest::Stopped);
                }
                Some(Command::Order(Order::Start | Order::Restart, done)) => {
                    self.ordering.push(done);
                    return Turn::Start;
                }
                Some(Command::Order(Order::Rest, done)) => {
                    let _ = done.send(Ok(()));
                }
            }
        }
    }

    fn enter_rest(&mut self, rest: &Rest) {
        match rest {
            Rest::Asleep => {
                self.failures = 0;
                self.show(Phase::Idle, None);
            }
            // The list stays while a restart is being tried.
            Rest::Restarting(..) => self.show(Phase::Starting, None),
            Rest::Failed(fault, _) => {
                self.show(Phase::Failed(fault.clone()), None);
                self.publish(None);
                self.refuse_all(fault);
            }
            Rest::Stopped => {
                self.show(Phase::Stopped, None);
                self.publish(None);
                self.refuse_all(&self.stopped());
            }
        }
    }

    /// Decides what becomes of a call. One starts a server that has failed at once, so that what was mended works; a flood
    /// of calls is told why it failed, and starts it seldom.
    fn called(&mut self, rest: &Rest) -> Then {
        let now = Instant::now();
        match rest {
            Rest::Asleep if self.is_manual() => {
                let reason =
                    "the config lets only an operator start it; use the servers_start tool".to_owned();
                Then::Refuse(Fault::NotRunning { server: self.shared.id.clone(), reason })
            }
            Rest::Asleep => Then::Start,
            Rest::Stopped => Then::Refuse(self.stopped()),
            // A short rest is waited out.
            Rest::Restarting(_, _, at) if *at <= now + SHORT_REST => Then::Wait,
            // A delay that somebody has set is kept.
            Rest::Restarting(fault, earliest, _) if *earliest > now => Then::Refuse(fault.clone()),
            Rest::Failed(fault, _) if self.is_manual() => Then::Refuse(fault.clone()),
            Rest::Failed(fault, _) | Rest::Restarting(fault, ..) => {
                match self.attempts.take(self.launcher.call_rest()) {
                    true => Then::Start,
                    false => Then::Refuse(fault.clone()),
                }
            }
        }
    }

    /// Decides what becomes of a list: it never waits for a server that has failed before (D4).
    fn listed(&mut self, rest: &Rest) -> Then {
        match rest {
            Rest::Failed(fault, _) => Then::Refuse(fault.clone()),
            Rest::Restarting(fault, ..) if self.failures > 0 => Then::Refuse(fault.clone()),
            Rest::Restarting(fault, _, at) if *at > Instant::now() + SHORT_REST => {
                Then::Refuse(fault.clone())
            }
            Rest::Restarting(..) => Then::Wait,
            Rest::Asleep | Rest::Stopped => self.called(rest),
        }
    }

    pub(super) fn is_manual(&self) -> bool {
        self.launcher.server().start == ServerStart::Manual
    }
}
