//! One thing, a line for each of its members.

use super::color::Paint;
use super::escaped_line;
use super::table::Cell;

/// Members in the order in which they are shown.
#[derive(Debug, Default)]
pub(crate) struct Record(Vec<(&'static str, Cell)>);

impl Record {
    pub(crate) fn add(&mut self, name: &'static str, value: impl AsRef<str>) {
        self.cell(name, Cell::new(value));
    }

    /// Adds what is known, and nothing where nothing is.
    pub(crate) fn maybe(&mut self, name: &'static str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    pub(crate) fn cell(&mut self, name: &'static str, value: Cell) {
        self.0.push((name, value));
    }

    /// Returns `name: value` on each line; on a terminal the values are aligned.
    pub(super) fn render(&self, is_terminal: bool, paint: Paint) -> String {
        let widest = self.0.iter().map(|(name, _)| name.len()).max().filter(|_| is_terminal).unwrap_or(0);
        let mut text = String::new();
        for (name, value) in &self.0 {
            let room = " ".repeat(widest.saturating_sub(name.len()) + 1);
            let name = paint.heading(&format!("{}:", escaped_line(name)));
            text.extend([name.as_str(), &room, &paint.tone(value.own_tone(), value.text()), "\n"]);
        }
        text
    }
}
