//! The program's own text in memory. What only the start needed would else count as ours for as long as we run: the
//! kernel maps sixteen pages for each one used, and a program this size has its parts far apart.
#![expect(unsafe_code, reason = "the kernel is told about addresses")]

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::ptr::NonNull;

use nix::sys::mman::{MmapAdvise, madvise};
use nix::unistd::{SysconfVar, sysconf};
use tracing::debug;

/// How much below ourselves is left alone: what we call is there.
const STACK_IN_USE: usize = 16 << 10;

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
    for mapping in &clean {
        // SAFETY: the pages are a file's own and were never written to, so they come back as they are.
        unsafe { mapping.drop_pages() };
    }
    let here = 0_u8;
    let place = std::ptr::from_ref(std::hint::black_box(&here)).addr();
    if let Some(unused) = page_bytes().and_then(|page_bytes| unused_stack(&maps, place, page_bytes)) {
        // SAFETY: it is the stack that we are on, below all that is in use: whatever is written there next is not read
        // before.
        unsafe { unused.drop_pages() };
    }
    debug!(mappings = clean.len(), "pages of the start given back");
}

impl Mapping {
    /// Has the kernel forget what is in these pages.
    ///
    /// # Safety
    ///
    /// Nobody reads what was there; a file's own pages are read from it again.
    unsafe fn drop_pages(&self) {
        if let Some(address) = NonNull::new(std::ptr::without_provenance_mut::<c_void>(self.start)) {
            // SAFETY: as above.
            let _ = unsafe { madvise(address, self.end - self.start, MmapAdvise::MADV_DONTNEED) };
        }
    }
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

/// Returns the part of the first thread's stack that was used once, where we are on it: reading a command line takes far more
/// of it than waiting does. `here` is an address of something that is in use.
fn unused_stack(maps: &str, here: usize, page_bytes: usize) -> Option<Mapping> {
    let line = maps.lines().find(|line| line.ends_with("[stack]"))?;
    let Mapping { start, end } = parse_range(line.split_ascii_whitespace().next()?)?;
    let last = here.checked_sub(STACK_IN_USE)?;
    let unused = Mapping { start, end: last - last % page_bytes };
    (here < end && start < unused.end).then_some(unused)
}

fn page_bytes() -> Option<usize> {
    sysconf(SysconfVar::PAGE_SIZE).ok()??.try_into().ok()
}

fn parse_range(range: &str) -> Option<Mapping> {
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(Mapping { start: number(start)?, end: number(end)? })
}

#[cfg(test)]
mod tests;
