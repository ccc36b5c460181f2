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
    let is_indented = text.lines().any(|line| line.starts_with([' ', '\t']));
    let mut begun: Option<Open> = None;
    for (index, line) in text.lines().enumerate() {
        let indent = line.chars().take_while(|char| char.is_whitespace()).count();
        let rest = Significant { line, in_comment: &mut in_comment, is_cut: false };
        let (mut leads, mut last) = (true, None);
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
            last = Some(char);
        }
        // What begins its content on its own line is mostly closed there: without indents, nothing else tells.
        if let Some(top) = open.last().filter(|top| top.line == index + 1 && !matches!(last, Some('{' | '[')))
        {
            begun = Some(Open { ..*top });
        }
    }
    if is_indented { open.pop() } else { begun.or_else(|| open.pop()) }
}

/// Returns the line of the first string that does not end on it, if there is one up to a line.
pub(super) fn string(text: &str, up_to: usize) -> Option<usize> {
    let mut in_comment = false;
    text.lines()
        .take(up_to)
        .position(|line| {
            let mut rest = Significant { line, in_comment: &mut in_comment, is_cut: false };
            while rest.next().is_some() {}
            rest.is_cut
        })
        .map(|index| index + 1)
}

/// The characters of a line that are neither blank nor part of a string or comment. A string ends with its line at the
/// latest, or one that is not closed would hide the rest.
struct Significant<'a> {
    line: &'a str,
    in_comment: &'a mut bool,
    /// A string did not end on this line.
    is_cut: bool,
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
        self.is_cut |= end.is_none();
        self.line = end.map_or("", |end| &self.line[end + 1..]);
    }
}
