//! What `/proc` tells of processes.

use std::fs;

pub(super) fn sleepers(token: &str) -> usize {
    let line = format!("sleep\0{token}\0");
    pids()
        .filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == line.as_bytes()))
        .count()
}

/// Processes with the token on their command line, the gateway of the test aside. A zombie has none.
pub(super) fn alive(token: &str) -> Vec<u32> {
    let has_token = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains(token) && !line.contains("\0gateway\0"))
    };
    pids().filter(has_token).collect()
}

pub(super) fn is_ours(pid: u32) -> bool {
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    matches!(comm.trim(), "mcp-guard" | "mcp-keeper")
        && state_and_parent(pid).is_some_and(|(state, _)| state != 'Z')
}

pub(super) fn descendants_of(pid: u32) -> Vec<u32> {
    children_of(pid)
        .into_iter()
        .flat_map(|child| std::iter::once(child).chain(descendants_of(child)))
        .collect()
}

/// The numbers of what we have open.
pub(super) fn open_descriptors() -> Vec<i32> {
    let entries = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut numbers: Vec<i32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The one that it was read by is closed again.
    numbers.retain(|number| fs::read_link(format!("/proc/self/fd/{number}")).is_ok());
    numbers
}

/// Tells whether the next program does not get it.
pub(super) fn closes_on_exec(number: i32) -> bool {
    let told = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
    // O_CLOEXEC, in octal digits as the kernel writes them.
    i32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & 0o2_000_000 != 0)
}

/// Our own children, zombies among them.
pub(super) fn children() -> Vec<u32> {
    children_of(std::process::id())
}

/// The children of a process, zombies among them.
pub(super) fn children_of(parent: u32) -> Vec<u32> {
    pids().filter(|pid| state_and_parent(*pid).is_some_and(|(_, found)| found == parent)).collect()
}

pub(super) fn parent_of(pid: u32) -> u32 {
    state_and_parent(pid).unwrap().1
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
