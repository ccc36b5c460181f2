//! The guard as its owner has it: the door to it, and word of its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use manifold_guard::MARKER;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

use crate::process::linux::orphans::Orphans;
use crate::process::linux::program::GuardProgram;
use crate::process::linux::saved::SavedGuard;
use crate::process::linux::unix::{self, Wait};

/// How long the guard may take over its end.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// How often we look for the end of a guard of which the kernel will not tell us.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Guard {
    /// Closed with us, however we end; the guard then kills all that is left.
    door: UnixStream,
    process: GuardProcess,
    pid: Pid,
    /// Our word in the variable that marks its servers.
    marker: String,
}

/// The guard's process, which is our child in any case.
enum GuardProcess {
    Started(Child),
    /// Started by the program whose place we took; the descriptor tells of its end.
    TakenOver(Pid, Option<AsyncFd<OwnedFd>>),
}

impl Guard {
    pub(super) fn start(program: &GuardProgram, generation: u32) -> io::Result<Self> {
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
        let pid = Pid::from_raw(pid.cast_signed());
        Ok(Self { door, process: GuardProcess::Started(child), pid, marker })
    }

    /// Takes over the guard of the program whose place we took.
    pub(super) fn take_over(saved: SavedGuard) -> io::Result<Self> {
        prctl::set_child_subreaper(true)?;
        let pid = Pid::from_raw(saved.pid);
        let door = StdUnixStream::from(OwnedFd::from(saved.door));
        door.set_nonblocking(true)?;
        let process = GuardProcess::TakenOver(pid, unix::watch_child(pid).ok());
        Ok(Self { door: UnixStream::from_std(door)?, process, pid, marker: saved.marker })
    }

    /// Lets go of the guard, which lives on for whoever takes our place.
    pub(super) fn suspend(self) -> io::Result<SavedGuard> {
        let door = OwnedFd::from(self.door.into_std()?);
        // It must be reaped by nobody but that one.
        std::mem::forget(self.process);
        Ok(SavedGuard { door: door.into(), pid: self.pid.as_raw(), marker: self.marker })
    }

    /// Waits for its death.
    pub(super) async fn died(&mut self) {
        self.process.ended().await;
    }

    pub(super) async fn open_keeper(&self, theirs: &StdUnixStream) -> io::Result<()> {
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
    pub(super) async fn end(self) {
        let Self { door, mut process, pid, marker } = self;
        drop(door);
        if timeout(END_PATIENCE, process.ended()).await.is_err() {
            // It is stopped, say, and cannot do its work.
            process.kill().await;
        }
        // It may have been killed just now, and a keeper with it.
        Orphans { guard: pid, marker: &marker }.end().await;
    }

    /// Clears up after a guard that died: waits for its keepers and kills who lost his.
    pub(super) async fn bury(mut self) {
        tracing::warn!(pid = self.pid.as_raw(), "the guard died; all its servers end");
        // It may have failed without dying, and is of no use then.
        self.process.kill().await;
        Orphans { guard: self.pid, marker: &self.marker }.end().await;
    }
}

impl GuardProcess {
    /// Waits for its end, and reaps it.
    async fn ended(&mut self) {
        let (pid, watch) = match self {
            Self::Started(child) => return drop(child.wait().await),
            Self::TakenOver(pid, watch) => (*pid, watch),
        };
        while let Wait::Running = unix::reap(pid) {
            match watch {
                Some(watch) => match watch.readable().await {
                    Ok(mut told) => told.clear_ready(),
                    Err(_) => sleep(LOOK_EVERY).await,
                },
                None => sleep(LOOK_EVERY).await,
            }
        }
    }

    async fn kill(&mut self) {
        match self {
            Self::Started(child) => drop(child.kill().await),
            Self::TakenOver(pid, _) => {
                // One that is reaped already may be somebody else by now.
                if let Wait::Running = unix::reap(*pid) {
                    let _ = kill(*pid, Signal::SIGKILL);
                    self.ended().await;
                }
            }
        }
    }
}
