//! A server that is a local process: its pipes, its handshake, its end.

mod handshake;
mod shutdown;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manifold_config::{ABOVE, InheritEnv, ProcessDialect, ProcessSpec, Server};
use manifold_engine::{Host, TURN, busy_poll};
use manifold_protocol::framing::{Line, LineDecoder, triple_newline};
use manifold_protocol::{Era, Fault, Frames, Outgoing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::debug;

use crate::cache::Cache;
use crate::connection::Connection;
use crate::era::{self, Found, Plan};
use crate::litemcp;
use crate::logs::LogRing;
use crate::process::{
    Excess, ExitStatusInfo, InputGauge, Limits, ProcessControl, ProcessHost, ServerInput, ServerOutput,
    ServerProcess, SpawnCommand, StopGrace,
};
use crate::supervisor::{Ending, GivenUp, Launcher, Life, Running};
use handshake::{Handshake, Unmet};
pub(crate) use shutdown::Shutdowns;

const MAX_LOG_LINE_BYTES: usize = 64 << 10;
/// What a server may say beside the protocol within this time: 8 MiB a second.
const LOG_BURST_BYTES: usize = 64 << 10;
const LOG_BURST_TIME: Duration = Duration::from_millis(8);
/// How long after the end of its output a server may take to exit by itself.
const LAST_BREATH: Duration = Duration::from_millis(25);
/// How long a server may leave what we wrote unread before it is taken for dead.
const WRITE_PATIENCE: Duration = Duration::from_secs(60);

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

/// What is written at once.
const WRITE_BYTES: usize = 64 << 10;
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
                Err(Unmet::Failed(fault)) => return Err(fault),
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

    /// Has the process started, which takes no time on a machine that is well.
    async fn spawn(&self, deadline: Instant) -> Result<ServerProcess, Fault> {
        let spawning = self.processes.spawn(self.command());
        tokio::pin!(spawning);
        let spawned = tokio::select! {
            biased;
            spawned = timeout_at(deadline, &mut spawning) => spawned,
            () = self.shutdowns.given_up() => timeout(StopGrace::default().after_close, &mut spawning).await,
        };
        match spawned {
            Ok(Ok(process)) => Ok(process),
            Ok(Err(error)) => Err(self.failed(with_causes(&error))),
            Err(_) => Err(self.failed("the system did not start it in time".to_owned())),
        }
    }

    /// Puts command line and environment together (decision 30).
    fn command(&self) -> SpawnCommand {
        let inherits = |name: &OsString| {
            let Some(name) = name.to_str() else { return matches!(self.spec.inherit_env, InheritEnv::All) };
            match &self.spec.inherit_env {
                InheritEnv::All => !name.starts_with("MANIFOLD_"),
                InheritEnv::None => BASICS.contains(&name),
                InheritEnv::Only(names) => BASICS.contains(&name) || names.iter().any(|one| one == name),
            }
        };
        let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| inherits(name) && !self.spec.env.keys().any(|own| name == own.as_str()))
            .collect();
        env.extend(self.spec.env.iter().map(|(name, value)| (name.into(), value.expose().into())));
        // Ours to say, whatever else is passed on.
        env.retain(|(name, _)| name != ABOVE);
        if !self.above.is_empty() {
            env.push((ABOVE.into(), self.above.as_ref().into()));
        }
        SpawnCommand {
            program: self.spec.command.clone().into(),
            args: self.spec.args.iter().map(OsString::from).collect(),
            env,
            cwd: self.spec.cwd.clone(),
            limits: Limits { memory_mib: self.spec.memory_limit_mib, processes: self.spec.process_limit },
        }
    }

    pub(crate) fn failed(&self, reason: String) -> Fault {
        Fault::FailedToStart { server: self.server.key.id.clone(), reason }
    }
}

/// What a program needs to run at all; no secrets.
const BASICS: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

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

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

async fn read_messages(connection: Arc<Connection>, mut stdout: ServerOutput, limit_bytes: usize) {
    let mut lines = LineDecoder::new(limit_bytes);
    loop {
        connection.room().await;
        if fill(&mut lines, &mut stdout).await == 0 {
            break;
        }
        busy_poll::mark();
        let mut taken = 0_usize;
        while let Some(line) = lines.next() {
            connection.receive(line);
            taken += 1;
            if taken.is_multiple_of(TURN) && connection.has_only_client() {
                yield_now().await;
            }
        }
    }
    if let Some(line) = lines.finish() {
        connection.receive(line);
    }
    connection.fall_silent();
}

async fn read_log(logs: Arc<LogRing>, mut stderr: ServerOutput) {
    let take = |line| match line {
        Line::Whole(bytes) => logs.push(&bytes),
        Line::TooLong { head, .. } => logs.push(&head),
    };
    let mut lines = LineDecoder::new(MAX_LOG_LINE_BYTES);
    // One that floods its log is always read, but at a pace that leaves the processor to calls (F8).
    let (mut since, mut read) = (Instant::now(), 0);
    while let count @ 1.. = fill(&mut lines, &mut stderr).await {
        while let Some(line) = lines.next() {
            take(line);
        }
        read += count;
        if read >= LOG_BURST_BYTES {
            // Long past where so much took its time.
            sleep_until(since + LOG_BURST_TIME).await;
            (since, read) = (Instant::now(), 0);
        }
    }
    if let Some(line) = lines.finish() {
        take(line);
    }
}

/// Reads some of a pipe and returns how much; nothing at its end.
async fn fill(lines: &mut LineDecoder, pipe: &mut ServerOutput) -> usize {
    pipe.read_buf(lines.buffer()).await.unwrap_or(0)
}

/// Writes what the outbox holds, each message with its `end`.
async fn write_messages(
    connection: Arc<Connection>,
    mut stdin: ServerInput,
    end: &'static str,
    said_hello: Arc<AtomicBool>,
) {
    let mut batch: Vec<Outgoing> = Vec::new();
    let mut frames = Frames::default();
    while connection.outbox.take(&mut batch).await {
        let mut messages = batch.drain(..).peekable();
        while let Some(message) = messages.next() {
            // All that is ready goes in one write, up to a size.
            let mut bytes = message.len();
            frames.push_with(message, end);
            while let Some(more) = messages.next_if(|next| bytes + next.len() <= WRITE_BYTES) {
                bytes += more.len();
                frames.push_with(more, end);
            }
            match timeout(WRITE_PATIENCE, stdin.write_all_buf(&mut frames)).await {
                Ok(Ok(())) => {
                    said_hello.store(true, Ordering::Relaxed);
                    connection.outbox.written(bytes);
                }
                Ok(Err(_)) | Err(_) => {
                    connection.outbox.abandon();
                    return connection.fall_silent();
                }
            }
        }
    }
}
