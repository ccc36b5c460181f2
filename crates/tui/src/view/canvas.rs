//! A few strokes: text that is clipped, lines, boxes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::look::{FAINT, PLAIN};

pub(super) struct Canvas<'b> {
    pub(super) buffer: &'b mut Buffer,
}

impl Canvas<'_> {
    /// Writes a text into so many columns; what does not fit ends in `…`. Returns how many it took.
    pub(super) fn put(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        if y >= area.height || x >= area.width || width == 0 {
            return 0;
        }
        let width = width.min(area.width - x);
        let text = clipped(text, usize::from(width));
        let (end, _) = self.buffer.set_stringn(x, y, &text, usize::from(width), style);
        end - x
    }

    /// Writes pieces of text one after the other.
    pub(super) fn pieces(&mut self, x: u16, y: u16, width: u16, pieces: &[(String, Style)]) -> u16 {
        let mut used = 0;
        for (text, style) in pieces {
            used += self.put(x + used, y, width.saturating_sub(used), text, *style);
        }
        used
    }

    pub(super) fn right(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) {
        let text = clipped(text, usize::from(width));
        let free = width.saturating_sub(u16::try_from(text.width()).unwrap_or(width));
        self.put(x + free, y, width - free, &text, style);
    }

    pub(super) fn style(&mut self, area: Rect, style: Style) {
        self.buffer.set_style(area.intersection(self.buffer.area), style);
    }

    pub(super) fn vertical(&mut self, x: u16, y: u16, height: u16, style: Style) {
        (0..height).for_each(|row| _ = self.put(x, y + row, 1, "│", style));
    }

    pub(super) fn horizontal(&mut self, x: u16, y: u16, width: u16, style: Style) {
        self.put(x, y, width, &"─".repeat(usize::from(width)), style);
    }

    /// Clears a place and draws a frame around it, with a title in it.
    pub(super) fn window(&mut self, area: Rect, title: &str, style: Style) {
        let area = area.intersection(self.buffer.area);
        for y in area.y..area.y + area.height {
            for x in area.x..area.x + area.width {
                self.buffer[(x, y)].reset();
            }
        }
        let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
        let across = "─".repeat(usize::from(area.width.saturating_sub(2)));
        self.put(area.x, area.y, area.width, &format!("╭{across}╮"), style);
        self.put(area.x, bottom, area.width, &format!("╰{across}╯"), style);
        for y in area.y + 1..bottom {
            self.put(area.x, y, 1, "│", style);
            self.put(right, y, 1, "│", style);
        }
        if !title.is_empty() {
            let title = format!(" {} ", clipped(title, usize::from(area.width.saturating_sub(6))));
            self.put(area.x + 2, area.y, area.width.saturating_sub(4), &title, crate::look::BOLD);
        }
    }

    /// Takes the colours out of a place.
    pub(super) fn fade(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.y..area.y + area.height {
            for x in area.x..area.x + area.width {
                self.buffer[(x, y)].set_style(Style::reset()).set_style(FAINT);
            }
        }
    }

    /// Writes a remark into the middle of an empty place.
    pub(super) fn empty(&mut self, area: Rect, text: &str) {
        let width = u16::try_from(text.width()).unwrap_or(area.width).min(area.width);
        let (x, y) = (area.x + (area.width - width) / 2, area.y + area.height / 3);
        self.put(x, y, area.width, text, FAINT);
    }

    pub(super) fn plain(&mut self, x: u16, y: u16, width: u16, text: &str) -> u16 {
        self.put(x, y, width, text, PLAIN)
    }
}

/// Returns a text of at most so many columns; what is left out is told by `…`.
pub(super) fn clipped(text: &str, width: usize) -> std::borrow::Cow<'_, str> {
    // Longer than any terminal: the rest need not be measured.
    let head = &text[..text.floor_char_boundary(text.len().min(width * 4 + 16))];
    if head.len() == text.len() && text.width() <= width {
        return text.into();
    }
    let (mut used, mut end) = (0, 0);
    for (at, c) in head.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width.saturating_sub(1) {
            break;
        }
        end = at + c.len_utf8();
    }
    if width == 0 { "".into() } else { format!("{}…", &text[..end]).into() }
}
