use std::os::unix::fs::MetadataExt;

use tempfile::TempDir;

use super::*;
use crate::error::WriteError;
use crate::file::{Rules, TargetFile};
use crate::undo::Which;

fn home() -> (TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(&folder.path().join("state")).unwrap();
    (folder, journal)
}

fn target(home: &TempDir, name: &str) -> TargetFile {
    let rules = Rules::Client { home: home.path().to_owned() };
    TargetFile::find(&home.path().join(name), &rules).unwrap()
}

#[test]
fn a_record_is_there_before_the_file_and_only_ours_to_read() {
    let (home, journal) = home();
    let mut changes = journal.begin("install", "install cursor");
    assert_eq!(journal.records().unwrap().len(), 0);
    let file = target(&home, ".cursor/mcp.json");
    changes.note(&file, None, Some(b"new"), Back::None).unwrap();
    let [record] = &journal.records().unwrap()[..] else { panic!("no record") };
    assert_eq!((record.verb.as_str(), record.words.as_str()), ("install", "install cursor"));
    assert!(record.id.ends_with("Z-install"), "{}", record.id);
    assert_eq!(record.changes[0].folders, [file.path().parent().unwrap()]);
    let folder = changes.folder().unwrap();
    for path in [folder.parent().unwrap(), &folder] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }
    for entry in fs::read_dir(&folder).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(changes.finish().unwrap(), Some(record.id.clone()));
}

#[test]
fn what_changed_nothing_leaves_no_record() {
    let (home, journal) = home();
    assert_eq!(journal.begin("install", "").finish().unwrap(), None);
    let file = target(&home, ".cursor/mcp.json");
    let mut changes = journal.begin("install", "");
    let error = changes.write(&file, Some(b"other"), b"new", Back::None).unwrap_err();
    assert!(matches!(error, WriteError::Changed(_)));
    let same: Result<bool, WriteError> = changes.edit(&file, &Back::None, |_| Ok(None));
    assert!(!same.unwrap());
    let watch = changes.watch(&file, Back::None).unwrap();
    assert!(!changes.settle(watch).unwrap());
    assert_eq!(changes.finish().unwrap(), None);
    assert_eq!(journal.records().unwrap().len(), 0);
    assert!(!home.path().join(".cursor").exists());
}

// The disk is full, or the folder is not there: a write that fails is no change.
#[test]
fn a_write_that_fails_is_out_of_the_record_again() {
    let (home, journal) = home();
    let (good, bad) = (target(&home, "good"), target(&home, "sub/bad"));
    let mut changes = journal.begin("install", "");
    changes.write(&good, None, b"1", Back::None).unwrap();
    // A file where a folder has to be.
    fs::write(home.path().join("sub"), "").unwrap();
    changes.write(&bad, None, b"1", Back::None).unwrap_err();
    changes.finish().unwrap();
    let record = journal.records().unwrap().remove(0);
    assert_eq!(record.changes.iter().map(|change| change.path.as_path()).collect::<Vec<_>>(), [good.named()]);
}

#[test]
fn thirty_are_kept_and_the_last_comes_first() {
    let (home, journal) = home();
    let file = target(&home, "file");
    for number in 0..35 {
        let mut changes = journal.begin("add", &format!("add {number}"));
        let done: Result<bool, WriteError> =
            changes.edit(&file, &Back::None, |_| Ok(Some(number.to_string().into_bytes())));
        assert!(done.unwrap());
        changes.finish().unwrap();
    }
    let words: Vec<String> = journal.records().unwrap().into_iter().map(|record| record.words).collect();
    assert_eq!(words, (5..35).rev().map(|number| format!("add {number}")).collect::<Vec<_>>());
}

#[test]
fn a_clock_that_was_set_back_changes_no_order() {
    let (home, journal) = home();
    let file = target(&home, "file");
    let mut changes = journal.begin("add", "first");
    changes.write(&file, None, b"1", Back::None).unwrap();
    let folder = changes.folder().unwrap();
    changes.finish().unwrap();
    // As if the clock had been an hour ahead.
    let mut record = journal.records().unwrap().remove(0);
    let ahead = Timestamp::now() + SignedDuration::from_hours(1);
    record.at = ahead.to_string();
    record.id = format!("{}-add", ahead.strftime("%Y%m%dT%H%M%S.%6fZ"));
    fs::rename(&folder, journal.folder_of(&record)).unwrap();
    record.save(&journal.folder_of(&record)).unwrap();
    let mut changes = journal.begin("add", "second");
    changes.write(&file, Some(b"1"), b"2", Back::None).unwrap();
    changes.finish().unwrap();
    assert_eq!(journal.records().unwrap()[0].words, "second");
    assert_eq!(journal.undo(Which::Last, &crate::undo::tests::Nobody).unwrap().words, "second");
    assert_eq!(fs::read(file.path()).unwrap(), b"1");
}

// Each with a journal of its own, as if they were processes: nothing is lost, and every one has had its record.
#[test]
fn two_hundred_writers_lose_nothing() {
    let (home, journal) = home();
    let file = target(&home, "file");
    let folder = home.path().join("state");
    std::thread::scope(|scope| {
        for number in 0..200 {
            let (file, folder) = (&file, &folder);
            scope.spawn(move || {
                let mut changes = Journal::open(folder).unwrap().begin("add", "add");
                let done: Result<bool, WriteError> = changes.edit(file, &Back::None, |old| {
                    let old = old.unwrap_or_default();
                    Ok(Some([old, format!("{number}\n").as_bytes()].concat()))
                });
                assert!(done.unwrap());
                changes.finish().unwrap().unwrap();
            });
        }
    });
    let text = fs::read_to_string(file.path()).unwrap();
    let mut numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    journal.prune().unwrap();
    assert_eq!(journal.records().unwrap().len(), KEPT);
    let others: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(others.len(), 2, "{others:?}");
}
