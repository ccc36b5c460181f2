//! Reading headers that several parts ask about.

use hyper::header::{HeaderMap, HeaderName, UPGRADE};

/// The session that a request belongs to.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns whether a request asks for a WebSocket.
pub(super) fn wants_websocket(headers: &HeaderMap) -> bool {
    has_word(headers, &UPGRADE, "websocket")
}

/// Returns whether a header that is a list has a word.
pub(super) fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let mut values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word)))
}
