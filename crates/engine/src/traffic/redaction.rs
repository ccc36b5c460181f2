//! Takes secrets out of what is shown: every value that the config keeps secret, in whatever form, and members of objects
//! by their names.

use std::borrow::Cow;

use manifold_config::{Redactor, redactor};

use super::hidden_members;

/// Stands for a message that is none any more without its secrets.
pub(super) const UNREADABLE: &str = "(not shown: a secret is part of its structure)";

/// Texts on their way to a reader, and whether anything was taken out of one.
pub(super) struct Hidden {
    pub(super) any: bool,
    secrets: Redactor,
}

impl Hidden {
    /// Looks for all secrets that are known now.
    pub(super) fn new() -> Self {
        Self { any: false, secrets: redactor() }
    }

    /// A name or the like.
    pub(super) fn word(&mut self, text: &str) -> String {
        self.text(text, false)
    }

    pub(super) fn text(&mut self, text: &str, is_cut: bool) -> String {
        let shown = self.by_value(text, is_cut);
        self.any |= matches!(shown, Cow::Owned(_));
        shown.into_owned()
    }

    fn by_value<'t>(&self, text: &'t str, is_cut: bool) -> Cow<'t, str> {
        let shown = self.hide(text, is_cut);
        // A secret with colours in the middle is found without them.
        let Cow::Owned(plain) = without_ansi(&shown) else { return shown };
        match self.hide(&plain, is_cut) {
            Cow::Owned(hidden) => Cow::Owned(hidden),
            Cow::Borrowed(_) => shown,
        }
    }

    fn hide<'t>(&self, text: &'t str, is_cut: bool) -> Cow<'t, str> {
        if is_cut { self.secrets.redact_cut(text) } else { self.secrets.redact(text) }
    }

    /// A whole message.
    pub(super) fn json(&mut self, text: &str) -> String {
        self.members(text, false)
    }

    /// The beginning of one.
    pub(super) fn json_cut(&mut self, text: &str) -> String {
        self.members(text, true)
    }

    fn members(&mut self, text: &str, is_cut: bool) -> String {
        let shown = hidden_members::hide(text);
        self.any |= matches!(shown, Cow::Owned(_));
        self.text(&shown, is_cut)
    }
}

/// Returns a text without what steers a terminal, as it is or as JSON writes it.
fn without_ansi(text: &str) -> Cow<'_, str> {
    let escape = |rest: &str| {
        let begin = |word: &str| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        ["\u{1b}", "\u{9b}", r"\u001b", r"\u009b", r"\x1b"]
            .into_iter()
            .find(|word| begin(word))
            .map(|word| (word.len(), word.contains("9b") || word.contains('\u{9b}')))
    };
    let (mut plain, mut copied, mut at) = (String::new(), 0, 0);
    // U+009B is 0xc2 0x9b: both its bytes are looked at below.
    while let Some(skip) = memchr::memchr3(0x1b, 0xc2, b'\\', &text.as_bytes()[at..]) {
        at += skip;
        let rest = &text[at..];
        match escape(rest) {
            Some((length, is_csi)) => {
                plain.push_str(&text[copied..at]);
                at += length + sequence(&rest[length..], is_csi);
                copied = at;
            }
            // A backslash hides what follows it: `\\u001b` is no escape.
            None if rest.starts_with('\\') => at += rest.chars().take(2).map(char::len_utf8).sum::<usize>(),
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(&text[copied..]);
    Cow::Owned(plain)
}

/// Returns how long a sequence is behind its escape.
fn sequence(rest: &str, is_csi: bool) -> usize {
    let bytes = rest.as_bytes();
    let parameters = |from: usize| {
        let count = bytes[from..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
        let is_final = bytes.get(from + count).is_some_and(|byte| matches!(byte, 0x40..=0x7e));
        from + count + usize::from(is_final)
    };
    match bytes.first() {
        _ if is_csi => parameters(0),
        Some(b'[') => parameters(1),
        Some(byte) if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use manifold_config::Secret;

    use super::*;

    #[test]
    fn a_secret_with_colours_in_it_is_hidden() {
        let _secret = Secret::new("tr4ffic-canary-one");
        let mut hidden = Hidden::new();
        assert_eq!(hidden.text("a tr4ffic-\u{1b}[1;31mcanary-one b", false), "a *** b");
        assert_eq!(hidden.json(r#"{"x":"tr4ffic-\u001b[0mcanary\u001B[1m-one"}"#), r#"{"x":"***"}"#);
        assert!(hidden.any);
        let mut hidden = Hidden::new();
        assert_eq!(hidden.text("\u{1b}[1mplain\u{1b}[0m", false), "\u{1b}[1mplain\u{1b}[0m");
        assert!(!hidden.any);
    }

    #[test]
    fn the_beginning_of_a_secret_is_hidden_where_a_message_was_cut() {
        let _secret = Secret::new("tr4ffic-canary-two");
        let mut hidden = Hidden::new();
        assert_eq!(hidden.json_cut(r#"{"x":"tr4ffic-cana"#), r#"{"x":"***"#);
        assert!(hidden.any);
    }
}
