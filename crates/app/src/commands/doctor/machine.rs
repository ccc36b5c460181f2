//! The clock and the disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::statvfs;

use super::context::{Context, word};
use super::{Outcome, Trouble};

/// By how much a file may be younger than the moment: clocks of file servers differ.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// With less room than this, a log or a changed config may not be written any more.
const LITTLE_BYTES: u64 = 64 << 20;
const NOTHING_BYTES: u64 = 4 << 20;

/// A clock that is behind lets certificates and tokens seem not to be valid yet. It is told by files from the future: the
/// program itself, and the config.
pub(super) fn clock(context: &Context<'_>) -> Outcome {
    let config = context.written.as_ref().ok().and_then(|(_, path)| path.clone());
    let files = context.environment().program.iter().chain(config.iter());
    let is_ahead = |path: &&PathBuf| {
        let changed = path.metadata().and_then(|about| about.modified());
        changed.is_ok_and(|changed| changed.duration_since(SystemTime::now()).is_ok_and(|by| by > DAY))
    };
    let told = |path: &PathBuf| {
        let message = format!("by the clock, {} is from the future: the date is wrong", path.display());
        Trouble::warn(message, "timedatectl set-ntp true")
    };
    files.filter(is_ahead).take(1).map(told).collect::<Vec<_>>().into()
}

pub(super) fn disk(context: &Context<'_>) -> Outcome {
    let environment = context.environment();
    let homes = [environment.state_home(), environment.config_home(), environment.data_home()];
    let mut troubles = Vec::new();
    for home in homes.into_iter().flatten() {
        // The folder itself may be made later.
        let Some(there) = home.ancestors().find(|folder| folder.is_dir()) else { continue };
        let Some(free) = free_bytes(there).filter(|free| *free < LITTLE_BYTES) else { continue };
        let message = format!("{}: {} MiB are left on the disk", there.display(), free >> 20);
        let fix = format!("df -h {}", word(there));
        troubles.push(match free < NOTHING_BYTES {
            true => Trouble::fail(message, fix),
            false => Trouble::warn(message, fix),
        });
    }
    troubles.into()
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let about = statvfs(folder).ok()?;
    Some(about.blocks_available().saturating_mul(about.fragment_size()))
}
