//! The program's own text in memory. What only the start needed would else count as ours for as long as we run: the
//! kernel maps sixteen pages for each one used, and a program this size has its parts far apart.
#![expect(unsafe_code, reason = "the kernel is told about addresses")]

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::ptr::NonNull;

use nix::sys::mman::{MmapAdvise, madvise};
use tracing::debug;

/// A stretch of a file in our memory.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    start: usize,
    end: usize,
}

/// Gives back all pages of code and constants. Those in use come back one by one from the page cache, without any
/// reading of a disk.
pub(crate) fn give_back() {
    let Ok(program) = fs::read_link("/proc/self/exe") else { return };
    let Ok(maps) = fs::read_to_string("/proc/self/smaps") else { return };
    let clean = clean_mappings(&maps, &program);
    for Mapping { start, end } in &clean {
        let Some(address) = NonNull::new(std::ptr::without_provenance_mut::<c_void>(*start)) else {
            continue;
        };
        // SAFETY: the pages are a file's own and were never written to, so they come back as they are.
        let _ = unsafe { madvise(address, end - start, MmapAdvise::MADV_DONTNEED) };
    }
    debug!(mappings = clean.len(), "pages of the start given back");
}

/// Gives back what was allocated and is free again.
pub(super) fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only looks at memory that is free.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Returns what can be read from a file again: code, and the program's own constants.
fn clean_mappings(maps: &str, program: &Path) -> Vec<Mapping> {
    let mut found = Vec::new();
    let mut current = None;
    let mut is_past_code = false;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        match (first, second) {
            // Nothing of it is there, or so says a table that somebody made up.
            ("Rss:", "0") => current = None,
            // Something of ours is in it, relocated addresses say, which the file does not have.
            ("Anonymous:" | "Swap:", kib) if kib != "0" => current = None,
            // The last that is said of a mapping.
            ("VmFlags:", _) => found.extend(current.take()),
            (range, rights) if !range.ends_with(':') => {
                let file = words.nth(3).map(Path::new).filter(|path| path.is_absolute());
                let is_own = file == Some(program);
                // Libraries may be on their way in, and their constants are not theirs until they are. Behind the
                // program's code lies what was relocated.
                let is_clean = match rights {
                    "r-xp" => file.is_some(),
                    "r--p" => is_own && !is_past_code,
                    _ => false,
                };
                is_past_code |= is_own && rights == "r-xp";
                current = is_clean.then(|| parse_range(range)).flatten();
            }
            _ => {}
        }
    }
    found
}

fn parse_range(range: &str) -> Option<Mapping> {
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(Mapping { start: number(start)?, end: number(end)? })
}

#[cfg(test)]
mod tests;
