//! However the bytes of a server are cut, the same answers come out, and none that nobody asked for.

use manifold_http1::Asked;

use crate::http_messages::responses;
use crate::http_rules;

const ASKED: [Asked; 3] = [Asked::Body, Asked::Head, Asked::Upgrade];

/// Takes what is asked for, the size of the pieces, and what the server says.
pub(crate) fn check(data: &[u8]) {
    let [asked, cut, data @ ..] = data else { return };
    let asked = ASKED[usize::from(*asked) % ASKED.len()];
    let whole = responses(&[data], asked);
    let pieces: Vec<&[u8]> = data.chunks(usize::from(*cut).max(1)).collect();
    http_rules::check_pieces(&whole, &responses(&pieces, asked));
    http_rules::check(&whole, data);
    for message in &whole.messages {
        let status: u16 = message.start.parse().expect("a status is a number");
        match status {
            101 => assert_eq!(asked, Asked::Upgrade, "it was asked for"),
            204 | 304 => assert!(message.body.is_empty()),
            _ => assert!((200..1000).contains(&status), "{status}"),
        }
    }
}
