//! A table for people: columns aligned and cut to the width of the terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::color::{Paint, Tone};
use super::escaped_line;

/// No column is cut shorter than this.
const MIN_WIDTH: usize = 8;
const GAP: usize = 2;
const CUT: char = '…';

/// Rows of the same columns.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    /// Numbers end below each other.
    is_number: bool,
    /// It gives way where the terminal is narrow.
    is_cut: bool,
}

/// One field, fit to be shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Column {
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, is_number: false, is_cut: true }
    }

    /// A column that is never cut: ids are there to be copied.
    pub(crate) const fn id(title: &'static str) -> Self {
        Self { title, is_number: false, is_cut: false }
    }

    pub(crate) const fn number(title: &'static str) -> Self {
        Self { title, is_number: true, is_cut: false }
    }
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: escaped_line(text.as_ref()).into_owned(), tone: Tone::Plain }
    }

    pub(crate) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn own_tone(&self) -> Tone {
        self.tone
    }
}

impl<T: AsRef<str>> From<Option<T>> for Cell {
    fn from(text: Option<T>) -> Self {
        text.map_or_else(Self::default, Self::new)
    }
}

impl Table {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Returns the table with its heading; nothing where it has no rows.
    pub(super) fn render(&self, width: usize, paint: Paint) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let widths = self.widths(width);
        let headings: Vec<Cell> =
            self.columns.iter().map(|column| Cell::new(column.title).tone(Tone::Heading)).collect();
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            self.line(row, &widths, paint, &mut text);
        }
        text
    }

    fn line(&self, row: &[Cell], widths: &[usize], paint: Paint, text: &mut String) {
        let mut owed = 0;
        for ((cell, column), width) in row.iter().zip(&self.columns).zip(widths) {
            let shown = cut(&cell.text, *width);
            let room = width.saturating_sub(shown.width());
            let (before, after) = if column.is_number { (room, 0) } else { (0, room) };
            // Blanks are written only before something.
            if !shown.is_empty() {
                text.extend(std::iter::repeat_n(' ', owed + before));
                text.push_str(&paint.tone(cell.tone, &shown));
                owed = after + GAP;
            } else {
                owed += width + GAP;
            }
        }
        text.push('\n');
    }

    /// Returns how wide each column is to be: the widest of those that may be cut gives way first.
    fn widths(&self, width: usize) -> Vec<usize> {
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
            cells.chain([self.columns.get(at).map_or(0, |column| column.title.width())]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        loop {
            let needed = widths.iter().sum::<usize>() + gaps;
            let Some(over) = needed.checked_sub(width).filter(|over| *over > 0) else { break };
            let may_give = |(at, now): &(usize, usize)| {
                *now > MIN_WIDTH && self.columns.get(*at).is_some_and(|column| column.is_cut)
            };
            let mut cuttable: Vec<(usize, usize)> =
                widths.iter().copied().enumerate().filter(may_give).collect();
            cuttable.sort_by_key(|(_, now)| std::cmp::Reverse(*now));
            let Some((at, now)) = cuttable.first().copied() else { break };
            // Down to the next widest, so that two long ones are cut alike.
            let next = cuttable.get(1).map_or(MIN_WIDTH, |(_, next)| *next).min(now - 1).max(MIN_WIDTH);
            if let Some(given) = widths.get_mut(at) {
                *given = next.max(now.saturating_sub(over));
            }
        }
        widths
    }
}

/// Returns as much of a text as fits, with a mark where it is cut.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut taken = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if taken + wide + 1 > width {
            break;
        }
        shown.push(c);
        taken += wide;
    }
    shown.truncate(shown.trim_end().len());
    shown.push(CUT);
    Cow::Owned(shown)
}
