use expect_test::{Expect, expect};
use proptest::prelude::*;

use bytes::{Buf, Bytes};

use super::*;
use crate::Frames;

fn decode(pieces: &[&[u8]], max_bytes: usize) -> Vec<Frame> {
    let mut decoder = TripleNewlineDecoder::new(max_bytes);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.buffer().extend_from_slice(piece);
        frames.extend(std::iter::from_fn(|| decoder.next()));
    }
    frames.extend(std::iter::from_fn(|| decoder.finish()));
    frames
}

fn check_frames(pieces: &[&[u8]], expected: Expect) {
    let shown: String = decode(pieces, 24).iter().map(|frame| format!("{frame:?}\n")).collect();
    expected.assert_eq(&shown);
}

// S4-2
#[test]
fn a_message_of_many_lines_ends_at_three_newlines() {
    check_frames(
        &[b"{\n\n\"a\":\n 1}\n\n\n{}\n\n\n"],
        expect![[r#"
            Message(b"{\n\n\"a\":\n 1}")
            Message(b"{}")
        "#]],
    );
}

#[test]
fn only_the_terminator_ends_a_message() {
    let mut decoder = TripleNewlineDecoder::new(100);
    decoder.buffer().extend_from_slice(b"{}\n\n");
    assert_eq!(decoder.next(), None);
    decoder.buffer().extend_from_slice(b"\n");
    assert_eq!(decoder.next(), Some(Frame::Message("{}".into())));
}

#[test]
fn tolerates_carriage_returns_a_bom_and_blank_noise() {
    check_frames(
        &[b"\xef\xbb\xbf{\r\n}\r\n\r\n\r\n \r\n\n\n\n\t\n[]\n\r\r\n\n\r\n{}\n\n\n\n\n"],
        expect![[r#"
            Message(b"{\r\n}")
            Message(b"[]")
            Message(b"{}")
        "#]],
    );
}

#[test]
fn an_escaped_terminator_is_part_of_its_string() {
    check_frames(
        &[b"[\"\\n\\n\\n\"]\n\n\n{}"],
        expect![[r#"
            Message(b"[\"\\n\\n\\n\"]")
            Message(b"{}")
        "#]],
    );
}

#[test]
fn the_end_of_input_ends_the_last_message() {
    check_frames(
        &[b"{}\n\n\n[1]\n"],
        expect![[r#"
            Message(b"{}")
            Message(b"[1]")
        "#]],
    );
}

#[test]
fn drops_a_long_message_and_goes_on() {
    check_frames(
        &[b"{\"id\":7,\"data\":[1,2,3,4]", b",\"more\":1}\n\n", b"\n{}\n\n\n", &[b'x'; 100]],
        expect![[r#"
            Refused { id: Some(7), why: TooLong }
            Message(b"{}")
            Refused { id: None, why: TooLong }
        "#]],
    );
}

#[test]
fn sixty_four_mebibytes_without_an_end_are_not_held() {
    let mut decoder = TripleNewlineDecoder::new(1 << 20);
    decoder.buffer().extend_from_slice(b"{\"id\":1,\"data\":\"");
    for _ in 0..1024 {
        decoder.buffer().extend_from_slice(&[b'x'; 64 * 1024]);
        assert_eq!(decoder.next(), None);
        assert!(decoder.buffer().len() <= (1 << 20) + 3, "what is too long is let go");
    }
    decoder.buffer().extend_from_slice(b"\"}\n\n\n{}\n\n\n");
    let id = crate::id::Id::number(1);
    assert_eq!(decoder.next(), Some(Frame::Refused { id: Some(id), why: FrameError::TooLong }));
    assert_eq!(decoder.next(), Some(Frame::Message("{}".into())));
}

// S4-4
#[test]
fn what_is_encoded_is_decoded() {
    let mut frames = Frames::default();
    for message in ["{\"a\":\n1}", "[]"] {
        frames.push_with(Bytes::from_static(message.as_bytes()).into(), TERMINATOR);
    }
    let out = frames.copy_to_bytes(frames.remaining());
    assert_eq!(out, "{\"a\":\n1}\n\n\n[]\n\n\n");
    check_frames(
        &[&out],
        expect![[r#"
            Message(b"{\"a\":\n1}")
            Message(b"[]")
        "#]],
    );
}

proptest! {
    #[test]
    fn cuts_do_not_matter(text in "[a\r\n \u{feff}]{0,80}", cut in 1usize..8) {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(cut).collect();
        prop_assert_eq!(decode(&[text.as_bytes()], 12), decode(&pieces, 12));
    }
}

proptest! {
    // A decoder that stops may leave the stream to another at any byte.
    #[test]
    fn another_decoder_goes_on_where_one_stopped(
        text in "a[ab\r\n ]{0,60}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        max_bytes in 0..12usize,
    ) {
        let text = text.as_bytes();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let mut decoder = TripleNewlineDecoder::new(max_bytes);
        let mut found = Vec::new();
        for piece in ends.windows(2).map(|ends| &text[ends[0]..ends[1]]) {
            decoder.buffer().extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| decoder.next()));
            decoder = TripleNewlineDecoder::resume(max_bytes, decoder.into_unfinished());
        }
        found.extend(std::iter::from_fn(|| decoder.finish()));
        prop_assert_eq!(found, decode(&[text], max_bytes));
    }
}
