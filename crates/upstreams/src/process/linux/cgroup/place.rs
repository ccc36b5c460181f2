//! Where cgroups of ours can be, and whose they are.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};

const PREFIX: &str = "manifold";

/// The name of a server's folder: which gateway made it, and as which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pid: u32,
    /// When the gateway began, in the kernel's ticks: a process number alone may be somebody else's by now.
    began: u64,
    number: u32,
}

impl Name {
    /// Returns the name of a folder of this process.
    pub(super) fn ours(number: u32) -> io::Result<Self> {
        static BEGAN: OnceLock<Option<u64>> = OnceLock::new();
        let pid = std::process::id();
        let began = BEGAN.get_or_init(|| start_of(pid)).ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { pid, began, number })
    }

    fn is_of_the_living(&self) -> bool {
        start_of(self.pid) == Some(self.began)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, began, number } = self;
        write!(f, "{PREFIX}-{pid}-{began}-{number}")
    }
}

impl FromStr for Name {
    type Err = ();

    /// Reads a name exactly as we write it.
    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split('-').collect();
        let &[PREFIX, pid, began, number] = parts.as_slice() else { return Err(()) };
        let read = || Some((pid.parse().ok()?, began.parse().ok()?, number.parse().ok()?));
        let (pid, began, number) = read().ok_or(())?;
        let name = Self { pid, began, number };
        if name.to_string() == text { Ok(name) } else { Err(()) }
    }
}

/// Returns the folder of our own cgroup, if there is a cgroup v2 and we can see it.
pub(super) fn find() -> Option<PathBuf> {
    let (own, mounts) = (fs::read_to_string("/proc/self/cgroup"), fs::read_to_string("/proc/self/mountinfo"));
    let place = own_folder(&own.ok()?, &mounts.ok()?);
    // Something else may be mounted over it.
    let place =
        place.filter(|path| statfs(path).is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC));
    if place.is_none() {
        tracing::debug!("no cgroup v2 here, servers run without");
    }
    place
}

/// Returns the folder of the cgroup that the first text tells, by the mounts that the second does.
pub(super) fn own_folder(own: &str, mounts: &str) -> Option<PathBuf> {
    let own = Path::new(own.lines().find_map(|line| line.strip_prefix("0::"))?);
    // Outside of what this namespace shows.
    if own.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    mounts.lines().find_map(|line| {
        // `id parent device root mountpoint options … - type source options`
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A blank in a path is written as a number, and there are none where cgroups are mounted.
        if !kind.starts_with("cgroup2 ") || point.contains('\\') {
            return None;
        }
        Some(Path::new(point).join(own.strip_prefix(root).ok()?))
    })
}

/// Returns the folders of gateways that are gone, and of which no keeper is left either.
pub(super) fn stale(place: &Path) -> Vec<Name> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let ours = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<Name>().ok());
    ours.filter(|name| !name.is_of_the_living() && is_unlocked(&place.join(name.to_string()))).collect()
}

/// Tells whether no process holds the folder. One of another namespace of processes may, whose numbers mean nothing here.
fn is_unlocked(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|folder| folder.try_lock().is_ok())
}

fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, brackets included; the start is the twentieth field after it.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}
