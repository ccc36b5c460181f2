//! Who asked, as the kernel says.

use std::fs;

use manifold_admin::Actor;

/// The longest name of a program that is kept.
const MAX_CHARS: usize = 256;

pub(super) fn seen(uid: Option<u32>, pid: Option<u32>, face: &str) -> Actor {
    Actor { uid, pid, program: pid.and_then(program), face: face.chars().take(MAX_CHARS).collect() }
}

/// Returns what a process runs and, where it goes by another name, that too.
fn program(pid: u32) -> Option<String> {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.display().to_string());
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = arguments.split(|byte| *byte == 0).next().unwrap_or_default();
    let called = String::from_utf8_lossy(first).into_owned();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let shown = match exe {
        Some(exe) if called.is_empty() || name(&exe) == name(&called) => exe,
        Some(exe) => format!("{exe} ({called})"),
        None if called.is_empty() => return None,
        None => called,
    };
    Some(shown.chars().take(MAX_CHARS).collect())
}
