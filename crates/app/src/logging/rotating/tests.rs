use super::*;

#[test]
fn full_files_move_on_and_the_last_one_goes() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("logs/a.log");
    let mut log = RotatingFile::open(&path, 10, 3).unwrap();
    for line in ["one one one\n", "two two two\n", "three three\n", "four four f\n", "five\n", "and\n"] {
        log.write_all(line.as_bytes()).unwrap();
    }
    let text = |name: &str| {
        let path = home.path().join("logs").join(name);
        // M11
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(text("a.log"), "five\nand\n");
    assert_eq!(text("a.log.1"), "four four f\n");
    assert_eq!(text("a.log.2"), "three three\n");
    assert_eq!(fs::read_dir(home.path().join("logs")).unwrap().count(), 3);
    // The next run goes on where this one was.
    let mut log = RotatingFile::open(&path, 10, 3).unwrap();
    log.write_all(b"more\n").unwrap();
    log.write_all(b"new\n").unwrap();
    assert_eq!((text("a.log"), text("a.log.1")), ("new\n".to_owned(), "five\nand\nmore\n".to_owned()));
}

// F32
#[test]
fn a_folder_that_goes_and_comes_back_is_no_end() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("logs");
    let mut log = RotatingFile::open(&folder.join("a.log"), 10, 2).unwrap();
    log.write_all(b"one one one\n").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    assert!(log.write_all(b"two\n").is_err());
    assert!(log.write_all(b"three\n").is_err());
    fs::remove_file(&folder).unwrap();
    log.write_all(b"four\n").unwrap();
    assert_eq!(fs::read_to_string(folder.join("a.log")).unwrap(), "four\n");
}
