//! However a stream of events is cut, the same events come out.

use manifold_protocol::framing::SseDecoder;

pub(crate) fn check(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let whole = events(&[data]);
    let pieces = events(&data.chunks(usize::from(*cut).max(1)).collect::<Vec<_>>());
    // A line over the limit is dropped where it is noticed, which depends on how it comes.
    if data.len() < 256 {
        assert_eq!(whole, pieces);
    }
}

fn events(pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = SseDecoder::new(256);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(item) = decoder.next() {
            found.push(format!("{item:?}"));
        }
    }
    found
}
