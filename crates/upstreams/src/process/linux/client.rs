//! The gateway's side: starts the guard, asks it for keepers, and asks keepers for servers.

mod guard;
mod owner;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;

use manifold_guard::wire::{Failure, Report, Step};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

use super::cgroup::{Cgroups, ServerCgroup};
use super::link::ProcessControl;
use super::pipes::{ServerInput, ServerOutput};
use super::program::GuardProgram;
use super::saved::{SavedHost, SavedKeeper};
use super::{orphans, request, unix};
use crate::process::{ServerProcess, SpawnCommand, SpawnError};
use guard::Guard;
use owner::Owner;

/// Room for a burst of messages before the other side has to be scheduled. A server may have less: it only is slower.
const PIPE_BYTES: i32 = 256 << 10;

/// How many spawns may wait while the guard starts.
const MAX_WAITING: usize = 64;

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
    /// Let go of the guard, for whoever takes our place.
    Suspend(oneshot::Sender<io::Result<SavedHost>>),
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

    /// Goes on with the guard of the program whose place we took.
    pub fn resume(saved: SavedHost) -> (Self, impl Future<Output = ()> + Send + 'static) {
        orphans::set_owns_all(saved.owns_orphans);
        let cgroups = Cgroups::resume(saved.cgroups);
        // One that cannot be had ends when its door closes; the next start makes another.
        let guard = saved.guard.and_then(|guard| Guard::take_over(guard).ok());
        let (sender, requests) = mpsc::channel(MAX_WAITING);
        let owner = Owner::new(GuardProgram::Carried, requests, cgroups.clone());
        (Self { requests: sender, cgroups }, owner.with_guard(guard, saved.generation).run())
    }

    /// Lets go of the guard, which lives on with its servers for whoever takes our place. Nothing starts or ends here any
    /// more.
    pub async fn suspend(&self) -> io::Result<SavedHost> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.requests.send(Request::Suspend(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Takes over a server of the program whose place we took.
    pub fn take_over(&self, keeper: SavedKeeper) -> io::Result<ProcessControl> {
        ProcessControl::take_over(keeper, &self.cgroups, self.clone())
    }

    fn with(program: GuardProgram, cgroups: Cgroups) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (sender, requests) = mpsc::channel(MAX_WAITING);
        let owner = Owner::new(program, requests, cgroups.clone());
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
