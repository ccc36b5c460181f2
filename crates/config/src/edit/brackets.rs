//! What stands between two brackets: adding to it and taking out of it, with its commas and comments.

use std::ops::Range;

use super::lines::{indent_at, indent_unit, is_blank, line_end, line_start, spliced};

/// An object or a list, by where it and its items stand.
pub(super) struct Brackets {
    /// Between the brackets.
    inside: Range<usize>,
    items: Vec<Range<usize>>,
    comments: Comments,
}

/// How comments begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    Slash,
    Hash,
}

/// A new item, both ways it can be written.
pub(super) struct NewItem<'a> {
    pub(super) inline: String,
    /// Over several lines, of which the first is indented like this.
    pub(super) open: &'a dyn Fn(&str) -> String,
}

impl Brackets {
    /// `span` has the brackets in it.
    pub(super) fn new(span: Range<usize>, items: Vec<Range<usize>>, comments: Comments) -> Self {
        Self { inside: span.start + 1..span.end - 1, items, comments }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Tells whether its items stand on lines of their own.
    pub(super) fn is_open(&self, text: &str) -> bool {
        let (first, last) = match (self.items.first(), self.items.last()) {
            (Some(first), Some(last)) => (first.start, last.end),
            _ => return text[self.inside.clone()].contains('\n'),
        };
        text[self.inside.start..first].contains('\n') || text[last..self.inside.end].contains('\n')
    }

    /// Adds an item behind the others.
    pub(super) fn insert(&self, text: &str, item: &NewItem<'_>) -> String {
        let outer = indent_at(text, self.inside.start);
        // A file that is one line stays one, unless there is nothing in it.
        let in_lines =
            text.trim_end().contains('\n') || text.trim_end().ends_with("{}") && self.inside.is_empty();
        let opens = self.items.is_empty() && in_lines && self.comments == Comments::Slash;
        if !self.is_open(text) && !opens {
            return self.insert_inline(text, &item.inline);
        }
        let indent = match self.items.last() {
            Some(last) if is_blank(&text[line_start(text, last.start)..last.start]) => {
                indent_at(text, last.start).to_owned()
            }
            _ => format!("{outer}{}", indent_unit(text)),
        };
        let shown = match self.items.last() {
            // As the one before it is written.
            Some(last) if is_inline(&text[last.clone()]) => item.inline.clone(),
            _ => (item.open)(&indent),
        };
        self.insert_line(text, &format!("\n{indent}{shown}"), outer)
    }

    fn insert_inline(&self, text: &str, item: &str) -> String {
        let Some(last) = self.items.last() else {
            return spliced(
                text,
                self.inside.clone(),
                &format!("{}{item}", &text[self.inside.clone()].trim_end()),
            );
        };
        match self.comma(text, last.end, self.inside.end) {
            Some(comma) => spliced(text, comma + 1..comma + 1, &format!(" {item},")),
            None => spliced(text, last.end..last.end, &format!(", {item}")),
        }
    }

    fn insert_line(&self, text: &str, line: &str, outer: &str) -> String {
        let Some(last) = self.items.last() else {
            let filled = text[self.inside.clone()].trim_end().len() + self.inside.start;
            let rest = &text[filled..self.inside.end];
            let closing = if rest.contains('\n') { rest.to_owned() } else { format!("\n{outer}") };
            return spliced(text, filled..self.inside.end, &format!("{line}{closing}"));
        };
        match self.comma(text, last.end, self.inside.end) {
            Some(comma) => {
                let at = self.after_comment(text, comma + 1);
                self.spliced_line(text, at, &format!("{line},"), outer)
            }
            None => {
                let at = self.after_comment(text, last.end);
                let with_line = self.spliced_line(text, at, line, outer);
                spliced(&with_line, last.end..last.end, ",")
            }
        }
    }

    /// Puts a line in; a bracket that would follow on the same line gets one of its own.
    fn spliced_line(&self, text: &str, at: usize, line: &str, outer: &str) -> String {
        let rest = &text[at..self.inside.end];
        if is_blank(rest) && !rest.contains('\n') {
            return spliced(text, at..self.inside.end, &format!("{line}\n{outer}"));
        }
        spliced(text, at..at, line)
    }

    /// Takes an item out, with its comma. Comments beside it stay.
    pub(super) fn remove(&self, text: &str, index: usize) -> String {
        let item = self.items[index].clone();
        let before = index.checked_sub(1).map(|before| self.items[before].end);
        let comma_after = self.comma(text, item.end, self.inside.end);
        let comma_before = before.and_then(|end| self.comma(text, end, item.start));
        let mut cuts = vec![item.clone()];
        cuts.extend(comma_after.or(comma_before).map(|comma| comma..comma + 1));
        let whole =
            cuts.iter().filter(|cut| cut.start >= item.start).map(|cut| cut.end).max().unwrap_or(item.end);
        // With a comment before its comma only the item itself goes.
        let is_plain = comma_after.is_none_or(|comma| is_blank(&text[item.end..comma]));
        if is_plain {
            let goes_on = comma_after.is_some() && index + 1 < self.items.len();
            cuts.push(space_around(text, item.start, whole, goes_on));
        }
        let remaining = cut_out(text, &self.inside, cuts);
        let inside = self.inside.start..self.inside.start + remaining.len();
        let text = spliced(text, self.inside.clone(), &remaining);
        if self.items.len() == 1 && is_blank(&remaining) { spliced(&text, inside, "") } else { text }
    }

    /// Returns the comma between two bytes, outside comments.
    fn comma(&self, text: &str, from: usize, to: usize) -> Option<usize> {
        let mut at = from;
        while at < to {
            let rest = &text[at..to];
            match self.comment(rest) {
                Some(length) => at += length,
                None if rest.starts_with(',') => return Some(at),
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        None
    }

    /// Returns the end of the comments that follow on the same line, if any do.
    fn after_comment(&self, text: &str, from: usize) -> usize {
        let mut end = from;
        loop {
            let rest = &text[end..self.inside.end];
            let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            match self.comment(&rest[spaces..]) {
                Some(length) if !rest[spaces..spaces + length].contains('\n') => end += spaces + length,
                _ => return end,
            }
        }
    }

    /// Returns how long the comment is that the text begins with.
    fn comment(&self, text: &str) -> Option<usize> {
        let line = || text.find('\n').unwrap_or(text.len());
        match self.comments {
            Comments::Hash => text.starts_with('#').then(line),
            Comments::Slash if text.starts_with("/*") => {
                Some(text[2..].find("*/").map_or(text.len(), |end| end + 4))
            }
            Comments::Slash => text.starts_with("//").then(line),
        }
    }
}

/// Returns the space that goes with an item: its lines where it has them for itself, else that up to the next item.
fn space_around(text: &str, start: usize, end: usize, goes_on: bool) -> Range<usize> {
    let (line, line_end) = (line_start(text, start), line_end(text, end));
    let has_line = is_blank(&text[line..start]);
    let rest = &text[end..line_end];
    if has_line && is_blank(rest) {
        return line..(line_end + 1).min(text.len());
    }
    let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    if goes_on || has_line {
        return start..end + spaces(rest);
    }
    let head = &text[line..start];
    start - (head.len() - head.trim_end_matches([' ', '\t']).len())..end
}

/// Returns what is left of a part of the text.
fn cut_out(text: &str, part: &Range<usize>, mut cuts: Vec<Range<usize>>) -> String {
    cuts.sort_by_key(|cut| cut.start);
    let (mut left, mut at) = (String::new(), part.start);
    for cut in cuts {
        if cut.start > at {
            left.push_str(&text[at..cut.start]);
        }
        at = at.max(cut.end);
    }
    left.push_str(&text[at.min(part.end)..part.end]);
    left
}

/// An object in one line.
fn is_inline(item: &str) -> bool {
    item.ends_with('}') && !item.contains('\n')
}
