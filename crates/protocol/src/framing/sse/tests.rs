use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = SseDecoder::new(64);
    let mut items = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(item) = decoder.next() {
            items.push(match item {
                SseItem::TooLong => "too long".to_owned(),
                SseItem::Event(event) => format!(
                    "{}|{}|{}|{}",
                    event.kind,
                    String::from_utf8_lossy(&event.data),
                    event.id.unwrap_or_default(),
                    event.retry_ms.map_or(String::new(), |ms| ms.to_string())
                ),
            });
        }
    }
    items
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(decode(&[text.as_bytes()]), expected, "{text:?}");
}

#[test]
fn events_are_cut_at_blank_lines() {
    check("data: a\n\ndata: b\n\n", &["|a||", "|b||"]);
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["|a||", "|b||", "|c||"]);
    check("event: endpoint\ndata: /m?s=1\n\n", &["endpoint|/m?s=1||"]);
    check("data: one\ndata: two\ndata\n\n", &["|one\ntwo\n||"]);
    check(":comment\n\n:\n\ndata:x\n\n", &["|x||"]);
    check("\u{feff}data: x\n\n", &["|x||"]);
    check("data: unfinished\n", &[]);
    check("nonsense\ndata:  two spaces\nnosuch: y\n\n", &["| two spaces||"]);
}

#[test]
fn a_mark_that_comes_in_pieces_is_no_text() {
    assert_eq!(decode(&[b"\xef\xbb", b"\xbf", b"data: x\n", b"\n"]), ["|x||"]);
    assert_eq!(decode(&[b"data: x\r", b"\n\r", b"\n"]), ["|x||"]);
}

#[test]
fn ids_stay_and_delays_are_told() {
    check("id: 7-0\nretry: 1000\ndata: \n\ndata: x\n\nid\ndata: y\n\n", &["||7-0|1000", "|x|7-0|", "|y||"]);
    check("id: 3\n\ndata: x\n\n", &["|x|3|"]);
    check("retry: soon\ndata: x\n\nid: a\0b\ndata: y\n\n", &["|x||", "|y||"]);
}

// T28
#[test]
fn an_endless_event_is_dropped_as_it_comes() {
    let long = "x".repeat(1000);
    check(&format!("data: {long}\n\ndata: ok\n\n"), &["too long", "|ok||"]);
    let lines = "data: 0123456789\n".repeat(100);
    check(&format!("{lines}\ndata: ok\n\n"), &["too long", "|ok||"]);
    let mut decoder = SseDecoder::new(64);
    for _ in 0..10_000 {
        decoder.push(&[b'x'; 100]);
        assert_eq!(decoder.next(), None);
        assert!(decoder.buffer.len() <= 200);
    }
}

proptest! {
    #[test]
    fn splitting_changes_nothing(text in "(data: [a-z]{0,9}|event: [a-z]{1,3}|id: [0-9]{0,3}|:|)(\n|\r\n|\r)".prop_map(|line| line).prop_flat_map(|line| proptest::collection::vec(Just(line), 1..4)).prop_map(|lines| lines.concat()), cut in 0usize..64) {
        let bytes = text.as_bytes();
        let cut = cut.min(bytes.len());
        prop_assert_eq!(decode(&[bytes]), decode(&[&bytes[..cut], &bytes[cut..]]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..8)) {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        decode(&pieces);
    }
}
