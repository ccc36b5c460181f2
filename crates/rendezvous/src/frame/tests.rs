#![allow(clippy::unwrap_used, reason = "this is a test")]

use super::*;

fn framed(kind: Kind, slot: u16, payload: &[u8]) -> Vec<u8> {
    [&head(kind, slot, payload.len()).unwrap()[..], payload].concat()
}

#[test]
fn frames_are_read_back_however_they_are_cut() {
    let bytes =
        [framed(Kind::Message, 7, b"{}"), framed(Kind::Hold, 0, b""), framed(Kind::Note, 65535, b"x")]
            .concat();
    for step in 1..=bytes.len() {
        let mut read = BytesMut::new();
        let mut found = Vec::new();
        for chunk in bytes.chunks(step) {
            read.extend_from_slice(chunk);
            while let Some(frame) = next(&mut read).unwrap() {
                found.push((frame.kind, frame.slot, frame.payload.to_vec()));
            }
        }
        let expected =
            [(Kind::Message, 7, b"{}".to_vec()), (Kind::Hold, 0, vec![]), (Kind::Note, 65535, b"x".to_vec())];
        assert_eq!(found, expected, "in steps of {step}");
    }
}

/// The head is for ever: an old shim must understand a new daemon.
#[test]
fn the_head_stays_as_it_is() {
    assert_eq!(head(Kind::Message, 0x0102, 0x0304_0506 & 0xff_ffff).unwrap(), [6, 5, 4, 0, 0, 0, 2, 1]);
    let kinds: Vec<u8> = Kind::ALL.into_iter().map(|kind| kind as u8).collect();
    assert_eq!(kinds, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_kind_of_a_newer_end_is_passed_over() {
    let mut unknown = framed(Kind::Note, 0, b"what is this");
    unknown[4] = 200;
    let mut read = BytesMut::from(&[unknown, framed(Kind::Message, 1, b"1")].concat()[..]);
    assert_eq!(next(&mut read).unwrap().unwrap().payload, &b"1"[..]);
}

#[test]
fn a_length_beyond_reason_is_refused_before_anything_is_reserved() {
    let mut read = BytesMut::from(&[0xff; 16][..]);
    assert_eq!(next(&mut read), Err(Malformed));
    assert_eq!(head(Kind::Message, 0, MAX_BYTES + 1), None);
}
