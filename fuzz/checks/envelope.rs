//! Whatever is read as a message can be written again and reads the same.

use bytes::Bytes;
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};

pub(crate) fn check(data: &[u8]) {
    let Ok(Incoming::One(message)) = envelope::parse(Bytes::copy_from_slice(data)) else { return };
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
