//! A picture as text, so that it can be compared and read.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::state::State;
use crate::view::view;

pub(crate) fn draw(state: &State) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    view(state, &mut buffer);
    buffer
}

/// Returns the characters alone.
pub(crate) fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the same with what is coloured or marked named in brackets.
pub(crate) fn styled(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut last = String::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let mut now = String::new();
            if cell.fg != Color::Reset {
                let _ = write!(now, "{}", cell.fg);
            }
            for (modifier, sign) in [(Modifier::BOLD, "*"), (Modifier::REVERSED, "!")] {
                if cell.modifier.contains(modifier) {
                    now.push_str(sign);
                }
            }
            if now != last && !(cell.symbol() == " " && !now.contains('!') && !last.contains('!')) {
                let _ = write!(line, "[{now}]");
                last = now;
            }
            line.push_str(cell.symbol());
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
