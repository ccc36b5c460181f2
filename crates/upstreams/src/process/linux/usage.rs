//! What processes take up, read from `/proc` in one pass.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use manifold_engine::{ProcessTable, Usage};
use nix::unistd::{SysconfVar, sysconf};

/// The processes that there are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes;

struct Kin {
    pid: u32,
    parent: u32,
}

impl ProcessTable for Processes {
    fn usage(&self, roots: &[u32]) -> HashMap<u32, Usage> {
        if roots.is_empty() {
            return HashMap::new();
        }
        let (all, page_bytes) = (all(), page_bytes());
        let usage = |root: &u32| {
            let pids = family(*root, &all)?;
            let memory_bytes = pids.iter().filter_map(|pid| resident_pages(*pid)).sum::<u64>() * page_bytes;
            Some((*root, Usage { pids, memory_bytes }))
        };
        roots.iter().filter_map(usage).collect()
    }
}

fn all() -> Vec<Kin> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(kin).collect()
}

/// Reads what a process is to others. Its name may have anything in it, brackets and spaces too.
fn kin(pid: u32) -> Option<Kin> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    Some(Kin { pid, parent: rest.split_ascii_whitespace().nth(1)?.parse().ok()? })
}

/// Returns a server with all that it has ever started: everything below its keeper, to which orphans fall, and not the
/// keeper itself.
fn family(server: u32, all: &[Kin]) -> Option<Vec<u32>> {
    let keeper = all.iter().find(|one| one.pid == server)?.parent;
    let mut found = BTreeSet::from([keeper]);
    loop {
        let children = all.iter().filter(|one| found.contains(&one.parent)).map(|one| one.pid);
        let more: Vec<u32> = children.filter(|pid| !found.contains(pid)).collect();
        if more.is_empty() {
            found.remove(&keeper);
            return Some(found.into_iter().collect());
        }
        found.extend(more);
    }
}

fn page_bytes() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4096)
}

/// Returns how much of a process is in memory.
fn resident_pages(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    statm.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_counts_with_all_that_it_has_started() {
        let kin = |(pid, parent)| Kin { pid, parent };
        // A gateway with its guard, two keepers, the server of each, and what those have started, an orphan among it.
        let all = [(1, 0), (2, 1), (3, 2), (4, 2), (10, 3), (11, 10), (12, 11), (13, 3), (20, 4)].map(kin);
        assert_eq!(family(10, &all), Some(vec![10, 11, 12, 13]));
        assert_eq!(family(20, &all), Some(vec![20]));
        assert_eq!(family(99, &all), None);
    }

    #[test]
    fn this_process_takes_up_something() {
        let me = std::process::id();
        let usage = Processes.usage(&[me, u32::MAX]);
        assert!(usage[&me].memory_bytes > 1 << 20 && usage[&me].pids.contains(&me));
        assert_eq!(usage.len(), 1);
    }
}
