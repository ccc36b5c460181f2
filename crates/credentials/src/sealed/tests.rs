use super::*;
use crate::name::Name;

const VALUE: &str = "hunter2-hunter2";

fn key(byte: u8) -> Key {
    Key::from_bytes(&[byte; 32]).unwrap()
}

fn sealed() -> Vec<u8> {
    let head = Head { name: Name::secret("TOKEN").unwrap(), generation: 7 };
    seal(&head, &Value::new(VALUE), &key(1)).unwrap()
}

#[test]
fn what_is_sealed_is_opened_and_stands_nowhere_in_clear() {
    let file = sealed();
    assert!(!file.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()));
    let (head, value) = open(&file, &key(1)).unwrap();
    assert_eq!((head.name.as_str(), head.generation), ("TOKEN", 7));
    assert_eq!(value.expose_text(), Some(VALUE));
    assert_eq!(format!("{value:?} {:?}", key(1)), "*** ***");
    // No two files are alike, though all they hold is.
    assert_ne!(file, sealed());
}

/// The line in clear is as safe as what is sealed: a change anywhere is found.
#[test]
fn every_single_changed_bit_is_found() {
    let file = sealed();
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(open(&changed, &key(1)).is_err(), "byte {at}");
    }
}

#[test]
fn every_cut_is_found() {
    let file = sealed();
    for bytes in 0..file.len() {
        assert!(open(&file[..bytes], &key(1)).is_err(), "{bytes} bytes");
    }
    let longer = [file.as_slice(), b"x"].concat();
    assert_eq!(open(&longer, &key(1)).unwrap_err(), Unread::NotOpened);
}

#[test]
fn another_key_opens_nothing() {
    assert_eq!(open(&sealed(), &key(2)).unwrap_err(), Unread::NotOpened);
}

/// One of an earlier generation cannot pass for a later one, nor one name's for another's.
#[test]
fn the_line_in_clear_is_vouched_for() {
    let file = sealed();
    let end = file.iter().position(|byte| *byte == b'\n').unwrap();
    let line = std::str::from_utf8(&file[..end]).unwrap();
    assert_eq!(line, r#"{"manifold":"credential 1","kind":"secret","name":"TOKEN","generation":7}"#);
    for (from, to) in [("TOKEN", "OTHER"), (":7}", ":8}"), ("credential 1", "credential 2")] {
        let changed = line.replace(from, to);
        assert!(open(&[changed.as_bytes(), &file[end..]].concat(), &key(1)).is_err(), "{to}");
    }
}
