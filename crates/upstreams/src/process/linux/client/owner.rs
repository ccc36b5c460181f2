//! Whoever owns the guard: starts it, has it make keepers, and replaces it when it dies.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;

use manifold_guard::MARKER;
use nix::sys::prctl;
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{Opening, Request};
use crate::process::SpawnError;
use crate::process::linux::cgroup::Cgroups;
use crate::process::linux::orphans::Orphans;
use crate::process::linux::program::GuardProgram;
use crate::process::linux::unix;

/// How long the guard may take over its end.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// The one task that has the guard.
pub(super) struct Owner {
    program: GuardProgram,
    requests: mpsc::Receiver<Request>,
    cgroups: Cgroups,
    guard: Option<Guard>,
    generation: u32,
}

impl Owner {
    pub(super) fn new(program: GuardProgram, requests: mpsc::Receiver<Request>, cgroups: Cgroups) -> Self {
        Self { program, requests, cgroups, guard: None, generation: 0 }
    }

    pub(super) async fn run(mut self) {
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

pub(super) struct Guard {
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
