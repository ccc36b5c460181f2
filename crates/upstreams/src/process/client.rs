//! The gateway's side: starts the guard, asks it for keepers, and asks keepers for servers.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getsid};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::guard::{GUARD_ARG, GUARD_NAME, MARKER};
use super::link::ProcessControl;
use super::unix::{self, Wait};
use super::wire::{self, Report};
use super::{ServerProcess, SpawnCommand, SpawnError, lookup, tree};

/// Room for a burst of messages before the other side has to be scheduled. A server may have less: it only is slower.
const PIPE_BYTES: i32 = 256 << 10;

/// How many spawns may wait while the guard starts.
const MAX_WAITING: usize = 64;

/// How long the guard may take over its end, and keepers over theirs when it died.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Starts server processes. A handle: clones share one guard.
#[derive(Clone, Debug)]
pub struct ProcessHost {
    openings: mpsc::Sender<Opening>,
    /// Programs are looked up one after the other, which takes one thread instead of one per server.
    lookups: Arc<Mutex<()>>,
}

/// Where to put the gateway's end of the socket to a new keeper.
type Opening = oneshot::Sender<Result<UnixStream, SpawnError>>;

impl ProcessHost {
    /// Returns a host and the future that owns the guard, to be run by the caller as a task.
    ///
    /// Nothing is started before the first server. The future ends when all handles are gone, and every process with
    /// it; if it is dropped before, all processes end just the same.
    pub fn new() -> (Self, impl Future<Output = ()> + Send + 'static) {
        Self::with_guard_program("/proc/self/exe".into())
    }

    /// Like [`new`](Self::new), with another program whose `main` begins with `guard_main_if_asked`.
    pub fn with_guard_program(program: PathBuf) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (openings, requests) = mpsc::channel(MAX_WAITING);
        let owner = Owner { program, requests, guard: None, generation: 0 };
        (Self { openings, lookups: Arc::default() }, owner.run())
    }

    /// Starts a server. If this future is dropped, so is the server.
    pub async fn spawn(&self, command: SpawnCommand) -> Result<ServerProcess, SpawnError> {
        let (path, command) = self.look_up(command).await?;
        let request = wire::encode_request(&path, &command);
        if request.len() > wire::MAX_REQUEST_BYTES {
            return Err(SpawnError::TooLarge { program: command.program });
        }
        // A guard that died this instant takes the first request with it; the second goes to its successor.
        match self.try_spawn(&request, &command).await {
            Err(SpawnError::Guard(_)) => self.try_spawn(&request, &command).await,
            other => other,
        }
    }

    /// Finds the program, on a thread of its own: `PATH` may lead to slow places.
    async fn look_up(&self, command: SpawnCommand) -> Result<(PathBuf, SpawnCommand), SpawnError> {
        let _turn = self.lookups.lock().await;
        let found =
            tokio::task::spawn_blocking(move || lookup::resolve(&command).map(|path| (path, command)));
        found.await.map_err(|_| SpawnError::ShuttingDown)?
    }

    async fn try_spawn(&self, request: &[u8], command: &SpawnCommand) -> Result<ServerProcess, SpawnError> {
        let pipes = Pipes::open()
            .map_err(|source| SpawnError::Failed { program: command.program.clone(), source })?;
        let mut stream = self.open().await?;
        // A refusal may arrive before all is sent, so the answer is read either way.
        let sent = send(&mut stream, request, &pipes.theirs).await;
        drop(pipes.theirs);
        let mut report = [0; Report::BYTES];
        let pid = match stream.read_exact(&mut report).await.map(|_| Report::decode(report)) {
            Ok(Some(Report::Spawned { pid })) => pid,
            Ok(Some(Report::Failed { errno })) => return Err(refused(errno, command)),
            Ok(_) => return Err(SpawnError::Guard(io::ErrorKind::InvalidData.into())),
            Err(error) => return Err(SpawnError::Guard(sent.err().unwrap_or(error))),
        };
        let control = ProcessControl::new(stream, self.clone());
        let exit = control.exit().clone();
        Ok(ServerProcess {
            pid,
            stdin: pipes.stdin,
            stdout: pipes.stdout,
            stderr: pipes.stderr,
            exit,
            control,
        })
    }

    async fn open(&self) -> Result<UnixStream, SpawnError> {
        let (reply, answer) = oneshot::channel();
        self.openings.send(reply).await.map_err(|_| SpawnError::ShuttingDown)?;
        answer.await.map_err(|_| SpawnError::ShuttingDown)?
    }
}

/// The one task that has the guard.
struct Owner {
    program: PathBuf,
    requests: mpsc::Receiver<Opening>,
    guard: Option<Guard>,
    generation: u32,
}

impl Owner {
    async fn run(mut self) {
        loop {
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(reply) => drop(reply.send(self.open_keeper().await.map_err(SpawnError::Guard))),
                    None => break,
                },
                () = death_of(&mut self.guard) => self.bury_guard().await,
            }
        }
        if let Some(Guard { door, mut child, .. }) = self.guard.take() {
            drop(door);
            let _ = timeout(END_PATIENCE, child.wait()).await;
        }
    }

    async fn open_keeper(&mut self) -> io::Result<UnixStream> {
        if let Some(guard) = &self.guard {
            match guard.open_keeper().await {
                Err(_) => self.bury_guard().await,
                opened => return opened,
            }
        }
        self.start_guard().await?.open_keeper().await
    }

    async fn start_guard(&mut self) -> io::Result<&mut Guard> {
        self.generation += 1;
        let (program, generation) = (self.program.clone(), self.generation);
        // It returns when the kernel has loaded the program, which serves nobody meanwhile.
        let started = tokio::task::spawn_blocking(move || Guard::start(&program, generation));
        Ok(self.guard.insert(started.await.map_err(io::Error::other)??))
    }

    async fn bury_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.bury().await;
        }
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
    fn start(program: &PathBuf, generation: u32) -> io::Result<Self> {
        // Should guard and keepers die together, the servers fall to us.
        prctl::set_child_subreaper(true)?;
        let (door, theirs) = StdUnixStream::pair()?;
        let marker = format!("{}-{generation}", std::process::id());
        let mut trees = std::env::var_os(MARKER).unwrap_or_default();
        if !trees.is_empty() {
            trees.push(":");
        }
        trees.push(&marker);
        let mut command = Command::new(program);
        command.arg0(GUARD_NAME).arg(GUARD_ARG).env(MARKER, trees);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        let child = command.spawn()?;
        let pid = child.id().ok_or(io::ErrorKind::NotFound)?;
        tracing::debug!(pid, "guard started");
        Ok(Self { door: registered(door)?, child, pid: Pid::from_raw(pid.cast_signed()), marker })
    }

    async fn open_keeper(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let descriptors = [theirs.as_fd()];
        self.door
            .async_io(Interest::WRITABLE, || unix::send_with_descriptors(&self.door, &[0], &descriptors))
            .await?;
        registered(ours)
    }

    /// Clears up after a guard that died: waits for its keepers and kills who lost his.
    async fn bury(mut self) {
        tracing::warn!(pid = self.pid.as_raw(), "the guard died; all its servers end");
        // It may have failed without dying, and is of no use then.
        let _ = self.child.kill().await;
        let patience = Instant::now() + END_PATIENCE / 2;
        // A killed process has no environment to be known by until it is reaped, hence the memory.
        let mut orphans = HashSet::new();
        while Instant::now() < patience + END_PATIENCE {
            let children = tree::children_of(Pid::this());
            orphans.extend(children.into_iter().filter(|child| self.started(*child)));
            if orphans.is_empty() {
                return;
            }
            for orphan in &orphans {
                // Keepers are in the guard's own group. They know their trees better than we do, so they go first.
                let is_keeper = getpgid(Some(*orphan)) == Ok(self.pid);
                if !is_keeper || Instant::now() > patience {
                    let _ = kill(*orphan, Signal::SIGKILL);
                }
            }
            orphans.retain(|orphan| matches!(unix::reap(Some(*orphan)), Wait::AllRunning));
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Tells whether the guard started this process, itself or by others: it is in its session or carries its mark.
    fn started(&self, pid: Pid) -> bool {
        getsid(Some(pid)) == Ok(self.pid) || tree::carries_marker(pid, &self.marker)
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

async fn send(stream: &mut UnixStream, request: &[u8], descriptors: &[OwnedFd; 3]) -> io::Result<()> {
    let descriptors: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let sent = stream
        .async_io(Interest::WRITABLE, || unix::send_with_descriptors(&*stream, request, &descriptors))
        .await?;
    stream.write_all(&request[sent..]).await
}

fn registered(stream: StdUnixStream) -> io::Result<UnixStream> {
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

fn refused(errno: i32, command: &SpawnCommand) -> SpawnError {
    let program = command.program.clone();
    match Errno::from_raw(errno) {
        // The program itself was found before, so what is missing is what it is run with.
        Errno::ENOENT => SpawnError::MissingInterpreter { program },
        Errno::EACCES | Errno::EPERM => SpawnError::PermissionDenied { program },
        Errno::E2BIG => SpawnError::TooLarge { program },
        errno => SpawnError::Failed { program, source: errno.into() },
    }
}
