//! JSON for programs, which people may look at as well: what a terminal would obey is escaped in it, too.

use std::borrow::Cow;

use manifold_admin::is_unsafe;
use serde::Serialize;

/// Returns a document over several lines.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    escaped_json(&text).into_owned()
}

/// Returns a document on one line.
pub(super) fn compact(document: &impl Serialize) -> String {
    let text = serde_json::to_string(document).unwrap_or_default();
    escaped_json(&text).into_owned()
}

/// Returns JSON that means the same and has nothing in it that a terminal would obey. JSON itself escapes the first 32
/// characters; all others of that kind can stand in strings alone, so they can be escaped wherever they are found.
pub(crate) fn escaped_json(json: &str) -> Cow<'_, str> {
    // What a server wrote may have them raw all the same; line ends and tabs stand between members.
    let is_raw = |c: char| !matches!(c, '\n' | '\r' | '\t') && is_unsafe(c);
    // Most is plain, which is seen at a glance.
    if json.bytes().all(|byte| (0x20..0x7f).contains(&byte)) || !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 32);
    for c in json.chars() {
        if is_raw(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}
