//! A server that is a local process: its pipes, its handshake, its end.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manifold_config::{InheritEnv, ProcessSpec, Server};
use manifold_engine::Host;
use manifold_protocol::dialect::{ServerFacts, legacy};
use manifold_protocol::framing::{Line, LineDecoder};
use manifold_protocol::{Failure, Fault, Method, Raw, Revision, notification};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::warn;

use crate::connection::Connection;
use crate::logs::LogRing;
use crate::process::{
    Excess, ExitStatusInfo, Limits, ProcessControl, ProcessHost, ServerProcess, SpawnCommand, StopGrace,
};
use crate::supervisor::{Ending, Launcher, Life, Running};

/// Decision 17: stdin closed, half a second, SIGTERM, a second, SIGKILL.
const GRACE: StopGrace =
    StopGrace { after_close: Duration::from_millis(500), after_term: Duration::from_secs(1) };
const MAX_LOG_LINE_BYTES: usize = 64 << 10;
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
    pub(crate) limit_bytes: usize,
}

/// A running process. Dropping it kills the whole process tree.
pub(crate) struct Process {
    connection: Arc<Connection>,
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

    /// Starts the process and shakes hands, within the server's start timeout.
    async fn launch(&self) -> Result<Running<Process>, Fault> {
        let deadline = Instant::now() + self.server.start_timeout;
        self.logs.new_life();
        let process = match timeout_at(deadline, self.processes.spawn(self.command())).await {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => return Err(self.failed(with_causes(&error))),
            Err(_) => return Err(self.failed("the system did not start it in time".to_owned())),
        };
        let connection = Connection::new(
            Arc::clone(&self.server),
            Arc::clone(&self.host),
            Arc::clone(&self.logs),
            self.limit_bytes,
        );
        let ServerProcess { pid, stdin, stdout, stderr, exit, control, .. } = process;
        let mut readers = JoinSet::new();
        readers.spawn(read_messages(Arc::clone(&connection), stdout, self.limit_bytes));
        readers.spawn(read_log(Arc::clone(&self.logs), stderr));
        let mut others = JoinSet::new();
        others.spawn(write_messages(Arc::clone(&connection), stdin));
        others.spawn(Arc::clone(&connection).keep_deadlines());

        let said = tokio::select! {
            said = self.handshake(&connection) => said,
            status = exit.wait() => {
                read_out(&mut readers).await;
                connection.close("it ended during the handshake");
                Err(self.failed(format!("it ended during the handshake {}", ending(status, &self.logs))))
            }
        };
        let life = Process {
            connection: Arc::clone(&connection),
            control,
            readers,
            _others: others,
            logs: Arc::clone(&self.logs),
        };
        match said {
            Ok(said) => Ok(Running { connection, said, pid: Some(pid), life }),
            Err(fault) => {
                life.stop().await;
                Err(fault)
            }
        }
    }
}

impl Launch {
    async fn handshake(&self, connection: &Arc<Connection>) -> Result<ServerFacts, Fault> {
        let facts = self.host.client_facts();
        let mut capabilities = facts.capabilities.object().unwrap_or_default();
        if !self.server.roots.is_empty() {
            capabilities.set("roots", Raw::from_static("{}"));
        }
        let params = legacy::initialize_params(facts.revision, &capabilities.into_raw(), &facts.info);
        let patience = self.server.start_timeout;
        let result = match connection.request(Method::Initialize, Some(params), patience).await {
            Ok(result) => result,
            Err(Failure::Peer(error)) => {
                return Err(self.failed(format!("it refused the handshake: {}", error.as_str())));
            }
            Err(Failure::Fault(Fault::TimedOut { .. })) => {
                let log = self.logs.tail().map(|tail| format!("; its log: {tail}")).unwrap_or_default();
                let waited = patience.as_millis();
                return Err(self.failed(format!("no answer to the handshake within {waited} ms{log}")));
            }
            Err(Failure::Fault(Fault::Malformed { reason, .. })) => {
                return Err(self.failed(format!("its answer to the handshake cannot be read: {reason}")));
            }
            Err(Failure::Fault(fault)) => return Err(self.failed(fault.message())),
        };
        let Some(said) = legacy::read_initialize_result(&result) else {
            return Err(self.failed("its answer to the handshake has no protocolVersion".to_owned()));
        };
        if Revision::parse(&said.revision).is_none() {
            warn!(server = %self.server.key.id, revision = %said.revision, "the server speaks a revision we do not know");
        }
        connection.notify(notification::INITIALIZED, None);
        connection.repeat_standing(&said.capabilities);
        Ok(said)
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
        SpawnCommand {
            program: self.spec.command.clone().into(),
            args: self.spec.args.iter().map(OsString::from).collect(),
            env,
            cwd: self.spec.cwd.clone(),
            limits: Limits { memory_mib: self.spec.memory_limit_mib, processes: self.spec.process_limit },
        }
    }

    fn failed(&self, reason: String) -> Fault {
        Fault::FailedToStart { server: self.server.key.id.clone(), reason }
    }
}

/// What a program needs to run at all; no secrets.
const BASICS: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

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
        read_out(&mut self.readers).await;
        Ending::Exited { clean: status == ExitStatusInfo::Code(0), how: ending(status, &self.logs) }
    }

    /// Its whole tree goes with it.
    async fn stop(mut self) {
        self.connection.outbox.close();
        self.control.stop(GRACE).await;
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

async fn read_messages(connection: Arc<Connection>, stdout: pipe::Receiver, limit_bytes: usize) {
    read_lines(stdout, limit_bytes, |line| connection.receive(line)).await;
    connection.fall_silent();
}

async fn read_log(logs: Arc<LogRing>, stderr: pipe::Receiver) {
    read_lines(stderr, MAX_LOG_LINE_BYTES, |line| match line {
        Line::Whole(bytes) => logs.push(&bytes),
        Line::TooLong { head, .. } => logs.push(&head),
    })
    .await;
}

/// Reads lines to the end of a pipe.
async fn read_lines(mut pipe: pipe::Receiver, limit_bytes: usize, mut take: impl FnMut(Line)) {
    let mut lines = LineDecoder::new(limit_bytes);
    while matches!(pipe.read_buf(lines.buffer()).await, Ok(count) if count > 0) {
        while let Some(line) = lines.next() {
            take(line);
        }
    }
    if let Some(line) = lines.finish() {
        take(line);
    }
}

async fn write_messages(connection: Arc<Connection>, mut stdin: pipe::Sender) {
    let mut batch: Vec<Bytes> = Vec::new();
    while connection.outbox.take(&mut batch).await {
        for message in batch.drain(..) {
            let deadline = Instant::now() + WRITE_PATIENCE;
            let whole = async {
                stdin.write_all(&message).await?;
                stdin.write_all(b"\n").await
            };
            match timeout_at(deadline, whole).await {
                Ok(Ok(())) => connection.outbox.written(message.len()),
                Ok(Err(_)) | Err(_) => {
                    connection.outbox.abandon();
                    return connection.fall_silent();
                }
            }
        }
    }
}
