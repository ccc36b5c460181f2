//! Which bracket of a JSON text was left open.
//!
//! A parser only learns at the end that one is missing, and then blames the outermost. Whoever wrote the file indented it:
//! a closing bracket further out than the line that opened its partner was meant for another.

/// A bracket that nothing closes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) bracket: char,
    pub(super) line: usize,
    /// How far the line it stands on is indented.
    indent: usize,
}

impl Open {
    pub(super) fn closing(&self) -> char {
        if self.bracket == '[' { ']' } else { '}' }
    }
}

/// Returns the bracket that was most likely meant to be closed and is not, in a text that ends too early.
pub(super) fn find(text: &str) -> Option<Open> {
    let mut open: Vec<Open> = Vec::new();
    let mut in_comment = false;
    for (index, line) in text.lines().enumerate() {
        let indent = line.chars().take_while(|char| char.is_whitespace()).count();
        let rest = Significant { line, in_comment: &mut in_comment };
        let mut leads = true;
        for char in rest {
            match char {
                '{' | '[' => open.push(Open { bracket: char, line: index + 1, indent }),
                '}' | ']' => match open.pop() {
                    Some(partner) if leads && indent < partner.indent => return Some(partner),
                    Some(partner) if partner.closing() != char => return Some(partner),
                    _ => {}
                },
                _ => {}
            }
            leads &= matches!(char, '}' | ']');
        }
    }
    open.pop()
}

/// The characters of a line that are neither blank nor part of a string or comment. A string ends with its line at the
/// latest, or one that is not closed would hide the rest.
struct Significant<'a> {
    line: &'a str,
    in_comment: &'a mut bool,
}

impl Iterator for Significant<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            if *self.in_comment {
                let Some((_, after)) = self.line.split_once("*/") else {
                    self.line = "";
                    return None;
                };
                (*self.in_comment, self.line) = (false, after);
            }
            self.line = self.line.trim_start();
            let char = self.line.chars().next()?;
            self.line = &self.line[char.len_utf8()..];
            match char {
                '"' => self.skip_string(),
                '/' if self.line.starts_with('/') => {
                    self.line = "";
                    return None;
                }
                '/' if self.line.starts_with('*') => *self.in_comment = true,
                _ => {}
            }
            if char != '/' {
                return Some(char);
            }
        }
    }
}

impl Significant<'_> {
    fn skip_string(&mut self) {
        let mut escaped = false;
        let end = self.line.find(|char| {
            let ends = char == '"' && !escaped;
            escaped = char == '\\' && !escaped;
            ends
        });
        self.line = end.map_or("", |end| &self.line[end + 1..]);
    }
}
