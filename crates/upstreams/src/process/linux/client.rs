//! The gateway's side: starts the guard, asks it for keepers, and asks keepers for servers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::time::Duration;

use manifold_guard::MARKER;
use manifold_guard::wire::{Failure, Report, Step};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::prctl;
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::cgroup::{Cgroups, ServerCgroup};
use super::link::ProcessControl;
use super::orphans::Orphans;
use super::pipes::{ServerInput, ServerOutput};
use super::program::GuardProgram;
use super::{request, unix};
use crate::process::{ServerProcess, SpawnCommand, SpawnError};

/// Room for a burst of messages before the other side has to be scheduled. A server may have less: it only is slower.
const PIPE_BYTES: i32 = 256 << 10;

/// How many spawns may wait while the guard starts.
const MAX_WAITING: usize = 64;

/// How long the guard may take over its end.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Starts server processes. A handle: clones share one guard.
#[derive(Clone, Debug)]
pub struct ProcessHost {
    requests: mpsc::Sender<Request>,
    cgroups: Cgroups,
}

/// What the guard's owner is asked for.
#[derive(Debug)]
enum Request {
    Open(Opening),
    /// Start nothing more, end everything, and tell when that is done.
    Finish(oneshot::Sender<()>),
}

/// A keeper to be started.
#[derive(Debug)]
struct Opening {
    /// Its end of the socket, in which the request is waiting.
    theirs: StdUnixStream,
    /// Told when the guard has it.
    reply: oneshot::Sender<Result<(), SpawnError>>,
}

impl ProcessHost {
    /// Returns a host and the future that owns the guard, to be run by the caller as a task.
    ///
    /// Nothing is started before the first server. The future ends when all handles are gone, and every process with
    /// it; if it is dropped before, all processes end just the same.
    pub fn new() -> (Self, impl Future<Output = ()> + Send + 'static) {
        Self::with(GuardProgram::Carried, Cgroups::below_ours())
    }

    /// Like [`new`](Self::new), with another program whose `main` begins with `guard_main_if_asked`.
    pub fn with_guard_program(program: PathBuf) -> (Self, impl Future<Output = ()> + Send + 'static) {
        Self::with(GuardProgram::At(program), Cgroups::below_ours())
    }

    /// Like [`new`](Self::new), with cgroups in this folder, or without any.
    pub fn with_cgroups_in(place: Option<PathBuf>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        Self::with(GuardProgram::Carried, Cgroups::at(place))
    }

    fn with(program: GuardProgram, cgroups: Cgroups) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, requests) = mpsc::channel(MAX_WAITING);
        let owner = Owner { program, requests, cgroups: cgroups.clone(), guard: None, generation: 0 };
        (Self { requests: sender, cgroups }, owner.run())
    }

    /// Starts a server. If this future is dropped, so is the server.
    pub async fn spawn(&self, command: SpawnCommand) -> Result<ServerProcess, SpawnError> {
        let request = request::encode(&command)?;
        // A guard that died this instant takes the first request with it; the second goes to its successor.
        match self.try_spawn(&request, &command).await {
            Err(SpawnError::Guard(_)) => self.try_spawn(&request, &command).await,
            other => other,
        }
    }

    /// Ends the guard and all that is left below it, and waits for that: what a server hides or detaches from its keeper
    /// would fall to others once we are gone ourselves.
    pub async fn finish(&self) {
        let (done, finished) = oneshot::channel();
        if self.requests.send(Request::Finish(done)).await.is_ok() {
            let _ = finished.await;
        }
    }

    async fn try_spawn(&self, request: &[u8], command: &SpawnCommand) -> Result<ServerProcess, SpawnError> {
        let pipes = Pipes::open()
            .map_err(|source| SpawnError::Failed { program: command.program.clone(), source })?;
        let (ours, theirs) = StdUnixStream::pair().map_err(SpawnError::Guard)?;
        // All that fits is in the socket before anybody is at its other end: the keeper finds it there.
        ours.set_nonblocking(true).map_err(SpawnError::Guard)?;
        let cgroup = self.cgroups.make();
        let begun = begin(&ours, request, &pipes.theirs, cgroup.as_ref()).map_err(SpawnError::Guard)?;
        drop(pipes.theirs);
        self.open(theirs).await?;
        let mut stream = UnixStream::from_std(ours).map_err(SpawnError::Guard)?;
        // A refusal may arrive before all is sent, so the answer is read either way.
        let sent = stream.write_all(&request[begun..]).await;
        let mut report = [0; Report::BYTES];
        let pid = match stream.read_exact(&mut report).await.map(|_| Report::decode(report)) {
            Ok(Some(Report::Spawned { pid })) => pid,
            Ok(Some(Report::Failed(failure))) => return Err(refused(failure, command)),
            Ok(_) => return Err(SpawnError::Guard(io::ErrorKind::InvalidData.into())),
            Err(error) => return Err(SpawnError::Guard(sent.err().unwrap_or(error))),
        };
        let control = ProcessControl::new(stream, cgroup, self.clone());
        let exit = control.exit().clone();
        Ok(ServerProcess {
            pid,
            stdin: ServerInput(pipes.stdin),
            stdout: ServerOutput(pipes.stdout),
            stderr: ServerOutput(pipes.stderr),
            exit,
            control,
        })
    }

    async fn open(&self, theirs: StdUnixStream) -> Result<(), SpawnError> {
        let (reply, answer) = oneshot::channel();
        let opening = Request::Open(Opening { theirs, reply });
        self.requests.send(opening).await.map_err(|_| SpawnError::ShuttingDown)?;
        answer.await.map_err(|_| SpawnError::ShuttingDown)?
    }
}

/// The one task that has the guard.
struct Owner {
    program: GuardProgram,
    requests: mpsc::Receiver<Request>,
    cgroups: Cgroups,
    guard: Option<Guard>,
    generation: u32,
}

impl Owner {
    async fn run(mut self) {
        loop {
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(Request::Open(Opening { theirs, reply })) => {
                        let opened = self.open_keeper(&theirs).await;
                        drop(theirs);
                        let _ = reply.send(opened.map_err(SpawnError::Guard));
                    }
                    Some(Request::Finish(done)) => {
                        self.requests.close();
                        self.end_guard().await;
                        let _ = done.send(());
                    }
                    None => break,
                },
                () = death_of(&mut self.guard) => self.bury_guard().await,
                () = self.cgroups.tend() => {}
            }
        }
        self.end_guard().await;
    }

    async fn open_keeper(&mut self, theirs: &StdUnixStream) -> io::Result<()> {
        if let Some(guard) = &self.guard {
            match guard.open_keeper(theirs).await {
                Err(_) => self.bury_guard().await,
                opened => return opened,
            }
        }
        self.generation += 1;
        let guard = Guard::start(&self.program, self.generation)?;
        self.guard.insert(guard).open_keeper(theirs).await
    }

    async fn end_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.end().await;
        }
        self.cgroups.clear().await;
    }

    async fn bury_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.bury().await;
            // Those whom nothing but their cgroup tells from others'.
            self.cgroups.kill_all();
        }
    }
}

impl Drop for Owner {
    /// Whoever drops it early waits for nothing.
    fn drop(&mut self) {
        self.cgroups.close();
    }
}

async fn death_of(guard: &mut Option<Guard>) {
    match guard {
        Some(guard) => drop(guard.child.wait().await),
        None => std::future::pending().await,
    }
}

struct Guard {
    /// Closed with us, however we end; the guard then kills all that is left.
    door: UnixStream,
    child: Child,
    pid: Pid,
    /// Our word in the variable that marks its servers.
    marker: String,
}

impl Guard {
    fn start(program: &GuardProgram, generation: u32) -> io::Result<Self> {
        // Should guard and keepers die together, the servers fall to us.
        prctl::set_child_subreaper(true)?;
        let (door, theirs) = StdUnixStream::pair()?;
        let marker = format!("{}-{generation}", std::process::id());
        let mut trees = std::env::var_os(MARKER).unwrap_or_default();
        if !trees.is_empty() {
            trees.push(":");
        }
        trees.push(&marker);
        let child = program.start(&theirs.into(), &trees)?;
        let pid = child.id().ok_or(io::ErrorKind::NotFound)?;
        tracing::debug!(pid, "guard started");
        door.set_nonblocking(true)?;
        let door = UnixStream::from_std(door)?;
        Ok(Self { door, child, pid: Pid::from_raw(pid.cast_signed()), marker })
    }

    async fn open_keeper(&self, theirs: &StdUnixStream) -> io::Result<()> {
        let send = || unix::send_with_descriptors(&self.door, &[0], &[theirs.as_fd()]);
        let sent = match send() {
            // The guard has yet to take those before.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.door.async_io(Interest::WRITABLE, send).await
            }
            sent => sent,
        };
        sent.map(drop)
    }

    /// Ends the guard, and with it all that it started.
    async fn end(self) {
        let Self { door, mut child, pid, marker } = self;
        drop(door);
        if timeout(END_PATIENCE, child.wait()).await.is_err() {
            // It is stopped, say, and cannot do its work.
            let _ = child.kill().await;
        }
        // It may have been killed just now, and a keeper with it.
        Orphans { guard: pid, marker: &marker }.end().await;
    }

    /// Clears up after a guard that died: waits for its keepers and kills who lost his.
    async fn bury(mut self) {
        tracing::warn!(pid = self.pid.as_raw(), "the guard died; all its servers end");
        // It may have failed without dying, and is of no use then.
        let _ = self.child.kill().await;
        Orphans { guard: self.pid, marker: &self.marker }.end().await;
    }
}

/// The three pipes of a server: our ends, and the ones to give away.
struct Pipes {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    theirs: [OwnedFd; 3],
}

impl Pipes {
    fn open() -> io::Result<Self> {
        let (their_stdin, stdin) = io::pipe()?;
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = io::pipe()?;
        for enlarged in [stdin.as_fd(), stdout.as_fd()] {
            let _ = fcntl(enlarged, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        }
        Ok(Self {
            stdin: pipe::Sender::from_owned_fd(stdin.into())?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
            theirs: [their_stdin.into(), their_stdout.into(), their_stderr.into()],
        })
    }
}

fn begin(
    stream: &StdUnixStream,
    request: &[u8],
    descriptors: &[OwnedFd; 3],
    cgroup: Option<&ServerCgroup>,
) -> io::Result<usize> {
    let cgroup = cgroup.map(|cgroup| cgroup.folder().as_fd());
    let all: Vec<_> = descriptors.iter().map(AsFd::as_fd).chain(cgroup).collect();
    unix::send_with_descriptors(stream, request, &all)
}

fn refused(failure: Failure, command: &SpawnCommand) -> SpawnError {
    let (program, cwd) = (command.program.clone(), command.cwd.clone().unwrap_or_default());
    match (failure.step, Errno::from_raw(failure.errno)) {
        (Step::Directory, _) => SpawnError::WorkingDirectory { cwd },
        (Step::Interpreter, _) => SpawnError::MissingInterpreter { program },
        (Step::Search | Step::Start, Errno::EACCES | Errno::EPERM) => {
            SpawnError::PermissionDenied { program }
        }
        (Step::Search, _) => SpawnError::NotFound { program },
        (Step::Start, Errno::E2BIG) => SpawnError::TooLarge { program },
        (Step::Start, errno) => SpawnError::Failed { program, source: errno.into() },
    }
}
