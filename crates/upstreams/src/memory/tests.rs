use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::fake::server;

fn only_file(folder: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "no draft is left behind: {files:?}");
    files[0].clone()
}

#[test]
fn a_verdict_is_remembered_until_the_definition_changes() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::new(Some(home.path().join("a/b")));
    let one = server(r#","args":["x"],"env":{"KEY":"hunter2hunter2"}"#);
    assert_eq!(memory.era(&one), None);
    memory.note_era(&one, Era::Modern);
    assert_eq!(memory.era(&one), Some(Era::Modern));
    memory.note_era(&one, Era::Legacy);
    assert_eq!(memory.era(&one), Some(Era::Legacy));
    for other in [r#","args":["y"],"env":{"KEY":"hunter2hunter2"}"#, r#","args":["x"],"env":{"KEY":"other"}"#]
    {
        assert_eq!(memory.era(&server(other)), None);
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
    let memory = Memory::new(Some(home.path().to_owned()));
    let one = server("");
    memory.note_era(&one, Era::Modern);
    let file = only_file(home.path());
    fs::write(&file, r#"{"format":1, "lists":{ "n":1.0 },"era":"modern","eraAt":1}"#).unwrap();
    assert_eq!(memory.era(&one), None, "too old");
    memory.note_era(&one, Era::Modern);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with(r#"{"format":1, "lists":{ "n":1.0 },"era":"modern","eraAt":1"#)
    );
    assert_eq!(memory.era(&one), Some(Era::Modern));
    memory.forget_era(&one);
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"format":1, "lists":{ "n":1.0 },"server":"s"}"#);
}

#[test]
fn strange_content_is_no_memory() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::new(Some(home.path().to_owned()));
    let one = server("");
    memory.note_era(&one, Era::Modern);
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
        assert_eq!(memory.era(&one), None, "{strange}");
    }
    memory.note_era(&one, Era::Legacy);
    assert_eq!(memory.era(&one), Some(Era::Legacy));
}

#[test]
fn without_a_folder_nothing_is_remembered() {
    let memory = Memory::default();
    memory.note_era(&server(""), Era::Modern);
    assert_eq!(memory.era(&server("")), None);
    let nowhere = Memory::new(Some("/proc/nowhere/at/all".into()));
    nowhere.note_era(&server(""), Era::Modern);
    assert_eq!(nowhere.era(&server("")), None);
}

// F33: a clock that jumps leaves dates no clock can show
#[test]
fn a_date_out_of_reach_is_no_date() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::new(Some(home.path().to_owned()));
    let one = server("");
    memory.note_listing(&one, &Arc::default());
    let file = only_file(home.path());
    let text = fs::read_to_string(&file).unwrap();
    let dated = |at: u64| {
        let (head, tail) = text.split_once(r#""at":"#).unwrap();
        let tail = tail.trim_start_matches(|digit: char| digit.is_ascii_digit());
        fs::write(&file, format!(r#"{head}"at":{at}{tail}"#)).unwrap();
        memory.listing(&one).map(|listing| listing.is_stale())
    };
    assert_eq!(dated(now()), Some(false));
    assert_eq!(dated(now() + 24 * 3600), Some(true));
    assert_eq!(dated(u64::MAX), None);
}

#[test]
fn lists_are_read_as_they_were_written() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::new(Some(home.path().to_owned()));
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
    memory.note_listing(&one, &Arc::new(listing.clone()));
    memory.note_era(&one, Era::Modern);
    memory.note_listing(&one, &Arc::new(listing.clone()));
    assert_eq!(memory.era(&one), Some(Era::Modern));
    let read = memory.listing(&one).unwrap();
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
    let memory = Memory::new(Some(home.path().to_owned())).written_behind(&Tasks::new());
    let (one, other) = (server(r#","args":["1"]"#), server(r#","args":["2"]"#));
    let files = || fs::read_dir(home.path()).unwrap().count();
    memory.note_era(&one, Era::Modern);
    let told = Told::of(&one, Era::Modern, &Raw::from_static("{}"));
    memory.note_listing_for(&one, told, &Arc::default());
    memory.note_era(&other, Era::Legacy);
    assert_eq!(files(), 0, "nobody waits for a file");
    assert_eq!(memory.era(&one), Some(Era::Modern), "but whoever asks knows");
    assert!(memory.listing(&one).is_some());
    assert_eq!(files(), 1);
    // The clock stands still while something is being written.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(files(), 2);
    memory.note_era(&other, Era::Modern);
    memory.settle(&other);
    let again = Memory::new(Some(home.path().to_owned()));
    assert_eq!(again.era(&other), Some(Era::Modern));
}

// D5: what was offered to one set of capabilities is not shown to another, and few sets are kept
#[test]
fn lists_are_kept_for_each_set_of_capabilities_and_era() {
    let home = tempfile::tempdir().unwrap();
    let memory = Memory::new(Some(home.path().to_owned()));
    let one = server("");
    let capabilities = |n: usize| Raw::parse(format!(r#"{{"c{n}":{{}}}}"#)).unwrap();
    let offers = |name: &str| {
        let mut listing = Listing::default();
        let raw = Raw::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        listing.tools.push(manifold_engine::Item { label: name.to_owned(), raw });
        Arc::new(listing)
    };
    let note = |era, n, name: &str| {
        memory.note_listing_for(&one, Told::of(&one, era, &capabilities(n)), &offers(name));
    };
    let known = |n| memory.listing_for(&one, &capabilities(n)).map(|listing| listing.tools[0].label.clone());
    note(Era::Legacy, 1, "a");
    note(Era::Legacy, 2, "b");
    note(Era::Legacy, 1, "c");
    assert_eq!((known(1), known(2), known(3)), (Some("c".to_owned()), Some("b".to_owned()), None));
    memory.note_era(&one, Era::Modern);
    assert_eq!(known(1), None, "it speaks another era now");
    note(Era::Modern, 1, "d");
    assert_eq!(known(1), Some("d".to_owned()));
    assert!(memory.saved(&one).is_some_and(|saved| saved.tools == 1 && saved.age.is_some()));
    for n in 3..40 {
        note(Era::Modern, n, "e");
    }
    let text = fs::read_to_string(only_file(home.path())).unwrap();
    assert_eq!(text.matches("\"listing").count(), 8, "{text}");
    assert!(known(39).is_some());
}
