//! What may be repeated of others' words, and how values are written into forms and queries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The longest piece of somebody's explanation that is shown.
const MAX_SHOWN: usize = 200;

const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns somebody's explanation as one short line of printable characters.
pub(crate) fn shown(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control() && !is_invisible(*c)));
        if line.chars().count() > MAX_SHOWN {
            return line.chars().take(MAX_SHOWN).chain(['…']).collect();
        }
    }
    line
}

/// Signs that turn or hide text around them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Tells whether this has the form of an error code (RFC 6749, section 5.2).
pub(crate) fn is_error_code(text: &str) -> bool {
    let is_code = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_code)
}

/// Writes a form or a query.
pub(crate) fn form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&encode(name));
        text.push('=');
        text.push_str(&encode(value));
    }
    text
}

/// Writes one value of a form.
pub(crate) fn encode(value: &str) -> String {
    utf8_percent_encode(value, UNRESERVED).to_string()
}

/// Reads a query. `None` where a value is no text.
pub(crate) fn fields(query: &str) -> Option<Vec<(String, String)>> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8().ok().map(|text| text.into_owned())
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_words_are_one_short_line() {
        assert_eq!(shown("a\r\nb\u{1b}[31m\u{202e}c\t d"), "a b[31mc d");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), MAX_SHOWN + 1);
    }

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let written = form([("scope", "a b+c"), ("resource", "https://a/?x=1&y")]);
        assert_eq!(written, "scope=a%20b%2Bc&resource=https%3A%2F%2Fa%2F%3Fx%3D1%26y");
        let read = fields(&written).unwrap();
        assert_eq!(read[0], ("scope".to_owned(), "a b+c".to_owned()));
        assert_eq!(read[1], ("resource".to_owned(), "https://a/?x=1&y".to_owned()));
        assert_eq!(fields("a=%ff"), None);
    }
}
