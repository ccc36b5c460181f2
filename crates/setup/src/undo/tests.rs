use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::file::Rules;
use crate::journal::Changes;

/// No gateway runs.
pub(crate) struct Nobody;

impl ConfigKeeper for Nobody {
    fn serves(&self, _: &Path) -> bool {
        false
    }

    fn write(&self, _: &Path, _: &str, _: &str) -> Result<bool, WriteError> {
        panic!("nobody is to write it")
    }

    fn wrote(&self, _: &Path, _: Option<&[u8]>, _: Option<&[u8]>) {}
}

struct Home {
    folder: TempDir,
    journal: Journal,
}

const BEFORE: &str = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
const AFTER: &str = "{\n  // mine\n  \"mcpServers\": {\"m\": {\"command\": \"/m\"}}\n}\n";

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("state")).unwrap();
        Self { folder, journal }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str) -> TargetFile {
        let rules = Rules::Client { home: self.folder.path().to_owned() };
        TargetFile::find(&self.path(name), &rules).unwrap()
    }

    fn begin(&self, words: &str) -> Changes {
        self.journal.begin("install", words)
    }

    /// Has a command put our entry into a file.
    fn install(&self, name: &str, before: Option<&str>) {
        let path = self.path(name);
        if let Some(before) = before {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, before).unwrap();
        }
        let mut changes = self.begin(&format!("install {name}"));
        let before = before.map(str::as_bytes);
        changes.write(&self.file(name), before, AFTER.as_bytes(), Back::entry(name, "m")).unwrap();
        changes.finish().unwrap();
    }

    fn undo(&self) -> Undone {
        self.journal.undo(Which::Last, &Nobody).unwrap()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

#[test]
fn a_file_gets_its_bytes_and_its_mode_back() {
    let home = Home::new();
    home.install("mcp.json", Some(BEFORE));
    fs::set_permissions(home.path("mcp.json"), fs::Permissions::from_mode(0o640)).unwrap();
    let undone = home.undo();
    assert_eq!(undone.restored, [home.path("mcp.json")]);
    assert_eq!((undone.removed.len(), undone.left.len()), (0, 0));
    assert_eq!(home.text("mcp.json"), BEFORE);
    assert_eq!(fs::metadata(home.path("mcp.json")).unwrap().mode() & 0o777, 0o640);
    assert!(matches!(home.journal.undo(Which::Last, &Nobody), Err(UndoError::Nothing)));
}

#[test]
fn a_file_that_was_made_goes_with_its_empty_folders() {
    let home = Home::new();
    home.install(".a/b/mcp.json", None);
    assert_eq!(home.undo().removed, [home.path(".a/b/mcp.json")]);
    assert!(!home.path(".a").exists());
    home.install(".a/b/mcp.json", None);
    fs::write(home.path(".a/theirs"), "").unwrap();
    home.undo();
    assert!(!home.path(".a/b").exists() && home.path(".a/theirs").exists());
}

// opencode adds its schema to whatever it reads.
#[test]
fn a_file_that_was_made_goes_though_its_program_has_put_its_own_into_it() {
    let home = Home::new();
    let mut changes = home.begin("one");
    let file = home.file("opencode/opencode.json");
    let ours = "{\n  \"mcp\": {\n    \"m\": {\"type\": \"local\", \"command\": [\"/m\"]}\n  }\n}\n";
    changes.write(&file, None, ours.as_bytes(), Back::entry("opencode", "m")).unwrap();
    changes.finish().unwrap();
    let schema = "{\n  \"$schema\": \"https://opencode.ai/config.json\",";
    fs::write(file.path(), ours.replacen('{', schema, 1)).unwrap();
    assert_eq!(home.undo().removed, [file.named()]);
    assert!(!home.path("opencode").exists());
}

#[test]
fn one_after_the_other_the_last_first() {
    let home = Home::new();
    home.install("one.json", Some(BEFORE));
    home.install("two.json", None);
    assert_eq!(home.undo().words, "install two.json");
    assert_eq!(home.undo().words, "install one.json");
    assert!(matches!(home.journal.undo(Which::Last, &Nobody), Err(UndoError::Nothing)));
    assert_eq!((home.text("one.json").as_str(), home.path("two.json").exists()), (BEFORE, false));
}

#[test]
fn a_file_that_was_written_twice_by_one_command() {
    let home = Home::new();
    fs::write(home.path("x"), "0").unwrap();
    let mut changes = home.begin("init");
    changes.write(&home.file("x"), Some(b"0"), b"1", Back::None).unwrap();
    changes.write(&home.file("x"), Some(b"1"), b"2", Back::None).unwrap();
    changes.write(&home.file("y"), None, b"2", Back::None).unwrap();
    changes.finish().unwrap();
    let undone = home.undo();
    assert_eq!((undone.restored, undone.removed), (vec![home.path("x")], vec![home.path("y")]));
    assert_eq!(home.text("x"), "0");
}

#[test]
fn only_our_entry_leaves_a_file_that_has_moved_on() {
    let home = Home::new();
    home.install("mcp.json", Some(BEFORE));
    fs::write(home.path("mcp.json"), AFTER.replace("// mine", "// mine\n  \"count\": 5,")).unwrap();
    assert_eq!(home.undo().restored, [home.path("mcp.json")]);
    assert_eq!(home.text("mcp.json"), BEFORE.replace("// mine", "// mine\n  \"count\": 5,"));
}

#[test]
fn what_cannot_be_taken_back_is_left_with_the_reason() {
    let home = Home::new();
    let left = |change: &dyn Fn(&Path)| {
        home.install("mcp.json", Some(BEFORE));
        change(&home.path("mcp.json"));
        let undone = home.undo();
        assert_eq!(undone.restored.len() + undone.removed.len(), 0);
        let [Left { why, .. }] = &undone.left[..] else { panic!("{undone:?}") };
        fs::remove_file(home.path("mcp.json")).ok();
        why.clone()
    };
    let edited = |path: &Path| fs::write(path, AFTER.replace("/m", "/n")).unwrap();
    assert_eq!(left(&edited), "somebody has changed mcpServers.m since");
    assert!(left(&|path| fs::write(path, "{").unwrap()).starts_with("it has changed since: "));
    assert_eq!(left(&|path| fs::remove_file(path).unwrap()), "somebody has removed it since");
    let readonly = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(left(&readonly).contains("keep us from writing it"));
    let elsewhere = |path: &Path| {
        fs::rename(path, home.path("other")).unwrap();
        symlink("other", path).unwrap();
    };
    assert!(left(&elsewhere).starts_with("it leads to "));
}

// What was left can be asked for by name once it is put right.
#[test]
fn a_command_can_be_named() {
    let home = Home::new();
    home.install("mcp.json", Some(BEFORE));
    let id = home.journal.records().unwrap()[0].id.clone();
    fs::write(home.path("mcp.json"), "{").unwrap();
    assert_eq!(home.undo().left.len(), 1);
    assert!(matches!(home.journal.undo(Which::Last, &Nobody), Err(UndoError::Nothing)));
    fs::write(home.path("mcp.json"), AFTER).unwrap();
    assert_eq!(home.journal.undo(Which::Record(&id), &Nobody).unwrap().restored.len(), 1);
    for wrong in ["../../x", "x"] {
        assert!(matches!(home.journal.undo(Which::Record(wrong), &Nobody), Err(UndoError::NoSuchRecord(_))));
    }
}

#[test]
fn the_files_of_one_client_only() {
    let home = Home::new();
    let mut changes = home.begin("install --all");
    for name in ["a", "b"] {
        changes.write(&home.file(name), None, AFTER.as_bytes(), Back::entry(name, "m")).unwrap();
    }
    changes.finish().unwrap();
    assert_eq!(home.journal.undo(Which::Client("a"), &Nobody).unwrap().removed, [home.path("a")]);
    assert!(matches!(home.journal.undo(Which::Client("a"), &Nobody), Err(UndoError::NothingOf(_))));
    assert_eq!(home.undo().removed, [home.path("b")]);
    assert!(matches!(home.journal.undo(Which::Last, &Nobody), Err(UndoError::Nothing)));
}

// The command died between record and file, in the middle of the file, or right after it.
#[test]
fn what_a_crash_left_is_undone() {
    let home = Home::new();
    fs::write(home.path("x"), BEFORE).unwrap();
    let mut changes = home.begin("one");
    changes.note(&home.file("x"), Some(BEFORE.as_bytes()), Some(AFTER.as_bytes()), Back::None).unwrap();
    drop(changes);
    assert_eq!(home.undo(), Undone { words: "one".to_owned(), ..Undone::default() });
    assert_eq!(home.text("x"), BEFORE);
    let mut changes = home.begin("two");
    changes.write(&home.file("x"), Some(BEFORE.as_bytes()), AFTER.as_bytes(), Back::None).unwrap();
    drop(changes);
    let draft = home.journal.records().unwrap()[0].changes[0].draft.clone().unwrap();
    fs::write(&draft, "half a te").unwrap();
    assert_eq!(home.undo().restored.len(), 1);
    assert_eq!((home.text("x").as_str(), draft.exists()), (BEFORE, false));
}

// A client's own command was at it.
#[test]
fn what_another_program_wrote_is_undone_though_nobody_saw_its_end() {
    let home = Home::new();
    fs::write(home.path("x"), BEFORE).unwrap();
    for (is_seen, count) in [(true, 1), (false, 2)] {
        let mut changes = home.begin("one");
        let watch = changes.watch(&home.file("x"), Back::entry("claude-code", "m")).unwrap();
        let written = AFTER.replace("\"mcp", &format!("\"count\": {count}, \"mcp"));
        fs::write(home.path("x"), &written).unwrap();
        if is_seen {
            assert!(changes.settle(watch).unwrap());
        }
        drop(changes);
        assert_eq!(home.undo().restored.len(), 1);
        let kept = if is_seen { BEFORE.to_owned() } else { BEFORE.replace("\"mcp", "\"count\": 2, \"mcp") };
        assert_eq!(home.text("x"), kept);
        fs::write(home.path("x"), BEFORE).unwrap();
    }
}

// The undo itself died after the first of two files, before it could say so.
#[test]
fn an_undo_that_broke_off_is_repeated() {
    let home = Home::new();
    let mut changes = home.begin("one");
    changes.write(&home.file("x"), None, b"x", Back::None).unwrap();
    changes.write(&home.file("d/y"), None, b"y", Back::None).unwrap();
    changes.finish().unwrap();
    fs::remove_file(home.path("d/y")).unwrap();
    let undone = home.undo();
    assert_eq!((undone.removed, undone.left), (vec![home.path("x")], vec![]));
    assert!(!home.path("d").exists());
}

// Out again while nobody else was at it: as if it had never been there.
#[test]
fn what_stood_there_before_is_known_until_somebody_else_writes() {
    let home = Home::new();
    home.install("d/mcp.json", None);
    let path = home.path("d/mcp.json");
    let original = home.journal.original(&path, AFTER.as_bytes(), "m").unwrap().unwrap();
    assert_eq!((original.text, original.folders.len()), (None, 1));
    for (now, name) in [(BEFORE, "m"), (AFTER, "other")] {
        assert_eq!(home.journal.original(&path, now.as_bytes(), name).unwrap(), None);
    }
    let mut changes = home.begin("uninstall");
    let file = home.file("d/mcp.json");
    changes.remove(&file, b"other", &original.folders, Back::entry("c", "m")).unwrap_err();
    changes.remove(&file, AFTER.as_bytes(), &original.folders, Back::entry("c", "m")).unwrap();
    changes.finish().unwrap();
    assert!(!home.path("d").exists());
    assert_eq!(home.undo().restored, [path]);
    assert_eq!(home.text("d/mcp.json"), AFTER);
    assert_eq!(home.undo().removed.len(), 1);
    assert!(!home.path("d").exists());
}

#[test]
fn a_damaged_backup_is_not_written() {
    let home = Home::new();
    home.install("mcp.json", Some(BEFORE));
    let folder = home.journal.folder_of(&home.journal.records().unwrap()[0]);
    fs::write(folder.join("1"), "nonsense").unwrap();
    assert_eq!(home.undo().left[0].why, "its backup is damaged");
    assert_eq!(home.text("mcp.json"), AFTER);
}

// What is in the way may go; until then the command is the one to be undone.
#[test]
fn what_cannot_be_written_now_is_undone_later() {
    let home = Home::new();
    home.install("older", Some(BEFORE));
    home.install("file", Some(BEFORE));
    fs::set_permissions(home.path("file"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(home.undo().left.len(), 1);
    fs::set_permissions(home.path("file"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(home.undo().restored, [home.path("file")]);
    assert_eq!(home.undo().restored, [home.path("older")]);
}

#[test]
fn what_came_later_is_told() {
    let home = Home::new();
    home.install("a.json", Some(BEFORE));
    let first = home.journal.records().unwrap()[0].id.clone();
    let mut changes = home.begin("install it once more");
    let more = AFTER.replace("/m", "/n");
    changes
        .write(&home.file("a.json"), Some(AFTER.as_bytes()), more.as_bytes(), Back::entry("a.json", "m"))
        .unwrap();
    let second = changes.finish().unwrap().unwrap();
    home.install("b.json", Some(BEFORE));
    let undone = home.journal.undo(Which::Record(&first), &Nobody).unwrap();
    assert_eq!(undone.later, [(second, "install it once more".to_owned())]);
    assert_eq!(undone.left.len(), 1, "{undone:?}");
    assert_eq!(home.text("a.json"), more, "it is another's by now");
    assert!(!undone.is_blocked);
}

#[test]
fn a_config_that_is_served_is_written_by_the_gateway() {
    struct Gateway(PathBuf, std::cell::Cell<bool>);
    impl ConfigKeeper for Gateway {
        fn serves(&self, file: &Path) -> bool {
            file == self.0
        }

        fn write(&self, file: &Path, old: &str, new: &str) -> Result<bool, WriteError> {
            assert_eq!((old, new), (AFTER, BEFORE));
            if self.1.get() {
                fs::write(file, new).unwrap();
            }
            Ok(self.1.get())
        }

        fn wrote(&self, _: &Path, _: Option<&[u8]>, _: Option<&[u8]>) {
            assert!(!self.1.replace(true), "only what it refused is written by us");
        }
    }
    for takes in [true, false] {
        let home = Home::new();
        let path = home.path("config.json").parent().unwrap().canonicalize().unwrap().join("config.json");
        fs::write(&path, BEFORE).unwrap();
        let file = TargetFile::find(&path, &Rules::Own { home: None }).unwrap();
        let mut changes = home.begin("add m");
        changes.write(&file, Some(BEFORE.as_bytes()), AFTER.as_bytes(), Back::Config).unwrap();
        changes.finish().unwrap();
        let gateway = Gateway(path.clone(), std::cell::Cell::new(takes));
        let undone = home.journal.undo(Which::Last, &gateway).unwrap();
        assert_eq!((undone.restored, home.text("config.json")), (vec![path], BEFORE.to_owned()));
        assert!(gateway.1.get());
    }
}

#[test]
fn what_was_written_of_an_entry_is_known() {
    let home = Home::new();
    home.install("mcp.json", Some(BEFORE));
    assert_eq!(home.journal.written(&home.path("mcp.json"), "m").as_deref(), Some(AFTER));
    assert_eq!(home.journal.written(&home.path("mcp.json"), "other"), None);
    home.undo();
    assert_eq!(home.journal.written(&home.path("mcp.json"), "m"), None);
}
