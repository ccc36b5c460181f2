use std::fs;

use tempfile::TempDir;

use super::*;
use crate::processes_of;

/// A folder of programs, and an environment that has it on its `PATH`.
fn programs(programs: &[(&str, &str)]) -> (TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in programs {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!(".:relative:{}:/usr/bin:/bin", folder.path().display());
    let vars = [("PATH".to_owned(), path), ("ONLY".to_owned(), "this one".to_owned())].into();
    let environment = Environment { vars, cwd: folder.path().to_owned(), ..Environment::default() };
    (folder, environment)
}

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn words_and_variables_reach_it_as_they_are() {
    let (_folder, environment) =
        programs(&[("client", "printf '%s|' \"$@\" \"$ONLY\" \"$HOME\"; echo no >&2; exit 3")]);
    let words = argv(&["client", "a b", "$(touch x)", "'\"", ""]);
    let done = run(&words, &environment, PATIENCE).unwrap();
    assert_eq!(done.stdout, "a b|$(touch x)|'\"||this one||");
    assert_eq!((done.stderr.as_str(), done.status.code()), ("no\n", Some(3)));
}

#[test]
fn it_is_looked_for_in_absolute_folders_only() {
    let (folder, environment) = programs(&[("client", "true")]);
    assert_eq!(find_program("client", &environment), Some(folder.path().join("client")));
    fs::write(folder.path().join("plain"), "").unwrap();
    assert_eq!(find_program("plain", &environment), None);
    let only_here = Environment { vars: [("PATH".to_owned(), ".:".to_owned())].into(), ..environment };
    assert_eq!(find_program("client", &only_here), None);
    assert!(matches!(run(&argv(&["client"]), &only_here, PATIENCE), Err(CommandError::NotFound(_))));
}

#[test]
fn one_that_does_not_end_is_ended_with_its_children() {
    let (folder, environment) = programs(&[("client", "sleep 600 & echo $! > child; wait")]);
    let patience = Duration::from_millis(300);
    // It must have come so far: on a busy machine it may not at the first time.
    let child = loop {
        let error = run(&argv(&["client"]), &environment, patience).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }));
        if let Some(child) =
            fs::read_to_string(folder.path().join("child")).ok().filter(|id| id.ends_with('\n'))
        {
            break child;
        }
    };
    let proc = PathBuf::from("/proc").join(child.trim());
    let is_gone = || !fs::read_to_string(proc.join("cmdline")).is_ok_and(|words| words.starts_with("sleep"));
    while !is_gone() {
        thread::sleep(LOOK_AGAIN);
    }
}

#[test]
fn much_that_it_says_is_cut_and_does_not_stop_it() {
    let (_folder, environment) = programs(&[("client", "head -c 1000000 /dev/zero | tr '\\0' x; exit 0")]);
    let done = run(&argv(&["client"]), &environment, PATIENCE).unwrap();
    assert_eq!((done.stdout.len() as u64, done.status.code()), (MAX_SAID, Some(0)));
}

#[test]
fn a_running_client_is_found_by_its_name_or_its_script() {
    let proc = tempfile::tempdir().unwrap();
    let process = |id: &str, comm: &str, cmdline: &str| {
        let folder = proc.path().join(id);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), cmdline.replace(' ', "\0")).unwrap();
    };
    process("10", "claude", "claude");
    process("11", "node", "node --max-old-space-size=4096 /usr/local/bin/claude --resume");
    process("12", "MainThread", "/opt/claude -p");
    process("13", "vim", "vim claude");
    process("14", "node", "node server.js claude");
    process("15", "kthread", "");
    process("self", "claude", "claude");
    assert_eq!(processes_of(proc.path(), "claude"), [10, 11, 12]);
    assert_eq!(processes_of(Path::new("/nowhere"), "claude"), [0; 0]);
}
