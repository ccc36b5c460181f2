use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::envelope::{self, RefusalKind};
use crate::framing::encode;

pub(crate) fn show(frame: &Frame) -> String {
    match frame {
        Frame::Message(text) => format!("{:?}\n", String::from_utf8_lossy(text)),
        Frame::Refused { id: None, why } => format!("{why:?}\n"),
        Frame::Refused { id: Some(id), why } => format!("{why:?} for {id}\n"),
    }
}

/// Does as the front end does: hands back what is unfinished.
fn decode(pieces: &[&[u8]], max_bytes: usize, forced: Option<Framing>) -> (Option<Framing>, Vec<Frame>) {
    fn drain(
        decoder: &mut ClientDecoder,
        next: fn(&mut ClientDecoder) -> Option<Frame>,
        frames: &mut Vec<Frame>,
    ) {
        while let Some(frame) = next(decoder) {
            match frame {
                Frame::Message(text) if unfinished(&text) => decoder.gather(text),
                frame => frames.push(frame),
            }
        }
    }
    fn unfinished(text: &Bytes) -> bool {
        envelope::parse(text.clone()).is_err_and(|refusal| refusal.kind == RefusalKind::Unfinished)
    }
    let mut decoder = ClientDecoder::new(max_bytes, forced);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.buffer().extend_from_slice(piece);
        drain(&mut decoder, ClientDecoder::next, &mut frames);
    }
    drain(&mut decoder, ClientDecoder::finish, &mut frames);
    (decoder.framing(), frames)
}

fn check_client(text: &str, expected: Expect) {
    let (framing, frames) = decode(&[text.as_bytes()], 100, None);
    expected.assert_eq(&format!("{framing:?}\n{}", frames.iter().map(show).collect::<String>()));
}

#[test]
fn the_first_bytes_tell_the_framing() {
    check_client(
        "{\"a\":1}\n",
        expect![[r#"
        Some(Newline)
        "{\"a\":1}"
    "#]],
    );
    check_client(
        "\u{feff} \r\n [1]\n",
        expect![[r#"
        Some(Newline)
        "[1]"
    "#]],
    );
    check_client(
        "\n cOnTeNt-Type: x\nContent-Length: 2\n\n{}",
        expect![[r#"
        Some(ContentLength)
        "{}"
    "#]],
    );
    check_client(
        "Contents\n{}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{}"
    "#]],
    );
    check_client(
        "Content",
        expect![[r#"
        Some(Newline)
        Parse
    "#]],
    );
    check_client(
        " \n",
        expect![[r#"
        Some(Newline)
    "#]],
    );
}

#[test]
fn the_framing_is_kept() {
    check_client(
        "{}\nContent-Length: 2\r\n\r\n[]\n",
        expect![[r#"
        Some(Newline)
        "{}"
        Parse
        "[]"
    "#]],
    );
    check_client(
        "Content-Length: 2\r\n\r\n{}\n{\"a\":1}\nContent-Length: 2\r\n\r\n[]",
        expect![[r#"
        Some(ContentLength)
        "{}"
        BadHeader
        "[]"
    "#]],
    );
}

#[test]
fn a_forced_framing_is_not_guessed() {
    let text: &[u8] = b"Content-Length: 2\r\n\r\n{}\n";
    let (framing, frames) = decode(&[text], 100, Some(Framing::Newline));
    assert_eq!((framing, frames.len()), (Some(Framing::Newline), 2));
    let (framing, frames) = decode(&[b"{}\n"], 100, Some(Framing::ContentLength));
    assert_eq!(framing, Some(Framing::ContentLength));
    assert_eq!(frames, [Frame::Refused { id: None, why: FrameError::BadHeader }]);
}

/// Decision 11.
#[test]
fn gathers_a_pretty_printed_message() {
    check_client(
        "{\n  \"a\": [\n    1,\n\n    2\n  ]\n}\n{\"b\":1}\n",
        expect![[r#"
        Some(Newline)
        "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n"
        "{\"b\":1}"
    "#]],
    );
    check_client(
        "{\"a\":{\"b\":1}\n}\n{}\n",
        expect![[r#"
        Some(Newline)
        "{\"a\":{\"b\":1}\n}\n"
        "{}"
    "#]],
    );
    check_client(
        "{\"a\":{\"b\":1}\r\n,\"c\":{}\r\n}",
        expect![[r#"
        Some(Newline)
        "{\"a\":{\"b\":1}\n,\"c\":{}\n}\n"
    "#]],
    );
    check_client(
        "[{}\n,{}]\n[[]\n]\n",
        expect![[r#"
        Some(Newline)
        "[{}\n,{}]\n"
        "[[]\n]\n"
    "#]],
    );
}

/// S1-46.
#[test]
fn one_broken_line_costs_one_error() {
    check_client(
        "{\"jsonrpc\":\"2.0\",\n{\"a\":1}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"a\":1}"
    "#]],
    );
    check_client(
        "{\"a\":\"x\n{\"a\":1}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"a\":1}"
    "#]],
    );
    check_client(
        "hello\n{\"a\":1}\nnull\n7\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"a\":1}"
        "null"
        "7"
    "#]],
    );
    check_client(
        "{\"a\":1} x\n{\"a\":1}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"a\":1}"
    "#]],
    );
    check_client(
        "{\"a\":\n{\"b\":\n\"c\"\n{\"d\":1}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"d\":1}"
    "#]],
    );
    check_client(
        "{\"a\":{\"b\":1}\n{\"c\":1}\n",
        expect![[r#"
        Some(Newline)
        Parse
        "{\"c\":1}"
    "#]],
    );
    check_client(
        "{\"a\":1,\noops\n{}\n",
        expect![[r#"
        Some(Newline)
        Parse
        Parse
        "{}"
    "#]],
    );
}

#[test]
fn an_unfinished_message_at_the_end_is_an_error() {
    check_client(
        "{\"a\":",
        expect![[r#"
        Some(Newline)
        Parse
    "#]],
    );
    check_client(
        "{\"a\":{}\n",
        expect![[r#"
        Some(Newline)
        Parse
    "#]],
    );
    check_client(
        "{\"a\":\n{\"b\":",
        expect![[r#"
        Some(Newline)
        Parse
    "#]],
    );
    check_client(
        "Content-Length: 5\r\n\r\n{\"a\":",
        expect![[r#"
        Some(ContentLength)
        Parse
    "#]],
    );
}

/// F22, T28.
#[test]
fn gathered_text_counts_too() {
    let lines = "  \"x\",\n".repeat(30);
    check_client(
        &format!("{{\"id\":4,\"a\":[\n{lines}1]}}\n{{}}\n"),
        expect![[r#"
        Some(Newline)
        TooLong for 4
        "{}"
    "#]],
    );
    check_client(
        &format!("{{\"a\":[\n{lines}1],\n\"id\":4}}\n{{}}\n"),
        expect![[r#"
        Some(Newline)
        TooLong for 4
        "{}"
    "#]],
    );
    check_client(
        &format!("{{\"id\":4,\"a\":[\n{lines}{{}}\n{{}}\n"),
        expect![[r#"
        Some(Newline)
        TooLong for 4
        "{}"
    "#]],
    );
    check_client(
        &format!("{{\"id\":4,\n\"a\":\"{}\",\n{{}}\n", "x".repeat(100)),
        expect![[r#"
        Some(Newline)
        TooLong for 4
        "{}"
    "#]],
    );
    check_client(
        &format!("{{\"id\":4,\"a\":\"{}\"}}\n{{}}\n", "x".repeat(100)),
        expect![[r#"
        Some(Newline)
        TooLong for 4
        "{}"
    "#]],
    );
    check_client(
        &format!("{{\"a\":\"{}\",\"id\":5}}\n{{}}\n", "x".repeat(99_000)),
        expect![[r#"
        Some(Newline)
        TooLong for 5
        "{}"
    "#]],
    );
}

#[test]
fn what_is_encoded_is_decoded() {
    for framing in [Framing::Newline, Framing::ContentLength] {
        let mut out = BytesMut::new();
        for message in ["{\"é\":1}", "[]", "{}"] {
            encode(framing, message.as_bytes(), &mut out);
        }
        let (detected, frames) = decode(&[&out], 100, None);
        assert_eq!(detected, Some(framing));
        assert_eq!(frames.iter().map(show).collect::<String>(), "\"{\\\"é\\\":1}\"\n\"[]\"\n\"{}\"\n");
    }
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{\"a\":1}", "{\"a\":{}", "}", "{", "\"x\"", ":", ",", "[", "]", "\n", "\r\n", "\n", " ", "1", "tru", "é",
            "Content-Length: 2", "Content-Length: 90", "content-type: y", "\r\n\r\n", "{}", "\u{feff}", "Con", "Content-",
        ]), 0..30),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        max_bytes in prop::sample::select(vec![5usize, 12, 100]),
        forced in prop::sample::select(vec![None, None, Some(Framing::Newline), Some(Framing::ContentLength)]),
    ) {
        let text = parts.concat().into_bytes();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let pieces: Vec<_> = ends.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
        let whole = decode(&[&text], max_bytes, forced);
        prop_assert_eq!(decode(&pieces, max_bytes, forced), whole.clone());
        let bytes: Vec<_> = text.chunks(1).collect();
        prop_assert_eq!(decode(&bytes, max_bytes, forced), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(text in any::<Vec<u8>>(), max_bytes in 0..50usize) {
        decode(&[&text], max_bytes, None);
        decode(&[&text], max_bytes, Some(Framing::ContentLength));
    }

    #[test]
    fn any_pretty_printed_message_is_served(value in crate::scan::tests::any_json(), others in 0..3usize) {
        let text = format!("{{\n \"params\":\n{}}}", value.replace('\r', " "));
        let stream = [text.clone(), "\n{}\n".repeat(others)].concat();
        let (_, frames) = decode(&[stream.as_bytes()], 1 << 20, None);
        prop_assert_eq!(frames.len(), 1 + others);
        let Frame::Message(message) = &frames[0] else { return Err(TestCaseError::fail("refused")) };
        prop_assert_eq!(crate::scan::validate(message), Ok(()));
    }
}
