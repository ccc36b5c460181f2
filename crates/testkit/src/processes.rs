//! Looking at processes from outside, and waiting for what they do.
#![expect(clippy::disallowed_types, reason = "real processes run in real time, paused clock or not")]

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Tells whether a process runs; a zombie does not.
pub fn alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The command's name stands in brackets and may hold anything, brackets included.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Returns the running processes, other than ours, whose command line or environment holds the text.
pub fn processes_with_marker(text: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id() && marked(*pid, text) && alive(*pid)).collect()
}

fn marked(pid: u32, text: &str) -> bool {
    let holds = |file: &str| {
        let bytes = fs::read(Path::new("/proc").join(pid.to_string()).join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    holds("cmdline") || holds("environ")
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
