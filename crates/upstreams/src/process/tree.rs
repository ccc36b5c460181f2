//! What runs below a process, and the end of it all.

use std::collections::HashMap;
use std::fs;
use std::os::fd::AsFd;
use std::process::ExitStatus;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use super::unix::{self, Wait};
use super::{Excess, Limits};

/// How long one round waits for a killed process to end before it looks again.
const ROUND_MS: u16 = 20;

/// Rounds in a row without anything ending, after which the rest is beyond our power: another user's, or stuck in
/// the kernel with SIGKILL pending. Five seconds.
const MAX_IDLE_ROUNDS: u32 = 250;

/// Kills everything below this process, and what that forks meanwhile, until nothing is left. Tells of each end.
pub(super) fn kill_all_below(signals: &SignalFd, mut ended: impl FnMut(Pid, ExitStatus)) {
    let mut idle_rounds = 0;
    while idle_rounds < MAX_IDLE_ROUNDS {
        for pid in descendants_of(Pid::this()) {
            let _ = kill(pid, Signal::SIGKILL);
        }
        let before = idle_rounds;
        idle_rounds += 1;
        let left = reap_all(|pid, status| {
            idle_rounds = 0;
            ended(pid, status);
        });
        match left {
            Children::None => return,
            Children::Some if idle_rounds > before => wait_for_signal(signals),
            Children::Some => {}
        }
    }
}

/// Whether a process still has children.
#[derive(PartialEq, Eq)]
pub(super) enum Children {
    Some,
    None,
}

/// Reaps every child that has ended, adopted ones too.
pub(super) fn reap_all(mut ended: impl FnMut(Pid, ExitStatus)) -> Children {
    loop {
        match unix::reap(None) {
            Wait::Ended(pid, status) => ended(pid, status),
            Wait::AllRunning => return Children::Some,
            Wait::NoChildren => return Children::None,
        }
    }
}

/// Empties the queue of signals: they only say that it is time to look.
pub(super) fn drain_signals(signals: &SignalFd) {
    while let Ok(Some(_)) = signals.read_signal() {}
}

/// Returns the children of a process, whichever of its threads had them.
pub(super) fn children_of(parent: Pid) -> Vec<Pid> {
    match listed_children(parent) {
        Some(children) => children,
        None => parents_of_all().remove(&parent).unwrap_or_default(),
    }
}

/// Tells whether a process was started with this word in the variable that marks our trees.
pub(super) fn carries_marker(pid: Pid, marker: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(super::guard::MARKER.as_bytes())?.strip_prefix(b"="))
        .any(|value| value.split(|byte| *byte == b':').any(|word| word == marker.as_bytes()))
}

fn descendants_of(ancestor: Pid) -> Vec<Pid> {
    let mut found = children_of(ancestor);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        // A process that moves while we look may be met twice; killing it twice does no harm, but walking would.
        let fresh: Vec<Pid> = children_of(pid).into_iter().filter(|child| !found.contains(child)).collect();
        found.extend(fresh);
        next += 1;
    }
    found
}

/// Returns which limit everything below a process is over, if it is over one.
pub(super) fn excess_below(ancestor: Pid, limits: Limits) -> Option<Excess> {
    if limits == Limits::default() {
        return None;
    }
    let all = descendants_of(ancestor);
    if limits.processes > 0 && all.len() > limits.processes as usize {
        return Some(Excess::Processes);
    }
    let used: u64 = all.iter().map(|pid| resident_bytes(*pid)).sum();
    (limits.memory_mib > 0 && used > u64::from(limits.memory_mib) << 20).then_some(Excess::Memory)
}

/// Returns the memory that is a process's own: what it shares, others have counted.
fn resident_bytes(pid: Pid) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let mut pages = pages.split_ascii_whitespace().skip(1).map(|pages| pages.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * page_bytes()
}

fn page_bytes() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    size.ok().flatten().and_then(|size| u64::try_from(size).ok()).unwrap_or(4096)
}

fn wait_for_signal(signals: &SignalFd) {
    let mut wanted = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    let _ = poll(&mut wanted, PollTimeout::from(ROUND_MS));
    drain_signals(signals);
}

/// Reads the kernel's own lists; nothing if it was built without them.
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Some(Vec::new()) };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let list = thread.path().join("children");
        match fs::read_to_string(&list) {
            Ok(pids) => children.extend(pids.split_ascii_whitespace().filter_map(parse_pid)),
            // The thread ended, unless it is only the file that is missing.
            Err(_) if thread.path().join("stat").exists() && !list.exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

fn parents_of_all() -> HashMap<Pid, Vec<Pid>> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return children };
    for pid in entries.flatten().filter_map(|entry| parse_pid(entry.file_name().to_str()?)) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // `pid (name) state parent …`, and the name may hold anything, brackets included.
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| parse_pid(rest.split_ascii_whitespace().nth(1)?));
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().map(Pid::from_raw)
}
