//! What may stand in a foreign text.

use crate::flaw::Flaw;

/// The longest value a server may ask for.
pub(crate) const MAX_VALUE_BYTES: usize = 8 << 10;
/// The longest description that is kept.
const MAX_DESCRIPTION_CHARS: usize = 500;

/// Accepts a text that goes into an entry: short, without control characters and without what our config would fill in.
pub(crate) fn check_value(text: &str) -> Result<(), Flaw> {
    check_plain(text, MAX_VALUE_BYTES)?;
    if text.contains("${") {
        return Err(Flaw::OwnVariables);
    }
    Ok(())
}

pub(crate) fn check_plain(text: &str, max_bytes: usize) -> Result<(), Flaw> {
    if text.len() > max_bytes {
        return Err(Flaw::TooLong(max_bytes));
    }
    match text.chars().any(char::is_control) {
        true => Err(Flaw::ControlCharacters),
        false => Ok(()),
    }
}

/// Returns a text that is only ever shown, as one line of a bearable length.
pub(crate) fn described(text: &str) -> String {
    let mut line = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * MAX_DESCRIPTION_CHARS {
            break;
        }
    }
    match line.char_indices().nth(MAX_DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
