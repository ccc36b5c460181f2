use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]], max_bytes: usize) -> Vec<Line> {
    let mut decoder = LineDecoder::new(max_bytes);
    let mut lines = Vec::new();
    for piece in pieces {
        decoder.buffer().extend_from_slice(piece);
        lines.extend(std::iter::from_fn(|| decoder.next()));
    }
    lines.extend(std::iter::from_fn(|| decoder.finish()));
    lines
}

fn check_lines(pieces: &[&[u8]], expected: Expect) {
    let shown: String = decode(pieces, 10).iter().map(|line| format!("{line:?}\n")).collect();
    expected.assert_eq(&shown);
}

/// F7.
#[test]
fn tolerates_crlf_bom_and_blank_lines() {
    check_lines(
        &[b"\xef\xbb\xbfa\r\n\r\n  \n\xef\xbb\xbfb\nc"],
        expect![[r#"
        Whole(b"a")
        Whole(b"\xef\xbb\xbfb")
        Whole(b"c")
    "#]],
    );
}

#[test]
fn a_line_may_come_in_pieces() {
    check_lines(
        &[b"a", b"", b"b\nc", b"\n", b"\n"],
        expect![[r#"
        Whole(b"ab")
        Whole(b"c")
    "#]],
    );
}

/// F6, F22.
#[test]
fn drops_a_long_line_and_goes_on() {
    check_lines(
        &[b"0123456789\n0123456789a\nb\n012345", b"6789ab", b"c\nd\n"],
        expect![[r#"
        Whole(b"0123456789")
        TooLong { head: b"0123456789a", tail: b"0123456789a", bytes: 11 }
        Whole(b"b")
        TooLong { head: b"0123456789abc", tail: b"0123456789abc", bytes: 13 }
        Whole(b"d")
    "#]],
    );
}

/// F6.
#[test]
fn an_endless_line_takes_no_memory() {
    let max_bytes = 1 << 20;
    let mut decoder = LineDecoder::new(max_bytes);
    let piece = [b'x'; 64 * 1024];
    for _ in 0..1000 {
        decoder.buffer().extend_from_slice(&piece);
        assert_eq!(decoder.next(), None);
        assert!(decoder.buffer.len() <= max_bytes + piece.len());
    }
    decoder.buffer().extend_from_slice(b"yz\nnext\n");
    let Some(Line::TooLong { head, tail, bytes }) = decoder.next() else { panic!() };
    assert_eq!((head.len(), tail.len(), bytes), (64 * 1024, 4096, 1000 * 64 * 1024 + 2));
    assert!(tail.ends_with(b"xyz"));
    assert_eq!(decoder.next(), Some(Line::Whole(Bytes::from_static(b"next"))));
}

#[test]
fn the_buffer_shrinks_after_a_large_line() {
    let mut decoder = LineDecoder::new(8 << 20);
    decoder.buffer().extend_from_slice(&[b'x'; 4 << 20]);
    decoder.buffer().extend_from_slice(b"\nrest");
    assert!(matches!(decoder.next(), Some(Line::Whole(line)) if line.len() == 4 << 20));
    assert_eq!(decoder.next(), None);
    for _ in 0..100 {
        decoder.buffer().reserve(16 * 1024);
        assert!(decoder.buffer().capacity() < 64 * 1024);
    }
    decoder.buffer().extend_from_slice(b"\n");
    assert_eq!(decoder.next(), Some(Line::Whole(Bytes::from_static(b"rest"))));
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        text in "(\u{feff})?[ab\r\n ]{0,40}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        max_bytes in 0..12usize,
    ) {
        let text = text.as_bytes();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let pieces: Vec<_> = ends.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
        prop_assert_eq!(decode(&pieces, max_bytes), decode(&[text], max_bytes));
    }
}

proptest! {
    // A decoder that stops may leave the stream to another at any byte.
    #[test]
    fn another_decoder_goes_on_where_one_stopped(
        text in "[ab\r\n ]{0,40}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        max_bytes in 0..12usize,
    ) {
        let text = text.as_bytes();
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let mut decoder = LineDecoder::new(max_bytes);
        let mut found = Vec::new();
        for piece in ends.windows(2).map(|ends| &text[ends[0]..ends[1]]) {
            decoder.buffer().extend_from_slice(piece);
            found.extend(std::iter::from_fn(|| decoder.next()));
            decoder = LineDecoder::resume(max_bytes, decoder.into_unfinished());
        }
        found.extend(std::iter::from_fn(|| decoder.finish()));
        prop_assert_eq!(found, decode(&[text], max_bytes));
    }
}
