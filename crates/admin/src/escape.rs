//! Text of servers and clients, made fit for a terminal: what would move the cursor, change the title, hide text or turn
//! it around is written out as `\u{1b}` (T27).

use std::borrow::Cow;

/// Returns text of several lines with nothing in it that a terminal would obey. Line ends and tabs stay.
pub fn escaped_text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_unsafe(c))
}

/// Returns text as one line: each run of white space is one blank.
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    let is_line = !text.contains("  ") && !text.contains(is_other_blank) && text.trim() == text;
    let line = match is_line {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" ")),
    };
    match line {
        Cow::Borrowed(line) => escaped(line, is_unsafe),
        Cow::Owned(line) => Cow::Owned(escaped(&line, is_unsafe).into_owned()),
    }
}

fn is_other_blank(c: char) -> bool {
    c != ' ' && c.is_whitespace()
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // The line ends of other systems are line ends.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Returns whether a terminal would obey a character instead of showing it, or show what comes after it elsewhere, or
/// show nothing where there is something.
pub fn is_unsafe(c: char) -> bool {
    matches!(c,
        // C0, DEL and C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Turns the direction of what follows.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Ends a line or a paragraph.
        | '\u{2028}' | '\u{2029}'
        // Cannot be seen: blanks without width, invisible operators, annotations, tags.
        | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}
