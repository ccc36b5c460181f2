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
mod tests {
    use super::*;

    const MAPS: &str = "\
1000-2000 r--p 00000000 fd:00 7 /bin/manifold
Rss:                1636 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me
2000-5000 r-xp 00001000 fd:00 7 /bin/manifold
Rss:                7348 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
5000-6000 r--p 00004000 fd:00 7 /bin/manifold
Rss:                 552 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me ac
6000-7000 rw-p 00005000 fd:00 7 /bin/manifold
Rss:                  20 kB
Anonymous:            20 kB
VmFlags: rd wr mr mw me ac
8000-9000 rw-p 00000000 00:00 0 [heap]
Rss:                   8 kB
Anonymous:             8 kB
VmFlags: rd wr mr mw me ac
a000-b000 r--p 00000000 fd:00 9 /lib/libc.so.6
Rss:                 152 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
b000-c000 r-xp 00001000 fd:00 9 /lib/libc.so.6
Rss:                1068 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
c000-d000 r-xp 00001000 fd:00 10 /lib/absent.so
Rss:                   0 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
d000-e000 r-xp 00000000 fd:00 11 /lib/patched.so
Rss:                  40 kB
Anonymous:             4 kB
VmFlags: rd ex mr mw me
e000-f000 r-xp 00000000 fd:00 12 /lib/swapped.so
Rss:                  40 kB
Anonymous:             0 kB
Swap:                  4 kB
VmFlags: rd ex mr mw me
f000-f800 r-xp 00000000 00:00 0 [vdso]
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me de
";

    #[test]
    fn only_what_a_file_can_bring_back_is_given_back() {
        let clean = clean_mappings(MAPS, Path::new("/bin/manifold"));
        let expected = [(0x1000, 0x2000), (0x2000, 0x5000), (0xb000, 0xc000)];
        assert_eq!(clean, expected.map(|(start, end)| Mapping { start, end }));
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        give_back();
        assert_eq!("still".to_owned() + " here", "still here");
    }
}
