//! What runs below a process, and the end of it all.

use crate::kernel::{self, Fd, Signal, Status, Wait};
use crate::memory::Pids;
use crate::proc::{self, ProcPath};
use crate::wire::{Excess, Head};

/// How long one round waits for a killed process to end before it looks again.
const ROUND_MS: u32 = 20;

/// Rounds in a row without anything ending, after which the rest is beyond our power: another user's, or stuck in
/// the kernel with SIGKILL pending. Five seconds.
const MAX_IDLE_ROUNDS: u32 = 250;

/// Tells of the children of a process, whichever of its threads had them; of some perhaps twice.
pub fn for_each_child(parent: i32, found: &mut dyn FnMut(i32)) {
    if let Listed::Nowhere = for_each_listed_child(parent, found) {
        for_each_child_of_all(parent, found);
    }
}

/// Kills everything below this process, and what that forks meanwhile, until nothing is left. Tells of each end.
pub(crate) fn kill_all_below(signals: &Fd, ended: &mut dyn FnMut(i32, Status)) {
    let mut idle_rounds = 0;
    while idle_rounds < MAX_IDLE_ROUNDS {
        for pid in descendants_of(kernel::own_id()).as_slice() {
            let _ = kernel::kill(*pid, Signal::KILL);
        }
        let before = idle_rounds;
        idle_rounds += 1;
        let left = reap_all(&mut |pid, status| {
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
pub(crate) enum Children {
    Some,
    None,
}

/// Reaps every child that has ended, adopted ones too.
pub(crate) fn reap_all(ended: &mut dyn FnMut(i32, Status)) -> Children {
    loop {
        match kernel::reap(None) {
            Wait::Ended(pid, status) => ended(pid, status),
            Wait::AllRunning => return Children::Some,
            Wait::NoChildren => return Children::None,
        }
    }
}

/// Empties the queue of signals: they only say that it is time to look.
pub(crate) fn drain_signals(signals: &Fd) {
    let mut signal = [0; 128];
    while let Ok(1..) = kernel::read(signals, &mut signal) {}
}

/// Returns which limit everything below a process is over, if it is over one.
pub(crate) fn excess_below(ancestor: i32, wanted: &Head) -> Option<Excess> {
    if !has_limits(wanted) {
        return None;
    }
    let all = descendants_of(ancestor);
    if wanted.processes > 0 && all.as_slice().len() > wanted.processes as usize {
        return Some(Excess::Processes);
    }
    let used: u64 = all.as_slice().iter().map(|pid| own_pages(*pid)).sum();
    (wanted.memory_pages > 0 && used > wanted.memory_pages).then_some(Excess::Memory)
}

pub(crate) fn has_limits(wanted: &Head) -> bool {
    wanted.processes > 0 || wanted.memory_pages > 0
}

fn descendants_of(ancestor: i32) -> Pids {
    let mut found = Pids::new();
    for_each_child(ancestor, &mut |child| found.add(child));
    let mut next = 0;
    while let Some(&pid) = found.as_slice().get(next) {
        // A process that moves while we look may be met twice; killing it twice does no harm, but walking would.
        for_each_child(pid, &mut |child| {
            if !found.contains(child) {
                found.add(child);
            }
        });
        next += 1;
    }
    found
}

/// Returns the memory that is a process's own: what it shares, others have counted.
fn own_pages(pid: i32) -> u64 {
    let mut buffer = [0; 128];
    let pages = ProcPath::of(pid).text(b"/statm").read(&mut buffer).unwrap_or_default();
    let mut pages = pages.split(|byte| *byte == b' ').skip(1);
    let mut next = || pages.next().and_then(proc::parse).unwrap_or(0).cast_unsigned();
    let (resident, shared) = (next(), next());
    u64::from(resident.saturating_sub(shared))
}

fn wait_for_signal(signals: &Fd) {
    let _ = kernel::wait_for([signals, signals], Some(ROUND_MS));
    drain_signals(signals);
}

/// Whether the kernel lists the children of a process.
enum Listed {
    There,
    Nowhere,
}

/// Reads the kernel's own lists, which it may have been built without.
fn for_each_listed_child(parent: i32, found: &mut dyn FnMut(i32)) -> Listed {
    let mut listed = Listed::There;
    let threads = ProcPath::of(parent).text(b"/task");
    let _ = proc::for_each_numbered_entry(threads.as_c_str(), &mut |thread| {
        let of_thread = |name| ProcPath::of(parent).text(b"/task/").number(thread).text(name);
        let list = of_thread(b"/children");
        match kernel::open(list.as_c_str()) {
            Ok(list) => proc::for_each_number(&list, found),
            // The thread ended, unless it is only the file that is missing.
            Err(_) if kernel::exists(of_thread(b"/stat").as_c_str()) && !kernel::exists(list.as_c_str()) => {
                listed = Listed::Nowhere;
            }
            Err(_) => {}
        }
    });
    listed
}

/// Asks every process for its parent.
fn for_each_child_of_all(parent: i32, found: &mut dyn FnMut(i32)) {
    let _ = proc::for_each_numbered_entry(c"/proc", &mut |pid| {
        let mut buffer = [0; 256];
        let stat = ProcPath::of(pid).text(b"/stat").read(&mut buffer).unwrap_or_default();
        // `pid (name) state parent …`, and the name may hold anything, brackets included.
        let after_name = stat.iter().rposition(|byte| *byte == b')').and_then(|end| stat.get(end + 2..));
        let found_parent =
            after_name.and_then(|rest| rest.split(|byte| *byte == b' ').nth(1)).and_then(proc::parse);
        if found_parent == Some(parent) {
            found(pid);
        }
    });
}

#[cfg(test)]
mod tests;
