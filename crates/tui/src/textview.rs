//! A text that is looked at through a window. Lines are found once; only what is seen is wrapped.

use manifold_admin::escaped_text;
use unicode_width::UnicodeWidthChar;

/// So much of a text is shown.
pub(crate) const MAX_SHOWN_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Default)]
pub(crate) struct TextView {
    /// Fit to be shown, and no longer than may be.
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
    /// The line at the top, and which of its rows.
    line: usize,
    row: usize,
}

impl TextView {
    /// Takes over a text, whatever is in it.
    pub(crate) fn new(text: &str) -> Self {
        let cut = text.floor_char_boundary(MAX_SHOWN_BYTES.min(text.len()));
        let mut shown = escaped_text(&text[..cut]).replace('\t', "    ");
        if cut < text.len() {
            shown.push_str(&format!("\n… {} bytes more; copying takes all of it", text.len() - cut));
        }
        let ends = shown.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { text: shown, starts, line: 0, row: 0 }
    }

    fn line(&self, number: usize) -> &str {
        let begin = self.starts[number];
        let end = self.starts.get(number + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[begin..end]
    }

    /// Returns the rows that fit into a window.
    pub(crate) fn rows(&self, width: usize, height: usize) -> Vec<&str> {
        let mut rows = Vec::with_capacity(height);
        let mut skip = self.row;
        for number in self.line..self.starts.len() {
            for row in wrapped(self.line(number), width).skip(std::mem::take(&mut skip)) {
                if rows.len() == height {
                    return rows;
                }
                rows.push(row);
            }
        }
        rows
    }

    /// Moves the window down by so many rows, not past the last that fills it.
    pub(crate) fn down(&mut self, rows: usize, width: usize, height: usize) {
        for _ in 0..rows {
            if self.rows(width, height + 1).len() <= height {
                return;
            }
            self.row += 1;
            if self.row >= wrapped(self.line(self.line), width).count() {
                (self.line, self.row) = (self.line + 1, 0);
            }
        }
    }

    pub(crate) fn up(&mut self, rows: usize, width: usize) {
        for _ in 0..rows {
            match (self.row, self.line) {
                (0, 0) => return,
                (0, line) => {
                    self.line = line - 1;
                    self.row = wrapped(self.line(self.line), width).count().saturating_sub(1);
                }
                (row, _) => self.row = row - 1,
            }
        }
    }

    pub(crate) fn top(&mut self) {
        (self.line, self.row) = (0, 0);
    }

    pub(crate) fn end(&mut self, width: usize, height: usize) {
        self.line = self.starts.len() - 1;
        self.row = wrapped(self.line(self.line), width).count().saturating_sub(1);
        self.up(height.saturating_sub(1), width);
    }

    /// Returns which line is at the top, of how many.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.line + 1, self.starts.len())
    }
}

/// Cuts a line into rows of at most so many columns; an empty line is one row.
pub(crate) fn wrapped(line: &str, width: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let (mut used, mut end) = (0, line.len());
        for (at, c) in line.char_indices() {
            used += c.width().unwrap_or(0);
            // At least one character a row, or it would never end.
            if used > width && at > 0 {
                end = at;
                break;
            }
        }
        rest = Some(&line[end..]).filter(|rest| !rest.is_empty());
        Some(&line[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_is_returned_and_the_end_is_the_end() {
        let mut view = TextView::new("abcdef\n\nxy");
        assert_eq!(view.rows(4, 10), ["abcd", "ef", "", "xy"]);
        view.down(9, 4, 2);
        assert_eq!(view.rows(4, 2), ["", "xy"]);
        view.up(1, 4);
        assert_eq!(view.rows(4, 2), ["ef", ""]);
        view.end(4, 3);
        assert_eq!(view.rows(4, 3), ["ef", "", "xy"]);
        view.top();
        assert_eq!(view.rows(4, 1), ["abcd"]);
    }

    #[test]
    fn what_a_terminal_would_obey_is_written_out_and_long_texts_are_cut() {
        let view = TextView::new("a\u{1b}[31m\u{202e}b");
        assert_eq!(view.rows(80, 1), ["a\\u{1b}[31m\\u{202e}b"]);
        let long = TextView::new(&"x".repeat(10 << 20));
        assert!(long.text.len() < MAX_SHOWN_BYTES + 100);
        assert_eq!(long.rows(100, 3).len(), 3);
    }

    #[test]
    fn wide_characters_count_for_two() {
        assert_eq!(wrapped("漢字ab", 4).collect::<Vec<_>>(), ["漢字", "ab"]);
        assert_eq!(wrapped("漢字", 1).collect::<Vec<_>>(), ["漢", "字"], "one a row at the least");
    }
}
