//! What the machine gives us, as far as it says, and what we give back.

mod pages;
mod secrecy;

use std::fs;
use std::path::Path;

use std::time::Duration;

use manifold_config::Limits;
use manifold_engine::{Budget, Tasks};
use tokio::time::sleep;

pub(crate) use secrecy::{forbid_inspection, wipe_environment, wipe_variables};

/// Where nothing is known of the machine.
const USUAL_BYTES: u64 = 4 << 30;
/// Messages under way get one part in so many of the memory.
const SHARE: u64 = 4;

/// Returns what messages under way may take up: as configured, or a share of the memory there is (F35).
pub(crate) fn budget(limits: &Limits) -> Budget {
    let share = usize::try_from(memory_bytes().unwrap_or(USUAL_BYTES) / SHARE).unwrap_or(usize::MAX);
    // The largest message and its answer must fit.
    let least = limits.request_bytes.saturating_add(limits.message_bytes);
    Budget::new(limits.held_bytes.unwrap_or(share.max(least)))
}

/// When a start is over: the program's own, and that of its first servers and lists.
const STARTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(900)];

/// Gives back what only the start needed, once that is over.
pub(crate) fn slim_down(tasks: &Tasks) {
    tasks.spawn_background(async {
        for rest in STARTS {
            sleep(rest).await;
            pages::give_back();
        }
    });
}

/// Gives back what is not needed now.
pub(crate) fn slim_down_at_once() {
    pages::trim_heap();
    pages::give_back();
}

/// Returns the memory of the machine, or of the container we are in.
fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(limit_file).flat_map(|file| limits_above(Path::new(&file)));
    limits.chain(machine).min()
}

/// Reads `MemTotal` of `/proc/meminfo`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Returns where the memory limit of a line of `/proc/self/cgroup` is written, in either version of control groups.
fn limit_file(line: &str) -> Option<String> {
    let mut fields = line.splitn(3, ':').skip(1);
    match (fields.next()?, fields.next()?.trim_end_matches('/')) {
        ("", path) => Some(format!("/sys/fs/cgroup{path}/memory.max")),
        ("memory", path) => Some(format!("/sys/fs/cgroup/memory{path}/memory.limit_in_bytes")),
        _ => None,
    }
}

/// Reads the limits of a group and of those it is in: the least of them holds.
fn limits_above(file: &Path) -> Vec<u64> {
    let Some((folder, name)) = file.parent().zip(file.file_name()) else { return Vec::new() };
    let groups = folder.ancestors().take_while(|group| group.starts_with("/sys/fs/cgroup"));
    groups.filter_map(|group| fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use manifold_config::ClientLimits;

    use super::*;

    #[test]
    fn the_machine_says_how_much_there_is() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(limit_file("0::/a/b").as_deref(), Some("/sys/fs/cgroup/a/b/memory.max"));
        assert_eq!(limit_file("0::/").as_deref(), Some("/sys/fs/cgroup/memory.max"));
        let old = "/sys/fs/cgroup/memory/x/memory.limit_in_bytes";
        assert_eq!(limit_file("4:memory:/x").as_deref(), Some(old));
        assert_eq!(limit_file("7:blkio:/"), None);
    }

    #[test]
    fn a_budget_is_as_configured_or_a_share() {
        let limits = Limits {
            request_bytes: 1,
            message_bytes: 1,
            held_bytes: Some(7),
            clients: ClientLimits::default(),
        };
        assert_eq!(budget(&limits).limit_bytes(), 7);
        assert!(budget(&Limits { held_bytes: None, ..limits }).limit_bytes() > 1 << 20);
        let large = Limits { request_bytes: 1 << 50, held_bytes: None, ..limits };
        assert!(budget(&large).limit_bytes() > 1 << 50);
    }
}
