use expect_test::{Expect, expect};

use super::super::client::tests::show;
use super::*;

fn decode(text: &str) -> String {
    let mut decoder = ContentLengthDecoder::new(40);
    decoder.buffer().extend_from_slice(text.as_bytes());
    let mut frames: Vec<_> = std::iter::from_fn(|| decoder.next()).collect();
    frames.extend(std::iter::from_fn(|| decoder.finish()));
    frames.iter().map(show).collect()
}

fn check_frames(text: &str, expected: Expect) {
    expected.assert_eq(&decode(text));
}

/// S1-37.
#[test]
fn reads_headers_as_they_come() {
    check_frames(
        "Content-Length: 2\r\n\r\n{}Content-Type: x; charset=utf-8\r\ncontent-LENGTH:4\r\nX-Other: y\r\n\r\n\"é\"\n\ncontent-length: 2 \n\n[]",
        expect![[r#"
            "{}"
            "\"é\""
            "[]"
        "#]],
    );
}

#[test]
fn a_bad_header_costs_one_message() {
    let bad = [
        "Content-Length: abc\r\n\r\n{\"a\":1}",
        "Content-Length: -5\r\n\r\n{\"a\":1}",
        "Content-Length:\r\n\r\n{\"a\":1}\n",
        "Content-Length: 99999999999999999999\r\n\r\n{\"a\":1}",
        "Content-Length: 9999999999999\r\n\r\n{\"a\":1}",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{\"a\":1}",
        "Content-Type: x\r\n\r\n{\"a\":1}",
        "Content- oops\r\n",
        "Content-Length: x\n{\"a\":1}\n",
        "{\"a\":1}\n",
        "garbage\ncontent\n}\nConten\n",
    ];
    let good = "Content-Length: 2\r\n\r\n{}";
    let stream: String = bad.iter().flat_map(|bad| [bad, good]).collect();
    let expected = "BadHeader\n\"{}\"\n".repeat(bad.len());
    assert_eq!(decode(&stream), expected);
}

#[test]
fn the_same_length_twice_is_well() {
    check_frames(
        "Content-Length: 2\nContent-Length: 2\n\n{}",
        expect![[r#"
        "{}"
    "#]],
    );
}

#[test]
fn an_endless_header_is_refused() {
    check_frames(
        &format!("Content-Length: {}\n\n{{}}\nContent-Length: 2\n\n[]", " ".repeat(MAX_HEADER_BYTES)),
        expect![[r#"
            BadHeader
            "[]"
        "#]],
    );
}

/// F22.
#[test]
fn a_long_body_is_dropped_as_it_comes() {
    let body = format!("{{\"id\":9,\"a\":\"{}\"}}", "x".repeat(50));
    check_frames(
        &format!("Content-Length: {}\r\n\r\n{body}Content-Length: 2\r\n\r\n{{}}", body.len()),
        expect![[r#"
            TooLong for 9
            "{}"
        "#]],
    );
}

#[test]
fn the_end_may_come_anywhere() {
    check_frames(
        "Content-Length: 5\r\n\r\n{}",
        expect![[r#"
        Parse
    "#]],
    );
    check_frames(
        "Content-Length: 5\r\n",
        expect![[r#"
        BadHeader
    "#]],
    );
    check_frames(
        "Content-Len",
        expect![[r#"
        BadHeader
    "#]],
    );
    check_frames(
        "Content-Length: 50\r\n\r\n{\"id\":3,",
        expect![[r#"
        TooLong for 3
    "#]],
    );
    check_frames(
        "Content-Length: 0\r\n\r\n\r\n",
        expect![[r#"
        ""
    "#]],
    );
}
