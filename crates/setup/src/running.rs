//! Whether a program of ours runs that would write over what we write.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;

/// Returns the processes of this user that run a program: by its own name, or as a script of that name.
pub fn running(program: &str) -> Vec<u32> {
    processes_of(Path::new("/proc"), program)
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
