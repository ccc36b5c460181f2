use std::io::Write;
use std::vec::Vec;

use super::*;

#[test]
fn paths_are_spelled_out() {
    let path = ProcPath::of(4_194_304).text(b"/task/").number(i32::MAX).text(b"/children");
    assert_eq!(path.as_c_str(), c"/proc/4194304/task/2147483647/children");
    assert_eq!(ProcPath::of(0).as_c_str(), c"/proc/0");
    assert_eq!(ProcPath::of(1).text(&[b'x'; 100]).as_c_str().count_bytes(), 63);
}

#[test]
fn numbers_are_read_across_pieces() {
    let wanted: Vec<i32> = (0..400).map(|number| number * 7919).collect();
    let (reader, writer) = kernel::pipe().unwrap();
    let mut text = Vec::new();
    for number in &wanted {
        write!(text, "{number} ").unwrap();
    }
    kernel::write(&writer, &text).unwrap();
    // The end of the pipe is the end of the file.
    drop(writer);
    let mut found = Vec::new();
    for_each_number(&reader, &mut |number| found.push(number));
    assert_eq!(found, wanted);
}

#[test]
fn only_whole_numbers_are_numbers() {
    assert_eq!(parse(b"4194304"), Some(4_194_304));
    assert_eq!(parse(b"99999999999"), Some(i32::MAX));
    for text in [&b""[..], b"self", b"1x", b"-1"] {
        assert_eq!(parse(text), None);
    }
    let mut found = Vec::new();
    for_each_numbered_entry(c"/proc/self/task", &mut |thread| found.push(thread)).unwrap();
    assert!(found.contains(&kernel::own_id()), "{found:?}");
    assert_eq!(for_each_numbered_entry(c"/nowhere", &mut |_| {}), Err(Errno::ENOENT));
}
