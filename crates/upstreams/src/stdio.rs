//! A server that is a local process: its pipes, its handshake, its end.

mod command;
mod handshake;
mod pipes;
mod shutdown;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manifold_config::{InheritEnv, ProcessDialect, ProcessSpec, Server};
use manifold_engine::Host;
use manifold_protocol::framing::triple_newline;
use manifold_protocol::{Era, Fault};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::debug;

use crate::cache::Cache;
use crate::connection::Connection;
use crate::era::{self, Found, Plan};
use crate::litemcp;
use crate::logs::LogRing;
use crate::process::{
    Excess, ExitStatusInfo, InputGauge, ProcessControl, ProcessHost, ServerProcess, StopGrace,
};
use crate::supervisor::{Ending, GivenUp, Launcher, Life, Running};
use handshake::{Handshake, Unmet};
use pipes::{read_log, read_messages, write_messages};
pub(crate) use shutdown::Shutdowns;

/// How long after the end of its output a server may take to exit by itself.
const LAST_BREATH: Duration = Duration::from_millis(25);

/// What it takes to start a server.
pub(crate) struct Launch {
    pub(crate) server: Arc<Server>,
    pub(crate) spec: ProcessSpec,
    pub(crate) processes: ProcessHost,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) logs: Arc<LogRing>,
    pub(crate) cache: Cache,
    pub(crate) limit_bytes: usize,
    /// The mark a gateway among our servers knows us by; empty for none.
    pub(crate) above: Arc<str>,
    /// Processes that could not be met, or are not wanted any more.
    pub(crate) shutdowns: Shutdowns,
}

/// Starts within one launch: a server that goes at the wrong greeting is started again for the right one.
const MAX_STARTS: usize = 3;

/// A process that has been started and not yet spoken to.
pub(crate) struct Opened {
    pub(crate) pid: u32,
    pub(crate) life: Process,
    gauge: Option<InputGauge>,
    said_hello: Arc<AtomicBool>,
}

/// A running process. Dropping it kills the whole process tree.
pub(crate) struct Process {
    pub(crate) connection: Arc<Connection>,
    control: ProcessControl,
    /// Reads what the server writes, to its end.
    readers: JoinSet<()>,
    /// Writer and deadlines; dropped with the server.
    _others: JoinSet<()>,
    logs: Arc<LogRing>,
}

impl Launcher for Launch {
    type Life = Process;

    fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    fn logs(&self) -> &Arc<LogRing> {
        &self.logs
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Starts the process and shakes hands, within the server's start timeout.
    async fn launch(&self) -> Result<Running<Process>, Fault> {
        self.shutdowns.begin();
        // There is never more than one process of a server.
        self.shutdowns.gone().await;
        let deadline = Instant::now() + self.server.start_timeout;
        if self.spec.dialect == ProcessDialect::LiteMcp {
            return litemcp::start(self, deadline).await;
        }
        let mut plan = Plan::of(&self.server, &self.cache);
        for _ in 0..MAX_STARTS {
            match self.start(plan, deadline).await {
                Ok(running) => return Ok(running),
                Err(Unmet::Failed(fault)) => return Err(self.with_hint(fault)),
                Err(Unmet::Again(_)) if self.shutdowns.is_given_up() => return Err(Fault::ShuttingDown),
                Err(Unmet::Again(next)) => {
                    debug!(server = %self.server.key.id, ?plan, ?next, "it did not understand; restarting");
                    match next {
                        // Its own word: true however this start ends.
                        Plan::Only(Era::Modern) => era::learn(&self.cache, &self.server, next, Found::Modern),
                        _ => self.cache.forget_era(&self.server),
                    }
                    plan = next;
                }
            }
        }
        Err(self.failed("it understands no greeting, old or new".to_owned()))
    }

    fn give_up(&self) -> GivenUp {
        self.shutdowns.give_up();
        GivenUp::EndsByItself
    }

    async fn gone(&self) {
        self.shutdowns.gone().await;
    }
}

impl Launch {
    /// Starts the process once and shakes hands by this plan.
    async fn start(&self, plan: Plan, deadline: Instant) -> Result<Running<Process>, Unmet> {
        let Opened { pid, mut life, gauge, said_hello } = self.open(deadline).await.map_err(Unmet::Failed)?;
        let connection = Arc::clone(&life.connection);
        let handshake = Handshake {
            server: &self.server,
            host: &self.host,
            logs: &self.logs,
            connection: &connection,
            deadline,
        };
        let met = {
            let shaking = handshake.shake(plan);
            tokio::pin!(shaking);
            tokio::select! {
                met = &mut shaking => met,
                () = self.shutdowns.given_up() => Err(Unmet::Failed(Fault::ShuttingDown)),
                _ = life.control.exit().wait() => {
                    let how = life.exited().await;
                    // One that never looked at its input did not go for what we said.
                    let heard_us = said_hello.load(Ordering::Relaxed)
                        && gauge.as_ref().is_none_or(|gauge| gauge.unread_bytes() == 0);
                    connection.close("it ended during the handshake");
                    match shaking.await {
                        // Its last word, or its end itself, says how it wants to be met.
                        Err(Unmet::Again(next)) if heard_us || next == Plan::Only(Era::Modern) => {
                            Err(Unmet::Again(next))
                        }
                        _ => Err(Unmet::Failed(self.failed(format!("it ended during the handshake {how}")))),
                    }
                }
            }
        };
        // It would keep the server's input open.
        drop(gauge);
        match met {
            Ok((found, said)) => {
                era::learn(&self.cache, &self.server, plan, found);
                Ok(Running { connection, said, pid: Some(pid), life })
            }
            // Callers hear of it at once, not when a stubborn process has gone (F3).
            Err(failed @ Unmet::Failed(_)) => {
                self.shutdowns.see_off(life.stop());
                Err(failed)
            }
            Err(again) => {
                life.stop().await;
                Err(again)
            }
        }
    }

    /// Starts the process and everything that serves its pipes.
    pub(crate) async fn open(&self, deadline: Instant) -> Result<Opened, Fault> {
        self.logs.new_life();
        let process = self.spawn(deadline).await?;
        let connection = Connection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.host),
            Arc::clone(&self.logs),
            self.limit_bytes,
        );
        let ServerProcess { pid, stdin, stdout, stderr, control, .. } = process;
        let gauge = InputGauge::of(&stdin).ok();
        let said_hello = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        let end = match self.spec.dialect {
            ProcessDialect::Mcp => {
                readers.spawn(read_messages(Arc::clone(&connection), stdout, self.limit_bytes));
                "\n"
            }
            ProcessDialect::LiteMcp => {
                readers.spawn(litemcp::read_messages(Arc::clone(&connection), stdout, self.limit_bytes));
                triple_newline::TERMINATOR
            }
        };
        readers.spawn(read_log(Arc::clone(&self.logs), stderr));
        let mut others = JoinSet::new();
        others.spawn(write_messages(Arc::clone(&connection), stdin, end, Arc::clone(&said_hello)));
        others.spawn(Arc::clone(&connection).keep_deadlines());
        let life = Process { connection, control, readers, _others: others, logs: Arc::clone(&self.logs) };
        Ok(Opened { pid, life, gauge, said_hello })
    }

    /// Adds what may be missing where the server has not all of the client's variables, as it has without a daemon.
    fn with_hint(&self, fault: Fault) -> Fault {
        match fault {
            Fault::FailedToStart { server, reason } if self.spec.inherit_env == InheritEnv::Named => {
                let hint = "under the daemon it has only the variables its definition names: should it need others, \
                            list them in its `inheritEnv`";
                Fault::FailedToStart { server, reason: format!("{reason} ({hint})") }
            }
            fault => fault,
        }
    }

    pub(crate) fn failed(&self, reason: String) -> Fault {
        Fault::FailedToStart { server: self.server.key.id.clone(), reason }
    }
}

impl Process {
    /// Waits for the end of the process and its last words, and says how it came.
    pub(crate) async fn exited(&mut self) -> String {
        let status = self.control.exit().wait().await;
        read_out(&mut self.readers).await;
        ending(status, &self.logs)
    }
}

impl Life for Process {
    async fn ended(&mut self) -> Ending {
        let status = tokio::select! {
            status = self.control.exit().wait() => status,
            // A dying server closes its output first; the word of its end follows at once.
            () = self.connection.silent() => match timeout(LAST_BREATH, self.control.exit().wait()).await {
                Ok(status) => status,
                Err(_) => return Ending::Silent,
            },
        };
        Ending::Exited { clean: status == ExitStatusInfo::Code(0), how: self.exited().await }
    }

    /// Its whole tree goes with it.
    async fn stop(mut self) {
        self.connection.outbox.close();
        self.control.stop(StopGrace::default()).await;
        read_out(&mut self.readers).await;
    }
}

/// Takes what a dead server left in its pipes: last answers, last words. Its tree is gone by then, so they end.
async fn read_out(readers: &mut JoinSet<()>) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while let Ok(Some(_)) = timeout_at(deadline, readers.join_next()).await {}
}

fn ending(status: ExitStatusInfo, logs: &LogRing) -> String {
    let how = match status {
        ExitStatusInfo::Code(code) => format!("with exit code {code}"),
        ExitStatusInfo::Signal(signal) => format!("by signal {signal}"),
        ExitStatusInfo::Over(Excess::Memory) => "because it used more than its `memoryLimit`".to_owned(),
        ExitStatusInfo::Over(Excess::Processes) => {
            "because it had more processes than its `processLimit`".to_owned()
        }
        ExitStatusInfo::Lost => "for unknown reasons".to_owned(),
    };
    match logs.tail() {
        Some(tail) => format!("{how}; its log: {tail}"),
        None => how,
    }
}
