//! What falls to the gateway when guard and keepers are gone: it ends that itself.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getsid};
use tokio::time::{Instant, sleep};

use super::tree;
use super::unix::{self, Wait};

/// How long keepers may take over their own trees, and we over what is left then.
const KEEPERS_PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);

static OWNS_ALL: AtomicBool = AtomicBool::new(false);

/// Tells that this process starts others by its host alone. Whatever falls to it then came from a server, be its
/// environment cleared and its session its own (L15).
///
/// To be called before anything is started. A process that already has children, left by whoever it was before, claims
/// nothing: theirs may fall to it as well.
pub fn own_all_orphans() {
    OWNS_ALL.store(tree::children_of(Pid::this()).is_empty(), Ordering::Relaxed);
}

/// Returns whether whatever falls to us came from a server.
pub(super) fn owns_all() -> bool {
    OWNS_ALL.load(Ordering::Relaxed)
}

/// Goes on with what the program knew whose place we took: its children are ours, and no others.
pub(super) fn set_owns_all(owns_all: bool) {
    OWNS_ALL.fetch_or(owns_all, Ordering::Relaxed);
}

/// The servers of a guard that is gone.
pub(super) struct Orphans<'g> {
    pub(super) guard: Pid,
    /// The word by which they are marked.
    pub(super) marker: &'g str,
}

impl Orphans<'_> {
    /// Kills all that fell to us, and what falls to us by that, until nothing is left.
    pub(super) async fn end(&self) {
        let began = Instant::now();
        // A killed process has no environment to be known by until it is reaped, hence the memory.
        let mut orphans = HashSet::new();
        while began.elapsed() < PATIENCE {
            let children = tree::children_of(Pid::this());
            orphans.extend(children.into_iter().filter(|child| self.is_one(*child)));
            if orphans.is_empty() {
                return;
            }
            for orphan in &orphans {
                // Keepers are in the guard's own group. They know their trees better than we do, so they go first.
                let is_keeper = getpgid(Some(*orphan)) == Ok(self.guard);
                if !is_keeper || began.elapsed() > KEEPERS_PATIENCE {
                    let _ = kill(*orphan, Signal::SIGKILL);
                }
            }
            orphans.retain(|orphan| matches!(unix::reap(*orphan), Wait::Running));
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Tells whether the guard started this process, itself or by others. It can have left the guard's session for one of
    /// its own, but never for ours.
    fn is_one(&self, pid: Pid) -> bool {
        let session = getsid(Some(pid));
        session == Ok(self.guard)
            || tree::carries_marker(pid, self.marker)
            || owns_all() && session.is_ok() && session != getsid(None)
    }
}
