//! What holds a process in: a daemon born in a sandbox stays in it, and must not serve those outside.

use std::fs;

use serde::{Deserialize, Serialize};

/// The inode of the user namespace that the machine started with, a constant of the kernel.
const FIRST_USER_NAMESPACE: u64 = 0xEFFF_FFFD;
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// What can be told of the walls around a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxMarks {
    pub no_new_privileges: bool,
    pub seccomp: u8,
    /// Inodes of namespaces, zero where they cannot be seen.
    pub user_namespace: u64,
    pub pid_namespace: u64,
}

impl SandboxMarks {
    /// Returns those of our own process.
    pub fn own() -> Self {
        Self {
            user_namespace: namespace("user"),
            pid_namespace: namespace("pid"),
            ..fs::read_to_string("/proc/self/status").map(|status| Self::read(&status)).unwrap_or_default()
        }
    }

    /// Returns whether walls stand around us that are not around all that we can see: a daemon of ours would serve others
    /// from behind them.
    pub fn is_held(&self) -> bool {
        let first =
            fs::read_to_string("/proc/1/status").map(|status| Self::read(&status)).unwrap_or_default();
        self.no_new_privileges && !first.no_new_privileges || self.seccomp > first.seccomp
    }

    /// Returns whether the other end is held in where we are not.
    pub fn is_freer_than(&self, other: &Self) -> bool {
        let inner = |ours: u64, theirs: u64, first: u64| {
            ours != theirs && theirs != 0 && ours != 0 && theirs != first
        };
        other.no_new_privileges && !self.no_new_privileges
            || other.seccomp > self.seccomp
            || inner(self.user_namespace, other.user_namespace, FIRST_USER_NAMESPACE)
            || inner(self.pid_namespace, other.pid_namespace, FIRST_PID_NAMESPACE)
    }

    fn read(status: &str) -> Self {
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u8>().ok()).unwrap_or(0)
        };
        Self { no_new_privileges: number("NoNewPrivs:") != 0, seccomp: number("Seccomp:"), ..Self::default() }
    }
}

/// Returns the inode of one of our namespaces.
fn namespace(kind: &str) -> u64 {
    let link = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
    let text = link.to_string_lossy();
    let inode = text.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    inode.and_then(|inode| inode.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_are_read_as_the_kernel_writes_them() {
        let marks = SandboxMarks::read("Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        assert!(marks.no_new_privileges);
        assert_eq!(marks.seccomp, 2);
    }

    /// A sandboxed shim may use a daemon outside; the other way round it would be served from behind walls (A15).
    #[test]
    fn who_is_held_in_is_told_from_who_is_not() {
        let free = SandboxMarks { user_namespace: FIRST_USER_NAMESPACE, ..SandboxMarks::default() };
        let held = SandboxMarks { no_new_privileges: true, seccomp: 2, user_namespace: 77, pid_namespace: 0 };
        assert!(free.is_freer_than(&held) && !held.is_freer_than(&free));
        assert!(!held.is_freer_than(&held) && !free.is_freer_than(&free));
        let other_user = SandboxMarks { user_namespace: 77, ..free };
        assert!(free.is_freer_than(&other_user) && !other_user.is_freer_than(&free));
    }
}
