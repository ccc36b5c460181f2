//! Names in paths and queries.

/// Returns a name as one segment of a path: `main/git` becomes `main%2Fgit`.
pub fn segment(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    encode(name, &mut written);
    written
}

/// Returns the query of those members that have a value, with its `?`; nothing where none has.
pub fn query(members: &[(&str, Option<&str>)]) -> String {
    let mut written = String::new();
    for (name, value) in members.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        written.push(if written.is_empty() { '?' } else { '&' });
        encode(name, &mut written);
        written.push('=');
        encode(value, &mut written);
    }
    written
}

fn encode(text: &str, into: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(DIGITS[usize::from(byte >> 4)]));
            into.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}
