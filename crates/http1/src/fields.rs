//! The headers of a request, as the lines they are written as.

use bytes::BufMut;

/// What is said of a request mostly fits in here.
const ROOM_BYTES: usize = 256;

/// Header lines in the order they were said. They do not print: there are secrets among them.
#[derive(Clone, Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// Begins with lines that are always the same.
    pub fn new(lines: &'static str) -> Self {
        debug_assert!(lines.is_empty() || lines.ends_with("\r\n"));
        let mut text = Vec::with_capacity(ROOM_BYTES);
        text.extend_from_slice(lines.as_bytes());
        Self(text)
    }

    /// Adds a header of ours; a value that no header can hold is left out.
    pub fn say(&mut self, name: &'static str, value: impl AsRef<[u8]>) {
        debug_assert!(is_name(name));
        self.push(name, value.as_ref());
    }

    /// Adds a header to those said before.
    pub fn with(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.say(name, value);
        self
    }

    /// Adds a header of somebody else's; what no header can hold is left out.
    pub fn say_foreign(&mut self, name: &str, value: impl AsRef<[u8]>) {
        if is_name(name) {
            self.push(name, value.as_ref());
        }
    }

    fn push(&mut self, name: &str, value: &[u8]) {
        if is_value(value) {
            push_line(&mut self.0, name, value);
        }
    }

    fn lines(&self) -> &[u8] {
        &self.0
    }

    pub fn write(&self, out: &mut impl BufMut) {
        out.put_slice(self.lines());
    }

    /// Returns whether a header was said, whatever its value.
    pub fn has(&self, name: &str) -> bool {
        let mut lines = self.0.split(|byte| *byte == b'\n');
        lines.any(|line| {
            line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
                && line.get(name.len()) == Some(&b':')
        })
    }
}

fn push_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token)
}

fn is_value(value: &[u8]) -> bool {
    value.iter().copied().all(is_text)
}

/// Returns whether the name of a header may hold it (RFC 9110, 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether the value of a header may hold it.
pub(crate) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_hold_is_left_out() {
        let mut fields =
            Fields::new("a: 1\r\n").with("b", "x\r\nevil: 1").with("e", "\u{7f}").with("f", "ä\t");
        for name in ["c d", "", "g:", "h\r\ni"] {
            fields.say_foreign(name, "1");
        }
        assert_eq!(fields.lines(), "a: 1\r\nf: ä\t\r\n".as_bytes());
        assert!(fields.has("A") && fields.has("f") && !fields.has("b") && !fields.has("1"));
    }
}
