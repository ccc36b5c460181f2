//! However input is cut, the same frames come out.

use manifold_protocol::envelope::{self, RefusalKind};
use manifold_protocol::framing::{ClientDecoder, Frame};

pub(crate) fn check(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    assert_eq!(frames(&[data]), frames(&data.chunks(cut).collect::<Vec<_>>()));
}

fn frames(pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = ClientDecoder::new(256, None);
    let mut found = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        decoder.buffer().extend_from_slice(piece);
        loop {
            let frame = match decoder.next() {
                None if at + 1 == pieces.len() => decoder.finish(),
                frame => frame,
            };
            match frame {
                None => break,
                Some(Frame::Message(message)) => match envelope::parse(message.clone()) {
                    Err(refusal) if refusal.kind == RefusalKind::Unfinished => decoder.gather(message),
                    _ => found.push(format!("{message:?}")),
                },
                Some(Frame::Refused { id, why }) => found.push(format!("{id:?} {why:?}")),
            }
        }
    }
    found
}
