//! However the bytes of a client are cut, the same requests come out; a head that comes again is read as before.

use bytes::BytesMut;
use manifold_http1::{Length, RequestHead};

use crate::http_messages::requests;
use crate::http_rules;

/// Takes the size of the pieces, and what the client says.
pub(crate) fn check(data: &[u8]) {
    let Some((cut, data)) = data.split_first() else { return };
    let whole = requests(&[data]);
    http_rules::check_pieces(&whole, &requests(&data.chunks(usize::from(*cut).max(1)).collect::<Vec<_>>()));
    http_rules::check(&whole, data);
    check_again(data);
}

fn check_again(data: &[u8]) {
    let mut input = BytesMut::from(data);
    let Ok(Some(mut head)) = RequestHead::take(&mut input, 0) else { return };
    let (first, rest) = (head.length, input.clone());
    let mut again = BytesMut::from(data);
    if head.again(&mut again) {
        assert_eq!((head.length, &again), (first, &rest));
        // One that is known again has a length, and no chunks beside it.
        assert!(matches!(first, Length::Known(_)));
    } else {
        assert_eq!(again, data, "all of it is taken, or nothing");
    }
    // Whatever follows, it is read as a head that was never met would be.
    let mut next = rest.clone();
    if head.again(&mut next) {
        let mut anew = rest.clone();
        let read = RequestHead::take(&mut anew, 0).expect("it is a head").expect("it is whole");
        assert_eq!((read.length, &anew), (head.length, &next));
        assert_eq!((&read.parts.method, &read.parts.uri), (&head.parts.method, &head.parts.uri));
        assert_eq!((read.keeps_alive, read.expects_continue), (head.keeps_alive, head.expects_continue));
        assert_eq!(read.parts.headers.len(), head.parts.headers.len());
    }
}
