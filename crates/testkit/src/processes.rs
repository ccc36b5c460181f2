//! Looking at processes from outside, and waiting for what they do.
#![expect(clippy::disallowed_types, reason = "real processes run in real time, paused clock or not")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Tells whether a process runs; a zombie does not.
pub fn alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The command's name stands in brackets and may hold anything, brackets included.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns the running processes, other than ours, whose command line or environment holds the text, and all that are
/// below them: to an ordinary user, guard and keepers show neither.
pub fn processes_with_marker(text: &str) -> Vec<u32> {
    let mut found: Vec<u32> =
        all().into_iter().filter(|pid| *pid != std::process::id() && marked(*pid, text)).collect();
    for pid in found.clone() {
        found.extend(descendants(pid));
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|pid| alive(*pid));
    found
}

/// Returns the running processes below another.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let parents: Vec<(u32, u32)> =
        all().into_iter().filter_map(|child| Some((child, parent(child)?))).collect();
    let mut next = 0;
    while let Some(&ancestor) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == ancestor).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

/// Returns the running processes that another has started itself.
pub fn children(pid: u32) -> Vec<u32> {
    all().into_iter().filter(|child| parent(*child) == Some(pid) && alive(*child)).collect()
}

/// Returns the words a process was started with.
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns a number that the kernel tells of a process: `Threads`, say.
pub fn status_number(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns how many descriptors a process has open.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn marked(pid: u32, text: &str) -> bool {
    let holds = |file: &str| {
        let bytes = fs::read(Path::new("/proc").join(pid.to_string()).join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    holds("cmdline") || holds("environ")
}

/// What a process takes of memory that is its own, beside what it took when this was made. Pages of its program are not
/// counted: they come and go as the kernel likes, and as it gives them back.
pub struct Usage {
    pid: u32,
    before_kib: u64,
    most_kib: Arc<AtomicU64>,
}

impl Usage {
    /// Begins to watch, every millisecond, for as long as this and the process live.
    pub fn watch(pid: u32) -> Self {
        let before_kib = own_kib(pid);
        let most_kib = Arc::new(AtomicU64::new(before_kib));
        let most = Arc::downgrade(&most_kib);
        thread::spawn(move || {
            while let Some(most) = most.upgrade().filter(|_| alive(pid)) {
                most.fetch_max(own_kib(pid), Ordering::Relaxed);
                drop(most);
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { pid, before_kib, most_kib }
    }

    /// Returns how many KiB more it takes now.
    pub fn now(&self) -> u64 {
        let now = own_kib(self.pid);
        self.most_kib.fetch_max(now, Ordering::Relaxed);
        now.saturating_sub(self.before_kib)
    }

    /// Returns how many KiB more it took at the most.
    pub fn most(&self) -> u64 {
        self.now();
        self.most_kib.load(Ordering::Relaxed).saturating_sub(self.before_kib)
    }
}

/// Returns how many KiB of memory are a process's own.
pub fn own_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

/// Polls until the condition holds or the time is over, and tells which.
pub fn until(within: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + within;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
