use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Both scanners must say the same of a text; only a number at the very end is still open for the second.
fn verdict(text: &[u8]) -> Result<(), ScanError> {
    let whole = validate(text);
    let mut scanner = Scanner::new();
    let streamed = match scanner.feed(text) {
        Progress::NeedMore => scanner.feed(b" "),
        other => other,
    };
    let rest_blank = |consumed: usize| text.iter().skip(consumed).all(|&byte| is_blank(byte));
    match whole {
        Ok(()) => assert!(matches!(streamed, Progress::Done { .. }), "{streamed:?}"),
        Err(ScanError::Unfinished) => {
            let again = Scanner::new().feed(text);
            assert_eq!(again, Progress::NeedMore);
        }
        Err(ScanError::Syntax { at }) => match streamed {
            Progress::Done { consumed } => assert!(!rest_blank(consumed)),
            _ if at == text.len() => {}
            Progress::Wrong { at: wrong } => assert_eq!(wrong, at),
            Progress::NeedMore => panic!("{whole:?}"),
        },
        Err(ScanError::TooDeep { at }) => assert_eq!(streamed, Progress::Wrong { at }),
        Err(ScanError::Utf8 { .. }) => assert_ne!(streamed, Progress::NeedMore),
    }
    whole
}

fn check_scan(texts: &[&str], expected: Expect) {
    let lines = texts.iter().map(|text| format!("{text:?}: {:?}\n", verdict(text.as_bytes())));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn accepts_json() {
    check_scan(
        &[
            "{}",
            " [ ] ",
            "[1,-0,0.5,1e9,-1.25E-3]",
            r#"{"a":[true,false,null],"b":"\u00e9\ud83d\ude00\/"}"#,
            "0",
            "\"\"",
        ],
        expect![[r#"
            "{}": Ok(())
            " [ ] ": Ok(())
            "[1,-0,0.5,1e9,-1.25E-3]": Ok(())
            "{\"a\":[true,false,null],\"b\":\"\\u00e9\\ud83d\\ude00\\/\"}": Ok(())
            "0": Ok(())
            "\"\"": Ok(())
        "#]],
    );
}

#[test]
fn refuses_what_is_not_json() {
    check_scan(
        &[
            "{,}",
            "[1,]",
            r#"{"a" 1}"#,
            "01",
            "+1",
            ".5",
            "1.e5",
            "nul!",
            "'a'",
            "{}{}",
            "[1}",
            r#"{"a":1,}"#,
            "NaN",
            "\u{feff}{}",
        ],
        expect![[r#"
            "{,}": Err(Syntax { at: 1 })
            "[1,]": Err(Syntax { at: 3 })
            "{\"a\" 1}": Err(Syntax { at: 5 })
            "01": Err(Syntax { at: 1 })
            "+1": Err(Syntax { at: 0 })
            ".5": Err(Syntax { at: 0 })
            "1.e5": Err(Syntax { at: 2 })
            "nul!": Err(Syntax { at: 3 })
            "'a'": Err(Syntax { at: 0 })
            "{}{}": Err(Syntax { at: 2 })
            "[1}": Err(Syntax { at: 2 })
            "{\"a\":1,}": Err(Syntax { at: 7 })
            "NaN": Err(Syntax { at: 0 })
            "\u{feff}{}": Err(Syntax { at: 0 })
        "#]],
    );
}

/// F7: half of a surrogate pair is ASCII on the wire, and no affair of the scanner (M12); a control character is none.
#[test]
fn passes_lone_surrogates_and_refuses_control_characters() {
    check_scan(
        &[
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\ud800x""#,
            r#"{"\uDBFF":"\udfff\ud83d\ude00\ud83d"}"#,
            r#""\ud80""#,
            r#""\ud83d\x""#,
            "\"a\nb\"",
            "\"a\0b\"",
            r#""\x41""#,
            r#""\u12g4""#,
        ],
        expect![[r#"
            "\"\\ud800\"": Ok(())
            "\"\\udc00\"": Ok(())
            "\"\\ud800\\ud800\"": Ok(())
            "\"\\ud800x\"": Ok(())
            "{\"\\uDBFF\":\"\\udfff\\ud83d\\ude00\\ud83d\"}": Ok(())
            "\"\\ud80\"": Err(Syntax { at: 6 })
            "\"\\ud83d\\x\"": Err(Syntax { at: 8 })
            "\"a\nb\"": Err(Syntax { at: 2 })
            "\"a\0b\"": Err(Syntax { at: 2 })
            "\"\\x41\"": Err(Syntax { at: 2 })
            "\"\\u12g4\"": Err(Syntax { at: 5 })
        "#]],
    );
}

#[test]
fn knows_a_proper_prefix() {
    check_scan(
        &[
            "",
            " ",
            "{",
            r#"{"a"#,
            r#"{"a":"#,
            "[1,",
            "tru",
            "-",
            "1.",
            "1e",
            r#""\"#,
            r#""\u12"#,
            r#""\ud83d"#,
            r#""\ud83d\ude"#,
        ],
        expect![[r#"
            "": Err(Unfinished)
            " ": Err(Unfinished)
            "{": Err(Unfinished)
            "{\"a": Err(Unfinished)
            "{\"a\":": Err(Unfinished)
            "[1,": Err(Unfinished)
            "tru": Err(Unfinished)
            "-": Err(Unfinished)
            "1.": Err(Unfinished)
            "1e": Err(Unfinished)
            "\"\\": Err(Unfinished)
            "\"\\u12": Err(Unfinished)
            "\"\\ud83d": Err(Unfinished)
            "\"\\ud83d\\ude": Err(Unfinished)
        "#]],
    );
}

/// F7.
#[test]
fn checks_the_encoding() {
    assert_eq!(verdict(b"\"\xff\""), Err(ScanError::Utf8 { at: 1 }));
    assert_eq!(verdict(b"\"\xed\xa0\x80\""), Err(ScanError::Utf8 { at: 1 }));
    assert_eq!(verdict(b"\"\xc0\x80\""), Err(ScanError::Utf8 { at: 1 }));
    assert_eq!(verdict(b"\xc3"), Err(ScanError::Utf8 { at: 0 }));
    assert_eq!(verdict(b"\"\xf0\x9f\x98"), Err(ScanError::Unfinished));
    assert_eq!(verdict("\"\u{e9}\u{20ac}\u{1f600}\u{10ffff}\"".as_bytes()), Ok(()));
}

/// F21.
#[test]
fn caps_the_depth_without_recursion() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert_eq!(verdict(&nested(MAX_DEPTH)), Ok(()));
    assert_eq!(verdict(&nested(MAX_DEPTH + 1)), Err(ScanError::TooDeep { at: MAX_DEPTH }));
    for _ in 0..1000 {
        assert!(validate(&nested(100_000)).is_err());
    }
    let objects = [br#"{"a":"#.repeat(MAX_DEPTH), b"1".to_vec(), b"}".repeat(MAX_DEPTH)].concat();
    assert_eq!(verdict(&objects), Ok(()));
    let objects = br#"{"a":"#.repeat(MAX_DEPTH + 1);
    assert_eq!(verdict(&objects), Err(ScanError::TooDeep { at: MAX_DEPTH * 5 }));
}

#[test]
fn a_closed_container_is_forgotten() {
    check_scan(
        &[r#"[{},{"a":[]},[[{}]],{"b":{}}]"#, r#"[{"a":1],2]"#, r#"{"a":[1},"b":2}"#],
        expect![[r#"
            "[{},{\"a\":[]},[[{}]],{\"b\":{}}]": Ok(())
            "[{\"a\":1],2]": Err(Syntax { at: 7 })
            "{\"a\":[1},\"b\":2}": Err(Syntax { at: 7 })
        "#]],
    );
}

pub(crate) fn any_json() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        4 => "[a-z]{0,20}",
        2 => any::<String>(),
        1 => Just("a\"b\\c\u{1f600}\n\u{7f}".to_owned()),
    ];
    let quoted = text.prop_map(|text| serde_json::to_string(&text).unwrap());
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just(" true ".to_owned()),
        Just(r#""\ud83d\ude00\u0041\/""#.to_owned()),
        Just(r#""\ud83d\uDC00x\udfff""#.to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        quoted.clone(),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..6))
                .prop_map(|items| format!("[ {}\n]", items.join(" ,"))),
            (prop::collection::vec((quoted.clone(), inner), 0..6)).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}\t:{value}")).collect();
                format!("{{{}}}", members.join(",\r\n "))
            }),
        ]
    })
}

fn serde_accepts(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

proptest! {
    #[test]
    fn agrees_with_serde_json(text in any_json()) {
        prop_assert_eq!(verdict(text.as_bytes()), Ok(()));
        prop_assert!(serde_accepts(text.as_bytes()));
    }

    #[test]
    fn agrees_on_broken_json(text in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3) {
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        match how {
            0 => text[at] = byte,
            1 => text.insert(at, b"\"\\{}[],:0e.-u \n"[byte as usize % 15]),
            _ => drop(text.remove(at)),
        }
        let verdict = verdict(&text);
        if verdict.is_ok() {
            prop_assert!(serde_accepts(&text));
        } else {
            prop_assert!(!serde_accepts(&text), "{:?}", verdict);
        }
    }

    #[test]
    fn every_proper_prefix_is_unfinished(text in any_json(), cut in any::<prop::sample::Index>()) {
        let text = format!("[{text}]");
        prop_assert_eq!(verdict(&text.as_bytes()[..cut.index(text.len())]), Err(ScanError::Unfinished));
    }

    #[test]
    fn pieces_do_not_matter(text in any_json(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5), junk in any::<Option<u8>>()) {
        let mut text = text.into_bytes();
        if let Some(byte) = junk {
            let at = cuts.first().map_or(0, |cut| cut.index(text.len()));
            text[at] = byte;
        }
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(text.len())).collect();
        ends.push(text.len());
        ends.sort_unstable();
        let mut scanner = Scanner::new();
        let (mut start, mut streamed) = (0, Progress::NeedMore);
        for end in ends {
            streamed = match scanner.feed(&text[start..end]) {
                Progress::NeedMore => Progress::NeedMore,
                Progress::Done { consumed } => Progress::Done { consumed: start + consumed },
                Progress::Wrong { at } => Progress::Wrong { at: start + at },
            };
            if streamed != Progress::NeedMore {
                break;
            }
            start = end;
        }
        prop_assert_eq!(streamed, Scanner::new().feed(&text));
    }

    #[test]
    fn arbitrary_bytes_never_panic(text in any::<Vec<u8>>()) {
        let _ = verdict(&text);
    }
}

#[test]
fn long_strings_end_where_short_ones_do() {
    for size in [0, 1, 7, 8, 63, 64, 65, 71, 72, 4095, 4096, 4160, 4161, 9000] {
        for stop in [b'"', b'\\', 0x1f, b'\n', 0] {
            let mut text = vec![b'x'; size];
            text.push(stop);
            text.extend_from_slice(b"yyy\"");
            assert_eq!(plain_end(&text, 0), size, "{size} {stop}");
            // A control character counts before a quote that comes after it.
            text.insert(size, 0xe9);
            assert_eq!(plain_end(&text, 0), size + 1, "{size} {stop}");
        }
        assert_eq!(plain_end(&vec![b'x'; size], 0), size);
    }
}
