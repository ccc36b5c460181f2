//! A key as people write it.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with what is held down beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMED: [(&str, KeyCode); 16] = [
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("S-Tab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Backspace", KeyCode::Backspace),
    ("Del", KeyCode::Delete),
    ("Ins", KeyCode::Insert),
];

impl Key {
    /// Returns the key of an event. A capital letter says by itself that Shift is held down.
    pub(crate) fn of(event: KeyEvent) -> Self {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT;
        Self { code: event.code, modifiers: event.modifiers & kept }
    }

    /// Reads `x`, `X`, `ctrl-x`, `alt-x`, `f5`, `enter`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let lower = rest.to_ascii_lowercase();
            let (held, prefix) = [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-")]
                .into_iter()
                .find(|(_, prefix)| lower.starts_with(prefix) && rest.len() > prefix.len())
                .unwrap_or((KeyModifiers::NONE, ""));
            if prefix.is_empty() {
                break;
            }
            modifiers |= held;
            rest = &rest[prefix.len()..];
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(single), None) => KeyCode::Char(single),
            _ => named(rest)?,
        };
        Some(Self { code, modifiers })
    }
}

fn named(name: &str) -> Option<KeyCode> {
    let known = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let function = || name.strip_prefix(['f', 'F'])?.parse().ok().filter(|n| (1..=24).contains(n));
    known.map(|(_, code)| *code).or_else(|| function().map(KeyCode::F))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("Ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("Alt-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(n) => write!(f, "F{n}"),
            _ => f.write_str("?"),
        }
    }
}
