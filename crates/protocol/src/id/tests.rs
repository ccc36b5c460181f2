use super::*;

fn id(text: &'static str) -> Option<Id> {
    Id::from_raw(&Raw::from_static(text))
}

/// S0-6, F10.
#[test]
fn ids_are_echoed_as_spelled() {
    for text in [
        "0",
        "7",
        "-0",
        "-1",
        "1.0",
        "1e3",
        "18446744073709551615",
        "18446744073709551616",
        "\"\"",
        "\"\\u0031\"",
    ] {
        let id = id(text).unwrap();
        let mut out = Vec::new();
        id.write(&mut out);
        assert_eq!(out, text.as_bytes());
        assert_eq!((id.to_string(), id.to_raw().as_str()), (text.to_owned(), text));
        assert!(out.len() <= id.max_len());
    }
}

#[test]
fn only_digits_are_a_number() {
    let numbers = ["0", "12", "-0", "1.0", "1e3", "\"1\""].map(|text| id(text).unwrap().as_u64());
    assert_eq!(numbers, [Some(0), Some(12), None, None, None, None]);
    assert_ne!(id("1"), id("\"1\""));
    assert_eq!(id("1"), Some(Id::number(1)));
}

#[test]
fn nothing_else_is_an_id() {
    assert_eq!(["null", "true", "[]", "{}"].map(id), [None, None, None, None]);
}

#[test]
fn numbers_are_written_in_full() {
    for number in [0, 7, 10, 12_345, u64::MAX] {
        let mut out = Vec::new();
        put_decimal(number, &mut out);
        assert_eq!(out, number.to_string().as_bytes());
    }
}
