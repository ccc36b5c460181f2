//! However input is cut, the same messages of LiteMCP come out, and what they say reads back as it was written.

use manifold_protocol::dialect::litemcp::Message;
use manifold_protocol::framing::{Frame, TripleNewlineDecoder, triple_newline};

pub(crate) fn check(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    let whole = frames(&[data]);
    assert_eq!(whole, frames(&data.chunks(cut).collect::<Vec<_>>()));
    for frame in whole {
        let Frame::Message(message) = frame else { continue };
        let Ok(read) = Message::parse(message) else { continue };
        let mut written = read.encode().as_bytes().to_vec();
        written.extend_from_slice(triple_newline::TERMINATOR.as_bytes());
        let [Frame::Message(again)] = &*frames(&[&written]) else { panic!("one message was written") };
        // One that names no version is written with ours.
        assert_eq!(Message::parse(again.clone()).map(|again| again.encode()), Ok(read.encode()));
    }
}

fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut decoder = TripleNewlineDecoder::new(1024);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.buffer().extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| decoder.next()));
    }
    found.extend(std::iter::from_fn(|| decoder.finish()));
    found
}
