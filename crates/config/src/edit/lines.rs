//! Lines of a text: where they begin, how far they are indented, and how they end.

/// How the lines of a text end.
pub(super) struct LineEnds {
    /// Whether each line of the text ends as on Windows, in their order.
    are_crlf: Vec<bool>,
    has_final: bool,
}

impl LineEnds {
    pub(super) fn of(text: &str) -> Self {
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        Self { are_crlf: lines.map(|line| line.ends_with("\r\n")).collect(), has_final: text.ends_with('\n') }
    }

    /// Returns the text with plain line ends.
    pub(super) fn unified(&self, text: &str) -> String {
        if self.are_crlf.contains(&true) { text.replace("\r\n", "\n") } else { text.to_owned() }
    }

    /// Gives a changed text the line ends of the one before: each line that was there its own, the others those of most.
    pub(super) fn restored(&self, old: &str, new: &str) -> String {
        // What a text without a last line end got to begin another line with is not needed at its end.
        let cut = (!self.has_final && !old.is_empty()).then(|| new.strip_suffix('\n')).flatten();
        let new = cut.unwrap_or(new);
        if !self.are_crlf.contains(&true) {
            return new.to_owned();
        }
        let crlf = self.are_crlf.iter().filter(|is_crlf| **is_crlf).count();
        let usual = crlf * 2 >= self.are_crlf.len();
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
        let same =
            |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
        let head = same(&mut old.iter().zip(&new));
        let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
        let mut text = String::new();
        for (at, line) in new.iter().enumerate() {
            text.push_str(line);
            if at + 1 == new.len() {
                break;
            }
            let before = if at < head {
                Some(at)
            } else if at >= new.len() - tail {
                Some(at + old.len() - new.len())
            } else {
                None
            };
            let is_crlf = before.and_then(|at| self.are_crlf.get(at)).copied().unwrap_or(usual);
            text.push_str(if is_crlf { "\r\n" } else { "\n" });
        }
        text
    }
}

/// Returns where the line of this byte begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns where the line of this byte ends, before its line end.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

/// Returns what the line of this byte is indented with.
pub(super) fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns whether there is only space between two bytes.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Returns what one level is indented with: what the first line that is indented has.
pub(super) fn indent_unit(text: &str) -> &str {
    let indents = text.lines().filter(|line| !is_blank(line)).map(|line| indent_at(line, 0));
    match indents.into_iter().find(|indent| !indent.is_empty()) {
        Some(indent) if indent.starts_with('\t') => "\t",
        Some(indent) => indent,
        None => "  ",
    }
}

/// Returns the text with `new` in place of a part of it.
pub(super) fn spliced(text: &str, part: std::ops::Range<usize>, new: &str) -> String {
    [&text[..part.start], new, &text[part.end..]].concat()
}
