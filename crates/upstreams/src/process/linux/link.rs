//! The gateway's end of the socket to a keeper.

use manifold_engine::Lock as _;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_guard::wire::{self, Report};
use nix::sys::signal::Signal;
use nix::sys::socket::{Shutdown, shutdown};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::ProcessHost;
use super::cgroup::{Cgroups, ServerCgroup};
use super::saved::SavedKeeper;
use crate::process::{Excess, ExitStatusInfo, StopGrace};

/// How long we wait for a tree that has been killed. Only a process stuck in the kernel takes as long.
const SWEEP_PATIENCE: Duration = Duration::from_secs(2);

/// Tells how and when a server ended. Clones tell the same.
#[derive(Clone)]
pub struct ExitWatch(Arc<Link>);

/// Holds the power over a server and its tree; its drop is the end of both.
pub struct ProcessControl {
    exit: ExitWatch,
    /// The guard lives as long as anyone needs it.
    _host: ProcessHost,
}

struct Link {
    stream: UnixStream,
    end: Mutex<End>,
    /// Where there are cgroups.
    cgroup: Option<ServerCgroup>,
}

/// The last report, as far as it has come.
enum End {
    Awaited { report: [u8; Report::BYTES], filled: usize },
    Known(ExitStatusInfo),
}

impl ExitWatch {
    /// Waits for the end of the server, and of all that it started.
    pub async fn wait(&self) -> ExitStatusInfo {
        loop {
            if let Some(status) = self.try_get() {
                return status;
            }
            if self.0.stream.readable().await.is_err() {
                return ExitStatusInfo::Lost;
            }
        }
    }

    /// Returns how the server ended, if it has.
    pub fn try_get(&self) -> Option<ExitStatusInfo> {
        let mut end = self.0.end.locked();
        loop {
            let status = match &mut *end {
                End::Known(status) => return Some(*status),
                End::Awaited { report, filled } => match self.0.stream.try_read(&mut report[*filled..]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                    Ok(0) | Err(_) => ExitStatusInfo::Lost,
                    Ok(count) if *filled + count < Report::BYTES => {
                        *filled += count;
                        continue;
                    }
                    Ok(_) => told(*report),
                },
            };
            *end = End::Known(status);
            // Also if the keeper was killed and could do nothing more.
            self.0.cgroup.iter().for_each(ServerCgroup::leave);
        }
    }
}

impl ProcessControl {
    pub(super) fn new(stream: UnixStream, cgroup: Option<ServerCgroup>, host: ProcessHost) -> Self {
        Self::with_report(stream, cgroup, host, &[])
    }

    /// Takes up the power over a server where so much of its last report has come.
    fn with_report(stream: UnixStream, cgroup: Option<ServerCgroup>, host: ProcessHost, come: &[u8]) -> Self {
        let mut report = [0; Report::BYTES];
        let filled = come.len().min(Report::BYTES - 1);
        report[..filled].copy_from_slice(&come[..filled]);
        let end = Mutex::new(End::Awaited { report, filled });
        let exit = ExitWatch(Arc::new(Link { stream, end, cgroup }));
        Self { exit, _host: host }
    }

    /// Takes over a server of the program whose place we took.
    pub(super) fn take_over(saved: SavedKeeper, cgroups: &Cgroups, host: ProcessHost) -> io::Result<Self> {
        let stream = StdUnixStream::from(OwnedFd::from(saved.socket));
        stream.set_nonblocking(true)?;
        let cgroup = saved.cgroup.and_then(|cgroup| cgroups.take_over(cgroup));
        Ok(Self::with_report(UnixStream::from_std(stream)?, cgroup, host, &saved.report))
    }

    /// Lets go of the server without its end, for whoever takes our place; `None` if it has ended.
    pub(crate) fn suspend(self) -> Option<SavedKeeper> {
        let report = match &*self.exit.0.end.locked() {
            End::Known(_) => return None,
            End::Awaited { report, filled } => report[..*filled].to_vec(),
        };
        let link = &self.exit.0;
        let socket = link.stream.as_fd().try_clone_to_owned().ok()?;
        let cgroup = link.cgroup.as_ref().and_then(|cgroup| cgroup.save().ok());
        // Its drop would be the server's end.
        std::mem::forget(self);
        Some(SavedKeeper { socket: socket.into(), report, cgroup })
    }

    /// Returns the watch over the server's end.
    pub fn exit(&self) -> &ExitWatch {
        &self.exit
    }

    /// Sends a signal to the server's process group. A server that has ended hears nothing.
    pub fn signal(&self, number: i32) {
        // One byte into a socket whose reader does nothing but read: it is never full.
        let _ = self.exit.0.stream.try_write(&[number as u8]);
    }

    /// Kills the server and everything it started, and waits until all are gone.
    pub async fn sweep(&self) -> ExitStatusInfo {
        self.begin_sweep();
        timeout(SWEEP_PATIENCE, self.exit.wait()).await.unwrap_or(ExitStatusInfo::Lost)
    }

    /// Ends the server step by step. Its stdin has to be closed already, or the first step is mere waiting.
    pub async fn stop(&self, grace: StopGrace) -> ExitStatusInfo {
        if let Ok(status) = timeout(grace.after_close, self.exit.wait()).await {
            return status;
        }
        self.signal(Signal::SIGTERM as i32);
        if let Ok(status) = timeout(grace.after_term, self.exit.wait()).await {
            return status;
        }
        self.sweep().await
    }

    /// Closes our half: the keeper kills all, and still can say how it went.
    fn begin_sweep(&self) {
        let _ = shutdown(self.exit.0.stream.as_raw_fd(), Shutdown::Write);
    }
}

impl Drop for ProcessControl {
    fn drop(&mut self) {
        self.begin_sweep();
    }
}

impl fmt::Debug for ExitWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExitWatch").field(&self.try_get()).finish()
    }
}

impl fmt::Debug for ProcessControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessControl").field("exit", &self.exit).finish_non_exhaustive()
    }
}

fn over(excess: wire::Excess) -> Excess {
    match excess {
        wire::Excess::Memory => Excess::Memory,
        wire::Excess::Processes => Excess::Processes,
    }
}

fn told(report: [u8; Report::BYTES]) -> ExitStatusInfo {
    let (status, swept) = match Report::decode(report) {
        Some(Report::Exited { code, swept }) => (ExitStatusInfo::Code(code), swept),
        Some(Report::Killed { signal, swept }) => (ExitStatusInfo::Signal(signal), swept),
        Some(Report::Over { excess, swept }) => (ExitStatusInfo::Over(over(excess)), swept),
        _ => (ExitStatusInfo::Lost, 0),
    };
    tracing::debug!(%status, swept, "server ended");
    status
}
