//! A process that dies while it gives the store another key: before and after every change on disk.

use std::os::unix::process::ExitStatusExt as _;

use super::processes::{as_child, home_of_child};
use super::*;
use crate::folder::tests::CRASH_AT;

const TO_PLAIN: &str = "MANIFOLD_TEST_TO_PLAIN";
const VALUES: [(&str, &str); 3] = [("A", "one"), ("B", "two"), ("C", "three")];

fn store(home: &Path, key: Option<&str>) -> Store {
    Store::open(home, Keys::with(key.map(given), Home::new().keyring, home))
}

#[test]
fn child() {
    let Some(home) = home_of_child() else { return };
    let done = match std::env::var_os(TO_PLAIN) {
        Some(_) => store(&home, Some(KEY)).rekey(NewKey::Plain),
        None => store(&home, None).rekey(NewKey::Given(given(KEY))),
    };
    done.unwrap().unwrap();
}

/// Kills it at each step, in a store made anew each time. The record names one key, and that one opens everything.
fn check_every_step(from: Option<&str>, to: Option<&str>) {
    let kind_of_new = if to.is_some() { KeyKind::Variable } else { KeyKind::Plain };
    let (mut before, mut after) = (0, 0);
    for step in 1.. {
        let home = tempfile::tempdir().unwrap();
        VALUES.iter().for_each(|(name, value)| _ = set(&store(home.path(), from), name, value));
        let mut command = as_child("crash::child", home.path());
        command.env(CRASH_AT, step.to_string()).envs(to.is_none().then_some((TO_PLAIN, "1")));
        let ended = command.status().unwrap();
        assert!(ended.success() || ended.signal() == Some(9), "step {step}: {ended}");
        let has_new = store(home.path(), from).kind().unwrap() == Some(kind_of_new);
        check_whole(&store(home.path(), if has_new { to } else { from }), step);
        if ended.success() {
            assert!(has_new && before > 0 && after > 0, "{before} before the change, {after} after it");
            return;
        }
        if has_new { after += 1 } else { before += 1 }
    }
}

/// Every value is there, and the next change clears up: all is as if nothing had been.
fn check_whole(store: &Store, step: usize) {
    for (name, value) in VALUES {
        assert_eq!(get(store, name).unwrap().as_deref(), Some(value), "step {step}");
    }
    assert_eq!(store.list(Kind::Secret).unwrap().len(), 3);
    set(store, "D", "four");
    let listed = store.check().unwrap();
    assert!(listed.len() == 4 && listed.iter().all(|listed| listed.entry.is_ok()), "step {step}");
    let is_left = |name: &str| name.starts_with(".next-") || name.starts_with(".part-");
    let mut names = store.path().read_dir().unwrap();
    assert!(!names.any(|name| is_left(&name.unwrap().file_name().to_string_lossy())), "step {step}");
}

#[test]
fn a_crash_at_any_step_of_sealing_leaves_every_value_readable() {
    check_every_step(None, Some(KEY));
}

#[test]
fn a_crash_at_any_step_of_unsealing_leaves_every_value_readable() {
    check_every_step(Some(KEY), None);
}
