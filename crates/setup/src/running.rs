//! Whether a program of ours runs that would write over what we write.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// Returns the processes of this user that run a program in this home: by its own name, or as a script of that name.
pub fn running(program: &str, home: &Path) -> Vec<u32> {
    let is_of = |id: &u32| home_of(Path::new("/proc"), *id).is_none_or(|other| is_same(&other, home));
    processes_of(Path::new("/proc"), program).into_iter().filter(is_of).collect()
}

/// Returns the home folder that a process was started with, if that can be known.
fn home_of(proc: &Path, id: u32) -> Option<PathBuf> {
    let variables = fs::read(proc.join(id.to_string()).join("environ")).ok()?;
    let home = variables.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(b"HOME="))?;
    Some(PathBuf::from(OsStr::from_bytes(home)))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Does so where the kernel's files are elsewhere.
pub fn processes_of(proc: &Path, program: &str) -> Vec<u32> {
    let Ok(folders) = fs::read_dir(proc) else { return Vec::new() };
    let us = geteuid().as_raw();
    let mut found: Vec<u32> = folders
        .filter_map(|folder| {
            let folder = folder.ok()?;
            let id: u32 = folder.file_name().to_str()?.parse().ok()?;
            (folder.metadata().ok()?.uid() == us && runs(&folder.path(), program)).then_some(id)
        })
        .collect();
    found.sort_unstable();
    found
}

fn runs(process: &Path, program: &str) -> bool {
    let Ok(words) = fs::read(process.join("cmdline")) else { return false };
    let mut words = words.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let is_it = |word: &str| is_called(word, program);
    let Some(first) = words.next().filter(|first| !first.is_empty()) else { return false };
    // `node --flag /usr/bin/claude`: the first word that is no option is the script.
    let is_interpreter = ["node", "bun", "deno"].iter().any(|name| is_called(&first, name));
    is_it(&first)
        || (is_interpreter && words.find(|word| !word.starts_with('-')).is_some_and(|word| is_it(&word)))
        || fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim_end() == program)
}

fn is_called(word: &str, name: &str) -> bool {
    Path::new(word).file_name().is_some_and(|file| file == name)
}
