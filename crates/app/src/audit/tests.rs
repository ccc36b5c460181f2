use std::fs;

use manifold_admin::AuditOutcome;

use super::file::{AuditFile, numbered};
use super::*;

fn line(verb: &str) -> AuditLine {
    AuditLine {
        verb: verb.to_owned(),
        target: Some("git".to_owned()),
        outcome: AuditOutcome::Done,
        ..AuditLine::default()
    }
}

#[test]
fn lines_are_kept_in_order_for_our_eyes_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let audit = Audit::open(home.path()).unwrap();
    for verb in ["stop", "start", "restart"] {
        audit.append(&line(verb));
    }
    audit.flush();
    let last = Audit::last(home.path(), 2).unwrap();
    assert_eq!(last.iter().map(|line| line.verb.as_str()).collect::<Vec<_>>(), ["start", "restart"]);
    assert!(last[0].time.ends_with('Z') && last[0].time.contains('T'), "{}", last[0].time);
    assert_eq!(Audit::last(home.path(), 0).unwrap(), []);
    assert_eq!(Audit::last(home.path(), 9).unwrap().len(), 3);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path(home.path())), mode(path(home.path()).parent().unwrap())), (0o600, 0o700));
}

// Several processes, each with a file of its own open: every line is whole, and none is lost but the oldest.
#[test]
fn a_full_file_begins_anew_whoever_writes() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("audit.jsonl");
    let written = "{\"verb\":\"0123456789\"}\n";
    let max = (written.len() * 10) as u64;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut file = AuditFile::with_limit(&path, max).unwrap();
                for _ in 0..10 {
                    file.write_all(written.as_bytes()).unwrap();
                }
            });
        }
    });
    let sizes: Vec<usize> =
        (0..4).map(|number| fs::read_to_string(numbered(&path, number)).unwrap().len()).collect();
    assert_eq!(sizes, [written.len() * 10; 4]);
    assert_eq!(file::last(&path, 1000).unwrap().len(), 40);
    assert_eq!(file::last(&path, 15).unwrap().len(), 15);
    let mut file = AuditFile::with_limit(&path, max).unwrap();
    for _ in 0..20 {
        file.write_all(written.as_bytes()).unwrap();
    }
    assert!(!numbered(&path, 5).exists());
    assert_eq!(file::last(&path, 1000).unwrap().len(), 50);
}

/// Whoever was killed in the middle of its line takes no other along.
#[test]
fn a_torn_line_is_ended_before_the_next() {
    let home = tempfile::tempdir().unwrap();
    let path = path(home.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"verb\":\"st").unwrap();
    let audit = Audit::open(home.path()).unwrap();
    audit.append(&AuditLine { verb: "stop".to_owned(), ..AuditLine::default() });
    audit.flush();
    let lines = Audit::last(home.path(), 9).unwrap();
    assert_eq!(lines.iter().map(|line| line.verb.as_str()).collect::<Vec<_>>(), ["stop"]);
}

#[test]
fn what_cannot_be_written_or_read_is_said_and_nothing_is_made_to_find_out() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(Audit::fault(home.path()), None);
    assert!(!home.path().join("manifold").exists());
    fs::write(home.path().join("manifold"), "").unwrap();
    assert!(Audit::fault(home.path()).is_some_and(|why| why.contains("audit.jsonl: ")));
    let other = tempfile::tempdir().unwrap();
    fs::create_dir_all(path(other.path())).unwrap();
    assert!(Audit::fault(other.path()).is_some(), "a folder is in its place");
    assert!(Audit::last(other.path(), 5).is_err_and(|why| why.contains("audit.jsonl: ")));
}
