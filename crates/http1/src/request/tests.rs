use bytes::BytesMut;
use expect_test::{Expect, expect};

use super::*;

/// Reads one head that comes in pieces of `size` bytes.
fn read(text: &str, size: usize) -> Result<Option<(Length, String)>, Malformed> {
    let mut input = BytesMut::new();
    let mut searched = 0;
    for piece in text.as_bytes().chunks(size) {
        input.extend_from_slice(piece);
        if let Some(head) = RequestHead::take(&mut input, searched)? {
            let headers: Vec<_> =
                head.parts.headers.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
            let line = format!(
                "{} {} {:?} [{}] last={} continue={}",
                head.parts.method,
                head.parts.uri,
                head.parts.version,
                headers.join(" "),
                !head.keeps_alive,
                head.expects_continue
            );
            return Ok(Some((head.length, line)));
        }
        searched = input.len();
    }
    Ok(None)
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let whole = read(text, text.len());
    for size in [1, 2, 3, 7] {
        assert_eq!(read(text, size), whole, "in pieces of {size}");
    }
    expected.assert_eq(&format!("{whole:?}"));
}

#[test]
fn a_head_is_the_same_in_any_pieces() {
    check(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n",
        expect![[
            r#"Ok(Some((Known(12), "POST /mcp HTTP/1.1 [host=\"localhost\" content-length=\"12\"] last=false continue=false")))"#
        ]],
    );
    check(
        "\r\nGET /health HTTP/1.0\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n",
        expect![[
            r#"Ok(Some((Known(0), "GET /health HTTP/1.0 [host=\"x\" connection=\"Keep-Alive\"] last=false continue=false")))"#
        ]],
    );
    check(
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nExpect: 100-Continue\r\nConnection: x, CLOSE\r\n\r\n",
        expect![[
            r#"Ok(Some((Chunked, "POST / HTTP/1.1 [transfer-encoding=\"Chunked\" expect=\"100-Continue\" connection=\"x, CLOSE\"] last=true continue=true")))"#
        ]],
    );
    check("GET /half HTTP/1.1\r\nHost: x\r\n", expect!["Ok(None)"]);
}

// T31: where two readers could differ about the end of a request, there is none.
#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let with = |header: &str| {
        read(&format!("POST / HTTP/1.1\r\n{header}\r\n\r\n"), 4096).map(|head| head.unwrap().0)
    };
    assert_eq!(with("Content-Length: 5\r\nContent-Length: 5"), Ok(Length::Known(5)));
    for length in ["+5", "-1", "5 5", "5,5", "0x5", "", "99999999999999999999999", "5\r\nContent-Length: 6"] {
        assert_eq!(with(&format!("Content-Length: {length}")), Err(Malformed::Length), "{length}");
    }
    for coding in
        ["gzip", "chunked, chunked", "gzip, chunked", "xchunked", "chunked\r\nTransfer-Encoding: chunked"]
    {
        assert_eq!(with(&format!("Transfer-Encoding: {coding}")), Err(Malformed::Coding), "{coding}");
    }
    for head in ["Host : x", " Host: x", "Host: x\r\n folded", "Ho st: x", "Host: \u{0}"] {
        assert_eq!(with(head), Err(Malformed::Head), "{head}");
    }
    for both in
        ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5"]
    {
        assert_eq!(with(both), Err(Malformed::Length), "{both}");
    }
    let old = read("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 4096);
    assert_eq!(old, Err(Malformed::Length));
}

#[test]
fn heads_have_their_limits() {
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(70_000));
    assert_eq!(read(&long, 4096), Err(Malformed::TooLarge));
    assert_eq!(read(&format!("{long}\r\n\r\n"), usize::MAX), Err(Malformed::TooLarge));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(101));
    assert_eq!(read(&many, usize::MAX), Err(Malformed::TooLarge));
    for size in 1..25 {
        let preface = read("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", size);
        assert_eq!(preface, Err(Malformed::Preface), "in pieces of {size}");
    }
}

#[test]
fn a_head_comes_again_if_only_its_length_differs() {
    let head = |length: &str, token: &str| {
        format!("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nAuthorization: {token}\r\n\r\n")
    };
    let mut input = BytesMut::from(head("12", "a").as_bytes());
    let mut first = RequestHead::take(&mut input, 0).unwrap().unwrap();
    let mut comes_again = |text: String| {
        let mut input = BytesMut::from(text.as_bytes());
        let is_again = first.again(&mut input);
        assert_eq!(
            input.len(),
            if is_again { 4 } else { text.len() },
            "all of the head is taken, or nothing"
        );
        is_again.then_some(first.length)
    };
    assert_eq!(comes_again(head("12", "a") + "body"), Some(Length::Known(12)));
    assert_eq!(comes_again(head("1234567", "a") + "body"), Some(Length::Known(1_234_567)));
    assert_eq!(comes_again(head("0", "a") + "body"), Some(Length::Known(0)));
    for length in ["", "+5", "5 5", "5 ", "0x5", "99999999999999999999999", "5\r\nContent-Length: 5"] {
        assert_eq!(comes_again(head(length, "a") + "body"), None, "{length}");
    }
    assert_eq!(comes_again(head("12", "b") + "body"), None);
    assert_eq!(comes_again(head("12", "a").replace("Host: x", "Host: xy") + "body"), None);
    let cut = head("12", "a");
    for end in 0..cut.len() {
        assert_eq!(comes_again(cut[..end].to_owned()), None, "cut at {end}");
    }
    let mut two = BytesMut::from(&b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"[..]);
    let again = two.clone();
    let mut two = RequestHead::take(&mut two, 0).unwrap().unwrap();
    assert!(!two.again(&mut again.clone()), "two lengths must be read anew");
}

// M5: a bare LF, a bare CR or a NUL is no end of a line and no part of one.
#[test]
fn lines_end_with_cr_lf_and_nothing_else() {
    let good = "\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nA:\r\nB: b \r\n\r\n";
    assert!(matches!(read(good, good.len()), Ok(Some(_))));
    for (at, _) in good.match_indices("\r\n") {
        for end in ["\n", "\r", "\0", "\n\r", "\r\r\n"] {
            let text = format!("{}{end}{}", &good[..at], &good[at + 2..]);
            for size in [1, 3, text.len()] {
                // One whose last line does not end waits, and is refused once it has.
                let text = format!("{text}\r\n\r\n");
                assert_eq!(read(&text, size), Err(Malformed::Head), "{text:?} in pieces of {size}");
            }
        }
    }
}

// H1: who speaks HTTP/1.0 may end a body with the connection, and no request is found in it.
#[test]
fn a_body_of_no_said_length_is_open_in_the_old_version() {
    let length = |method: &str, version: &str| {
        read(&format!("{method} / HTTP/{version}\r\nConnection: keep-alive\r\n\r\n"), 4096)
            .unwrap()
            .unwrap()
            .0
    };
    for method in ["POST", "PUT", "OPTIONS", "DELETE", "FOO"] {
        assert_eq!(
            (length(method, "1.0"), length(method, "1.1")),
            (Length::Open, Length::Known(0)),
            "{method}"
        );
    }
    for method in ["GET", "HEAD"] {
        assert_eq!(length(method, "1.0"), Length::Known(0), "{method}");
    }
}
