//! Which processes are below another, and which are ours.

use std::fs;

use manifold_guard::{MARKER, for_each_child};
use nix::unistd::Pid;

/// Returns the children of a process, whichever of its threads had them.
pub(super) fn children_of(parent: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    for_each_child(parent.as_raw(), &mut |child| children.push(Pid::from_raw(child)));
    children
}

/// Tells whether a process was started with this word in the variable that marks our trees.
pub(super) fn carries_marker(pid: Pid, marker: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="))
        .any(|value| value.split(|byte| *byte == b':').any(|word| word == marker.as_bytes()))
}
