//! Whoever owns the guard: starts it, has it make keepers, and replaces it when it dies.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::sync::mpsc;

use super::guard::Guard;
use super::{Opening, Request};
use crate::process::SpawnError;
use crate::process::linux::cgroup::Cgroups;
use crate::process::linux::orphans;
use crate::process::linux::program::GuardProgram;
use crate::process::linux::saved::SavedHost;

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

    /// Goes on with a guard that is there already, after so many.
    pub(super) fn with_guard(mut self, guard: Option<Guard>, generation: u32) -> Self {
        (self.guard, self.generation) = (guard, generation);
        self
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
                    Some(Request::Suspend(reply)) => {
                        let _ = reply.send(self.suspend());
                        // Nothing of it may act any more, and its drop would end all.
                        return std::mem::forget(self);
                    }
                    None => break,
                },
                () = death_of(&mut self.guard) => self.bury_guard().await,
                () = self.cgroups.tend() => {}
            }
        }
        self.end_guard().await;
    }

    fn suspend(&mut self) -> io::Result<SavedHost> {
        Ok(SavedHost {
            guard: self.guard.take().map(Guard::suspend).transpose()?,
            generation: self.generation,
            owns_orphans: orphans::owns_all(),
            cgroups: self.cgroups.suspend(),
        })
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
            self.cgroups.kill_all().await;
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
        Some(guard) => guard.died().await,
        None => std::future::pending().await,
    }
}
