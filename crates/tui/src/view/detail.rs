//! All there is to say of one thing, as rows of pieces.

use manifold_admin::escaped_text;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::Canvas;
use crate::look::{FAINT, PLAIN};
use crate::textview::{MAX_SHOWN_BYTES, wrapped};

/// How far what is said of a thing stands from its name.
const LABEL: usize = 10;

/// Rows that are drawn through a window.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<(String, Style)>>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn gap(&mut self) {
        self.rows.push(Vec::new());
    }

    /// A heading, with a gap before it.
    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.rows.push(vec![(text.to_owned(), FAINT)]);
    }

    pub(super) fn row(&mut self, pieces: Vec<(String, Style)>) {
        self.rows.push(pieces);
    }

    /// A member: its name, and a text that is wrapped beside it.
    pub(super) fn member(&mut self, name: &str, text: &str, style: Style, width: usize) {
        let room = width.saturating_sub(LABEL).max(8);
        let mut label = format!("{name:<LABEL$}");
        for row in words(text, room) {
            self.rows.push(vec![(std::mem::replace(&mut label, " ".repeat(LABEL)), FAINT), (row, style)]);
        }
    }

    /// A text over the whole width, wrapped between words.
    pub(super) fn paragraph(&mut self, text: &str, style: Style, width: usize) {
        for line in shown(text).lines() {
            words(line, width.max(8)).into_iter().for_each(|row| self.rows.push(vec![(row, style)]));
        }
    }

    /// A text whose lines are kept as they are, as far as they fit; what is longer goes on below.
    pub(super) fn code(&mut self, text: &str, width: usize) {
        for line in shown(text).lines() {
            for row in wrapped(line, width.max(8)) {
                self.rows.push(vec![(row.to_owned(), PLAIN)]);
            }
        }
    }

    pub(super) fn draw(&self, top: usize, area: Rect, canvas: &mut Canvas) {
        let height = usize::from(area.height);
        let has_more = self.rows.len() > top + height;
        let seen = self.rows.iter().skip(top).take(height - usize::from(has_more && height > 0));
        for (y, row) in seen.enumerate() {
            canvas.pieces(area.x, area.y + u16::try_from(y).unwrap_or(0), area.width, row);
        }
        if has_more && height > 0 {
            // The line that says so takes the place of one.
            let more = self.rows.len() - top - height + 1;
            let text = format!(" {more} more ↓ ");
            canvas.right(area.x, area.y + area.height - 1, area.width, &text, FAINT);
        }
    }
}

/// Returns text that is fit to be seen, and no longer than may be.
fn shown(text: &str) -> String {
    let cut = text.floor_char_boundary(text.len().min(MAX_SHOWN_BYTES));
    let mut shown = escaped_text(&text[..cut]).replace('\t', "    ");
    if cut < text.len() {
        shown.push_str(&format!("\n… {} bytes more", text.len() - cut));
    }
    shown
}

/// Cuts a text into rows between words, and within those that are longer than a row.
pub(super) fn words(text: &str, width: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthStr as _;
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        for part in wrapped(word, width) {
            let row = rows.last_mut().map_or(0, |row| row.width());
            if row > 0 && row + 1 + part.width() > width {
                rows.push(String::new());
            }
            if let Some(row) = rows.last_mut() {
                if !row.is_empty() {
                    row.push(' ');
                }
                row.push_str(part);
            }
        }
    }
    rows
}
