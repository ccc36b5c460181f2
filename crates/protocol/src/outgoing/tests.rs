use super::*;

fn packed(load: Bytes) -> Outgoing {
    let mut builder = OutgoingBuilder::new(BytesMut::from(&b"{\"a\":"[..]));
    builder.put(load);
    builder.say(b"}");
    builder.finish()
}

#[test]
fn a_large_payload_is_not_copied() {
    let load = Bytes::from(vec![b'1'; COPIED_BYTES + 1]);
    let outgoing = packed(load.clone());
    assert_eq!(outgoing.len(), load.len() + 6);
    assert_eq!(outgoing.clone().into_bytes().len(), load.len() + 6);
    assert_eq!(outgoing.pieces().nth(1).unwrap().as_ptr(), load.as_ptr());
}

#[test]
fn a_message_is_one_line() {
    for size in [10, COPIED_BYTES + 1] {
        let mut load = vec![b' '; size];
        load[3] = b'\n';
        load[7] = b'\r';
        let text = packed(load.into()).into_bytes();
        assert!(!has_line_end(&text));
        assert_eq!(text.len(), size + 6);
    }
}

#[test]
fn frames_are_the_same_however_they_are_taken() {
    let large = Bytes::from(vec![b'x'; COPIED_BYTES * 2]);
    let messages = [
        Outgoing::from(Bytes::from_static(b"{}")),
        packed(large),
        Outgoing::from(Bytes::from_static(b"[1]")),
    ];
    for framing in [Framing::Newline, Framing::ContentLength] {
        let mut expected = BytesMut::new();
        for message in &messages {
            crate::framing::encode(framing, &message.clone().into_bytes(), &mut expected);
        }
        for step in [1, 3, 1000, usize::MAX] {
            let mut frames = Frames::default();
            messages.iter().for_each(|message| frames.push(framing, message.clone()));
            let mut taken = Vec::new();
            while frames.has_remaining() {
                let mut slices = [std::io::IoSlice::new(b""); 8];
                let filled = frames.chunks_vectored(&mut slices);
                assert!(filled > 0);
                assert_eq!(&*slices[0], frames.chunk());
                let size = step.min(slices[0].len());
                taken.extend_from_slice(&slices[0][..size]);
                frames.advance(size);
            }
            assert_eq!(taken, expected, "{framing:?} by {step}");
        }
    }
}
