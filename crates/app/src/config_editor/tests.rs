use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Mutex;

use manifold_config::Environment;
use manifold_engine::{BoxFuture, ReloadReport as Report};
use manifold_setup::Journal;
use tempfile::TempDir;

use super::*;

/// A home with a config in it.
struct Home {
    folder: TempDir,
    editor: ConfigEditor,
}

const CONFIG: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"builtin\": \"time\"}\n  }\n}\n";

impl Home {
    fn new(text: Option<&str>) -> Self {
        Self::at("config.json", text)
    }

    fn at(name: &str, text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_owned();
        let path = home.join("files").join(name);
        fs::create_dir(home.join("files")).unwrap();
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let environment = Environment { home: Some(home.clone()), cwd: home, ..Environment::default() };
        let editor =
            ConfigEditor::new(LoadOptions { path: Some(path), environment, ..LoadOptions::default() });
        Self { folder, editor }
    }

    fn path(&self) -> PathBuf {
        self.editor.path().unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }
}

fn disable(id: &str) -> Edit {
    Edit::SetEnabled { id: id.to_owned(), enabled: false }
}

fn put(id: &str) -> Edit {
    Edit::PutServer { id: id.to_owned(), entry: r#"{"builtin": "time"}"#.to_owned() }
}

// Also one that a page or another program asked for.
#[test]
fn a_change_can_be_undone_whoever_asked_for_it() {
    let state = |home: &Home| Journal::open(&home.folder.path().join(".local/state")).unwrap();
    let home = Home::new(Some(CONFIG));
    home.editor.write(&disable("a"), None, Undo::Program).unwrap();
    let permit = Edit::Text(CONFIG.replace("mine", "ours"));
    let changed = home.editor.write(&permit, None, Undo::Program).unwrap();
    let words = |home: &Home| -> Vec<String> {
        state(home).records().unwrap().into_iter().map(|record| record.words).collect()
    };
    assert_eq!(words(&home), ["config edit", "disable a"]);
    assert_eq!(changed.undo, state(&home).records().unwrap().first().map(|record| record.id.clone()));
    let before = home.text();
    assert_eq!(home.editor.write(&disable("a"), None, Undo::Asker).unwrap().undo, None);
    assert_ne!(home.text(), before);
    home.editor.write(&disable("a"), None, Undo::Program).unwrap();
    assert_eq!(words(&home).len(), 2, "what the asker notes, and what changes nothing, is not noted here");
    home.editor.write(&Edit::Text("{".to_owned()), None, Undo::Program).unwrap_err();
    assert_eq!(words(&home).len(), 2, "nor is what was refused");
}

#[test]
fn a_change_is_written_with_its_revision() {
    let home = Home::new(Some(CONFIG));
    let before = home.editor.file().unwrap();
    assert_eq!((before.text.as_str(), before.revision.len()), (CONFIG, 16));
    let changed = home.editor.write(&disable("a"), Some(&before.revision), Undo::Program).unwrap();
    assert_eq!(home.text(), CONFIG.replace("\"time\"}", "\"time\", \"disabled\": true}"));
    assert_eq!(
        (changed.before, &changed.revision),
        (before.revision.clone(), &home.editor.revision().unwrap())
    );
    assert_eq!(changed.report.restarted.len(), 1);
    let stale = home.editor.write(&put("b"), Some(&before.revision), Undo::Program).unwrap_err();
    assert_eq!(stale.code, ErrorCode::Stale);
    let again = home.editor.write(&disable("a"), None, Undo::Program).unwrap();
    assert_eq!(again.before, again.revision);
    let files: Vec<_> = fs::read_dir(home.path().parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn links_modes_and_line_ends_stay() {
    let home = Home::new(None);
    let real = home.folder.path().join("real.json");
    fs::write(&real, CONFIG.replace('\n', "\r\n")).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../real.json", home.path()).unwrap();
    home.editor.write(&put("b"), None, Undo::Program).unwrap();
    assert!(fs::symlink_metadata(home.path()).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
    let text = fs::read_to_string(&real).unwrap();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn a_file_is_made_where_there_was_none() {
    let named = Home::at("new/config.json", None);
    named.editor.write(&put("b"), None, Undo::Program).unwrap();
    assert_eq!(fs::metadata(named.path()).unwrap().mode() & 0o777, 0o600);
    assert!(!named.text().contains("\"time\": {"), "{}", named.text());
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment { home: Some(folder.path().to_owned()), ..Environment::default() };
    let editor = ConfigEditor::new(LoadOptions { environment, ..LoadOptions::default() });
    assert_eq!(editor.file().unwrap().path, None);
    editor.write(&put("b"), None, Undo::Program).unwrap();
    let file = editor.file().unwrap();
    assert!(file.path.unwrap().ends_with(".config/manifold/config.json"));
    assert!(file.text.contains("\"time\": {") && file.text.contains("\"b\": {"), "{}", file.text);
}

#[test]
fn what_cannot_be_used_is_not_written() {
    let home = Home::new(Some(CONFIG));
    for text in ["{", "{\"mcpServers\": 1}"] {
        let error = home.editor.write(&Edit::Text(text.to_owned()), None, Undo::Program).unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigRefused);
        assert!(home.editor.check(text, None).refused.is_some());
    }
    assert_eq!(
        home.editor.write(&disable("x"), None, Undo::Program).unwrap_err().code,
        ErrorCode::UnknownServer
    );
    assert_eq!(home.text(), CONFIG);
}

#[test]
fn an_entry_that_is_wrong_in_itself_is_not_written() {
    let home = Home::new(Some(CONFIG));
    for entry in [r#"{"command": 5}"#, r#"{"command": "x", "url": "http://h"}"#, "{}"] {
        let edit = Edit::PutServer { id: "b".to_owned(), entry: entry.to_owned() };
        let refused = home.editor.write(&edit, None, Undo::Program).unwrap_err();
        assert_eq!(refused.code, ErrorCode::ConfigRefused, "{entry}: {refused}");
    }
    assert_eq!(home.text(), CONFIG);
    // Its program may be installed later.
    let edit = Edit::PutServer { id: "b".to_owned(), entry: r#"{"command": "no-such-program"}"#.to_owned() };
    home.editor.write(&edit, None, Undo::Program).unwrap();
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let home = Home::new(Some(CONFIG));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o444)).unwrap();
    let refused = home.editor.write(&put("b"), None, Undo::Program).unwrap_err();
    assert!(refused.message.contains("cannot be changed"), "{refused}");
    assert_eq!(home.text(), CONFIG);
}

#[test]
fn only_new_problems_are_reported() {
    let home = Home::new(Some("{\"mcpServers\": {\"a\": {\"builtin\": \"time\"}}, \"zzz\": 1}"));
    assert_eq!(home.editor.file().unwrap().problems.len(), 1);
    assert_eq!(home.editor.write(&put("b"), None, Undo::Program).unwrap().report.problems, []);
    let entry = r#"{"command": "/nowhere"}"#.to_owned();
    let changed =
        home.editor.write(&Edit::PutServer { id: "c".to_owned(), entry }, None, Undo::Program).unwrap();
    assert_eq!((changed.report.problems.len(), changed.report.added.len()), (1, 1));
}

#[test]
fn a_check_tells_the_plan() {
    let home = Home::new(Some(CONFIG));
    let check = home.editor.check("{\"mcpServers\": {\"b\": {\"builtin\": \"time\"}}}", None);
    let plan = check.plan.unwrap();
    assert_eq!((plan.added[0].id.as_str(), plan.removed[0].id.as_str()), ("b", "a"));
    assert_eq!(home.text(), CONFIG);
}

// Fifty at once, each with an editor of its own as if they were processes: nothing is lost.
#[test]
fn no_change_is_lost_among_many_writers() {
    let home = Home::new(Some(CONFIG));
    std::thread::scope(|scope| {
        for number in 0..50 {
            let editor = ConfigEditor::new((*home.editor.options).clone());
            scope.spawn(move || editor.write(&put(&format!("s{number}")), None, Undo::Program).unwrap());
        }
    });
    let text = home.text();
    let lost: Vec<i32> = (0..50).filter(|number| !text.contains(&format!("\"s{number}\": "))).collect();
    assert_eq!(lost, Vec::<i32>::new(), "{text}");
    assert!(text.contains("// mine"));
}

struct CountedReloads(Mutex<usize>);

impl Reloader for CountedReloads {
    fn reload(&self) -> BoxFuture<Result<Report, String>> {
        *self.0.lock().unwrap() += 1;
        Box::pin(std::future::ready(Ok(Report::default())))
    }
}

#[tokio::test]
async fn a_change_is_taken_over_and_no_change_is_not() {
    let home = Home::new(Some(CONFIG));
    let reloads = CountedReloads(Mutex::new(0));
    home.editor.edit(disable("a"), None, Undo::Program, &reloads).await.unwrap();
    home.editor.edit(disable("a"), None, Undo::Program, &reloads).await.unwrap();
    assert_eq!(*reloads.0.lock().unwrap(), 1);
}
