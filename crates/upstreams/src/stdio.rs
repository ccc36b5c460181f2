//! A server that is a local process: its pipes, its handshake, its end.

mod command;
mod handover;
mod handshake;
mod pipes;
mod release;
mod shutdown;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use manifold_config::{InheritEnv, ProcessDialect, ProcessSpec, Server};
use manifold_engine::{Host, INHERIT_ADVICE};
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::framing::{Unfinished, triple_newline};
use manifold_protocol::{Era, Fault};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::debug;

use crate::cache::Cache;
use crate::connection::Connection;
use crate::era::{self, Found, Plan};
use crate::handover::SavedProcess;
use crate::litemcp;
use crate::logs::LogRing;
use crate::process::{
    Excess, ExitStatusInfo, InputGauge, ProcessControl, ProcessHost, ServerInput, ServerOutput,
    ServerProcess, StopGrace,
};
use crate::supervisor::{Ending, GivenUp, Launcher, Life, Running};
pub(crate) use handover::stop;
use handshake::{Handshake, Unmet};
use pipes::{Writing, decoder, read_log, read_messages};
pub(crate) use release::{Release, Released};
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
    pid: u32,
    control: ProcessControl,
    /// Reads what the server writes, to its end.
    readers: JoinSet<Released>,
    /// Writes to it, and ends with it.
    writer: JoinSet<Released>,
    _deadlines: JoinSet<()>,
    release: Arc<Release>,
    /// What stands behind each message to it.
    end_of_message: &'static str,
    logs: Arc<LogRing>,
}

/// What there is of a process before anybody serves it.
struct Streams {
    pid: u32,
    stdin: ServerInput,
    stdout: ServerOutput,
    stderr: Option<ServerOutput>,
    control: ProcessControl,
}

/// What the program whose place we took left half done.
struct Left {
    unread: Unfinished,
    unread_log: Unfinished,
    unwritten: Bytes,
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
        let ServerProcess { pid, stdin, stdout, stderr, control, .. } = self.spawn(deadline).await?;
        let gauge = InputGauge::of(&stdin).ok();
        let streams = Streams { pid, stdin, stdout, stderr: Some(stderr), control };
        let (life, said_hello) = self.serve(self.connection(), streams, None);
        Ok(Opened { pid, life, gauge, said_hello })
    }

    fn connection(&self) -> Arc<Connection> {
        Connection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.host),
            Arc::clone(&self.logs),
            self.limit_bytes,
        )
    }

    /// Starts everything that serves a process's pipes, from where another program stopped if one did.
    fn serve(
        &self,
        connection: Arc<Connection>,
        streams: Streams,
        left: Option<Left>,
    ) -> (Process, Arc<AtomicBool>) {
        let Streams { pid, stdin, stdout, stderr, control } = streams;
        let (unread, unread_log, unwritten) = match left {
            Some(left) => (Some(left.unread), Some(left.unread_log), left.unwritten),
            None => (None, None, Bytes::new()),
        };
        let (said_hello, release) = (Arc::new(AtomicBool::new(false)), Arc::<Release>::default());
        let (mut readers, mut writer, mut deadlines) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        let limit = self.limit_bytes;
        let (me, released) = (Arc::clone(&connection), Arc::clone(&release));
        let end_of_message = match self.spec.dialect {
            ProcessDialect::Mcp => {
                let lines = decoder(limit, unread);
                readers.spawn(read_messages(me, stdout, lines, released));
                "\n"
            }
            ProcessDialect::LiteMcp => {
                let messages = litemcp::decoder(limit, unread);
                readers.spawn(litemcp::read_messages(me, stdout, messages, released));
                triple_newline::TERMINATOR
            }
        };
        if let Some(stderr) = stderr {
            readers.spawn(read_log(Arc::clone(&self.logs), stderr, unread_log, Arc::clone(&release)));
        }
        let writing = Writing::new(Arc::clone(&connection), stdin, end_of_message, unwritten);
        writer.spawn(writing.write(Arc::clone(&said_hello), Arc::clone(&release)));
        deadlines.spawn(Arc::clone(&connection).keep_deadlines());
        let logs = Arc::clone(&self.logs);
        let life = Process {
            connection,
            pid,
            control,
            readers,
            writer,
            _deadlines: deadlines,
            release,
            end_of_message,
            logs,
        };
        (life, said_hello)
    }

    /// Adds what may be missing where the server has not all of the client's variables, as it has without a daemon.
    fn with_hint(&self, fault: Fault) -> Fault {
        match fault {
            Fault::FailedToStart { server, reason } if self.spec.inherit_env == InheritEnv::Named => {
                Fault::FailedToStart { server, reason: format!("{reason} ({INHERIT_ADVICE})") }
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
    const OUTLIVES_US: bool = true;

    async fn ended(&mut self) -> Ending {
        let status = tokio::select! {
            status = self.control.exit().wait() => status,
            // A dying server closes its output first; the word of its end follows at once.
            () = self.connection.silent() => match timeout(LAST_BREATH, self.control.exit().wait()).await {
                Ok(status) => status,
                Err(_) => return Ending::Silent,
            },
        };
        let code = match status {
            ExitStatusInfo::Code(code) => Some(code.into()),
            _ => None,
        };
        Ending::Exited { code, how: self.exited().await }
    }

    async fn suspend(self, said: &ServerFacts) -> Option<SavedProcess> {
        self.let_go(said).await
    }

    /// Its whole tree goes with it.
    async fn stop(mut self) {
        self.connection.outbox.close();
        self.control.stop(StopGrace::default()).await;
        read_out(&mut self.readers).await;
    }
}

/// Takes what a dead server left in its pipes: last answers, last words. Its tree is gone by then, so they end.
async fn read_out(readers: &mut JoinSet<Released>) {
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
