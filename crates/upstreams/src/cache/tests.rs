use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::fake::server;

fn only_file(folder: &Path) -> PathBuf {
    let (salt, files): (Vec<_>, Vec<_>) =
        entries(folder).into_iter().partition(|path| path.ends_with("salt"));
    assert_eq!((salt.len(), files.len()), (1, 1), "no draft is left writer: {files:?}");
    files[0].clone()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

// Saved lists: two users with one definition have no name in common, and a name tells nothing of a secret
#[test]
fn files_are_named_by_a_key_of_ones_own() {
    let one = server(r#","env":{"KEY":"hunter2hunter2"}"#);
    let name = |home: &Path| {
        Cache::new(Some(home.to_owned())).note_era(&one, Era::Modern);
        let mode = fs::metadata(home.join("salt")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, fs::read(home.join("salt")).unwrap().len()), (0o600, 32));
        only_file(home).file_name().unwrap().to_owned()
    };
    let (mine, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = name(mine.path());
    assert_eq!(name(mine.path()), first, "the key is kept");
    assert_ne!(name(theirs.path()), first);
    // A key that others may have seen is replaced, and what was named by it goes.
    set_mode(&mine.path().join("salt"), 0o644);
    assert_eq!(Cache::new(Some(mine.path().to_owned())).era(&one), None);
    assert_ne!(name(mine.path()), first);
}

// Saved lists: what an earlier version named without a key is cleared away
#[test]
fn files_without_a_key_go() {
    let home = tempfile::tempdir().unwrap();
    let old = home.path().join(format!("{}.json", "0a".repeat(32)));
    let other = home.path().join("other.json");
    fs::write(&old, "{}").unwrap();
    fs::write(&other, "{}").unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    assert_eq!(cache.era(&server("")), None);
    assert!(old.exists() && !home.path().join("salt").exists(), "to look changes nothing");
    cache.note_era(&server(""), Era::Modern);
    assert!(!old.exists() && other.exists());
}

// Saved lists: others could put lists of their making there
#[test]
fn a_folder_that_others_can_write_to_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let cache = || Cache::new(Some(home.path().to_owned()));
    cache().note_era(&server(""), Era::Modern);
    assert_eq!(cache().era(&server("")), Some(Era::Modern));
    for mode in [0o777, 0o1777, 0o702] {
        set_mode(home.path(), mode);
        let refused = cache();
        assert_eq!(refused.era(&server("")), None, "{mode:o}");
        refused.note_era(&server(r#","args":["x"]"#), Era::Modern);
        assert_eq!(entries(home.path()).len(), 2, "{mode:o}: nothing is written");
    }
    set_mode(home.path(), 0o700);
    assert_eq!(cache().era(&server("")), Some(Era::Modern));
}

// Saved lists: another user's folder, or link, is not used
#[test]
fn a_folder_of_somebody_else_is_not_used() {
    use std::os::unix::fs::{lchown, symlink};
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can give a folder away");
    }
    let home = tempfile::tempdir().unwrap();
    let (folder, link) = (home.path().join("folder"), home.path().join("link"));
    fs::create_dir(&folder).unwrap();
    symlink(&folder, &link).unwrap();
    let works = |path: &Path| {
        let cache = Cache::new(Some(path.to_owned()));
        cache.note_era(&server(""), Era::Modern);
        cache.era(&server("")).is_some()
    };
    assert!(works(&link), "a link of our own");
    lchown(&link, Some(65534), None).unwrap();
    assert!(works(&folder) && !works(&link));
    lchown(&folder, Some(65534), None).unwrap();
    assert!(!works(&folder));
}

// Saved lists: what was not used for 30 days goes, then the least used until the rest is no more than 256 MiB
#[test]
fn what_nobody_uses_is_cleared_away() {
    let home = tempfile::tempdir().unwrap();
    let day = Duration::from_secs(24 * 3600);
    let now = SystemTime::now();
    let make = |name: &str, days: u32, mib: u64| {
        let path = home.path().join(name);
        let file = fs::File::create(&path).unwrap();
        file.set_len(mib << 20).unwrap();
        file.set_modified(now - day * days).unwrap();
        path
    };
    let named = |digit: &str| format!("{}.json", digit.repeat(64));
    let (fresh, stale) = (make(&named("a"), 29, 0), make(&named("b"), 31, 0));
    let (foreign, salt) = (make("b.json", 99, 0), make("salt", 99, 0));
    let (dead, live) = (make(&format!("{}.1-1.tmp", "c".repeat(64)), 1, 0), make("salt.1.tmp", 0, 0));
    prune::prune(home.path(), now);
    let there = |paths: &[&PathBuf]| paths.iter().map(|path| path.exists()).collect::<Vec<_>>();
    assert_eq!(
        there(&[&fresh, &stale, &foreign, &salt, &dead, &live]),
        [true, false, true, true, false, true]
    );
    let large = [make(&named("d"), 3, 100), make(&named("e"), 1, 100), make(&named("f"), 2, 100)];
    prune::prune(home.path(), now);
    assert_eq!(there(&[&large[0], &large[1], &large[2], &fresh]), [false, true, true, false]);
    // Whatever the clock says, a file that is read counts as used.
    let cache = Cache::new(Some(home.path().to_owned()));
    fs::remove_file(&salt).unwrap();
    cache.note_era(&server(""), Era::Modern);
    let file = only_memory(home.path());
    fs::File::options().write(true).open(&file).unwrap().set_modified(now - day * 29).unwrap();
    cache.era(&server(""));
    assert!(fs::metadata(&file).unwrap().modified().unwrap() >= now);
}

fn only_memory(folder: &Path) -> PathBuf {
    let files: Vec<_> = entries(folder).into_iter().filter(|path| prune::is_memory(path)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn a_verdict_is_remembered_until_the_definition_changes() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().join("a/b")));
    let one = server(r#","args":["x"],"env":{"KEY":"hunter2hunter2"}"#);
    assert_eq!(cache.era(&one), None);
    cache.note_era(&one, Era::Modern);
    assert_eq!(cache.era(&one), Some(Era::Modern));
    cache.note_era(&one, Era::Legacy);
    assert_eq!(cache.era(&one), Some(Era::Legacy));
    for other in [r#","args":["y"],"env":{"KEY":"hunter2hunter2"}"#, r#","args":["x"],"env":{"KEY":"other"}"#]
    {
        assert_eq!(cache.era(&server(other)), None);
    }
    let file = only_file(&home.path().join("a/b"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        !text.contains("hunter2") && text.starts_with(r#"{"format":1,"server":"s","era":"legacy","eraAt":"#),
        "{text}"
    );
}

#[test]
fn what_others_wrote_into_the_file_stays() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    cache.note_era(&one, Era::Modern);
    let file = only_file(home.path());
    fs::write(&file, r#"{"format":1, "lists":{ "n":1.0 },"era":"modern","eraAt":1}"#).unwrap();
    assert_eq!(cache.era(&one), None, "too old");
    cache.note_era(&one, Era::Modern);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with(r#"{"format":1, "lists":{ "n":1.0 },"era":"modern","eraAt":1"#)
    );
    assert_eq!(cache.era(&one), Some(Era::Modern));
    cache.forget_era(&one);
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"format":1, "lists":{ "n":1.0 },"server":"s"}"#);
}

#[test]
fn strange_content_is_no_memory() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    cache.note_era(&one, Era::Modern);
    let file = only_file(home.path());
    let later = now() + 100;
    for strange in [
        "".to_owned(),
        "nonsense".to_owned(),
        "[1]".to_owned(),
        format!(r#"{{"format":2,"era":"modern","eraAt":{}}}"#, now()),
        format!(r#"{{"format":1,"era":"odd","eraAt":{}}}"#, now()),
        format!(r#"{{"format":1,"era":"modern","eraAt":{later}}}"#),
        r#"{"format":1,"era":"modern"}"#.to_owned(),
    ] {
        fs::write(&file, &strange).unwrap();
        assert_eq!(cache.era(&one), None, "{strange}");
    }
    cache.note_era(&one, Era::Legacy);
    assert_eq!(cache.era(&one), Some(Era::Legacy));
}

#[test]
fn without_a_folder_nothing_is_remembered() {
    let cache = Cache::default();
    cache.note_era(&server(""), Era::Modern);
    assert_eq!(cache.era(&server("")), None);
    let nowhere = Cache::new(Some("/proc/nowhere/at/all".into()));
    nowhere.note_era(&server(""), Era::Modern);
    assert_eq!(nowhere.era(&server("")), None);
}

// F33: a clock that jumps leaves dates no clock can show
#[test]
fn a_date_out_of_reach_is_no_date() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    cache.note_listing(&one, &Arc::default());
    let file = only_file(home.path());
    let text = fs::read_to_string(&file).unwrap();
    let dated = |at: u64| {
        let (head, tail) = text.split_once(r#""at":"#).unwrap();
        let tail = tail.trim_start_matches(|digit: char| digit.is_ascii_digit());
        fs::write(&file, format!(r#"{head}"at":{at}{tail}"#)).unwrap();
        cache.listing(&one).map(|listing| listing.is_stale())
    };
    assert_eq!(dated(now()), Some(false));
    assert_eq!(dated(now() + 24 * 3600), Some(true));
    assert_eq!(dated(u64::MAX), None);
}

#[test]
fn lists_are_read_as_they_were_written() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    let mut listing = Listing {
        instructions: Some("say \"please\"".into()),
        capabilities: Some(Raw::from_static(r#"{"tools":{}}"#)),
        ..Listing::default()
    };
    for name in ["a", "b"] {
        let raw = Raw::parse(format!(r#"{{"name":"{name}", "n":1.0}}"#)).unwrap();
        listing.tools.push(manifold_engine::Item { label: name.into(), raw });
    }
    cache.note_listing(&one, &Arc::new(listing.clone()));
    cache.note_era(&one, Era::Modern);
    cache.note_listing(&one, &Arc::new(listing.clone()));
    assert_eq!(cache.era(&one), Some(Era::Modern));
    let read = cache.listing(&one).unwrap();
    assert_eq!((read.instructions, read.capabilities), (listing.instructions, listing.capabilities));
    let texts = |items: &[manifold_engine::Item]| {
        items.iter().map(|item| item.raw.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&read.tools), texts(&listing.tools));
    assert!(read.prompts.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_learnt_together_is_written_once_and_known_at_once() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned())).written_behind(&Tasks::new());
    let (one, other) = (server(r#","args":["1"]"#), server(r#","args":["2"]"#));
    let files = || entries(home.path()).iter().filter(|path| prune::is_memory(path)).count();
    cache.note_era(&one, Era::Modern);
    let told = ListingKey::of(&one, Era::Modern, &Raw::from_static("{}"));
    cache.note_listing_for(&one, told, &Arc::default());
    cache.note_era(&other, Era::Legacy);
    assert_eq!(files(), 0, "nobody waits for a file");
    assert_eq!(cache.era(&one), Some(Era::Modern), "but whoever asks knows");
    assert!(cache.listing(&one).is_some());
    assert_eq!(files(), 1);
    // The clock stands still while something is being written.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(files(), 2);
    cache.note_era(&other, Era::Modern);
    cache.settle(&other);
    let again = Cache::new(Some(home.path().to_owned()));
    assert_eq!(again.era(&other), Some(Era::Modern));
}

// D5: what was offered to one set of capabilities is not shown to another, and few sets are kept
#[test]
fn lists_are_kept_for_each_set_of_capabilities_and_era() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let one = server("");
    let capabilities = |n: usize| Raw::parse(format!(r#"{{"c{n}":{{}}}}"#)).unwrap();
    let offers = |name: &str| {
        let mut listing = Listing::default();
        let raw = Raw::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        listing.tools.push(manifold_engine::Item { label: name.to_owned(), raw });
        Arc::new(listing)
    };
    let note = |era, n, name: &str| {
        cache.note_listing_for(&one, ListingKey::of(&one, era, &capabilities(n)), &offers(name));
    };
    let known = |n| cache.listing_for(&one, &capabilities(n)).map(|listing| listing.tools[0].label.clone());
    note(Era::Legacy, 1, "a");
    note(Era::Legacy, 2, "b");
    note(Era::Legacy, 1, "c");
    assert_eq!((known(1), known(2), known(3)), (Some("c".to_owned()), Some("b".to_owned()), None));
    cache.note_era(&one, Era::Modern);
    assert_eq!(known(1), None, "it speaks another era now");
    note(Era::Modern, 1, "d");
    assert_eq!(known(1), Some("d".to_owned()));
    assert!(cache.saved(&one).is_some_and(|saved| saved.tools == 1 && saved.age.is_some()));
    for n in 3..40 {
        note(Era::Modern, n, "e");
    }
    let text = fs::read_to_string(only_file(home.path())).unwrap();
    assert_eq!(text.matches("\"listing").count(), 8, "{text}");
    assert!(known(39).is_some());
}
