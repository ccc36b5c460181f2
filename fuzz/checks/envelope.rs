//! Whatever is read as a message can be written again and reads the same, also to readers without regard to case.

use bytes::Bytes;
use manifold_protocol::Raw;
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};

pub(crate) fn check(data: &[u8]) {
    let Ok(Incoming::One(message)) = envelope::parse(Bytes::copy_from_slice(data)) else { return };
    if let Message::Request { params: Some(params), .. }
    | Message::Notification { params: Some(params), .. } = &message
    {
        check_spelling(params);
    }
    let written = match &message {
        Message::Request { id, method, params } => {
            envelope::request(id, method.as_str(), params.as_ref()).into_bytes()
        }
        Message::Notification { method, params } => envelope::notification(method.as_str(), params.as_ref()),
        Message::Response { id, outcome: Outcome::Result(result) } => {
            envelope::result(id, result).into_bytes()
        }
        Message::Response { id, outcome: Outcome::Error(error) } => envelope::error(Some(id), error),
    };
    assert!(!written.contains(&b'\n'), "one message, one line");
    assert!(matches!(envelope::parse(written), Ok(Incoming::One(_))));
}

/// No key of the parameters may be taken for one that we go by (H2).
fn check_spelling(params: &Raw) {
    let Some(object) = params.object() else { return };
    for key in object.keys() {
        let folded = key.replace('\u{17f}', "s").replace('\u{212a}', "k").to_ascii_lowercase();
        for name in ["name", "arguments", "uri", "ref", "_meta", "task", "cursor", "level"] {
            assert!(folded != name || key == name, "`{key}` would be taken for `{name}`");
        }
    }
}
