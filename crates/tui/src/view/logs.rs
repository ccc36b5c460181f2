//! What servers write beside the protocol.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, text};
use crate::look::{ACCENT, BOLD, FAINT, PLAIN};
use crate::state::State;

const COLUMNS: [Column; 3] = [text("TIME", 12, 1), text("SERVER", 14, 1), text("LINE", 0, 0)];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let logs = &state.model.logs;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(line) = logs.lines.get(index) else { return Vec::new() };
        // Of the date only the time of day.
        let time = line.time.split('T').nth(1).unwrap_or(&line.time);
        let time = time.trim_end_matches('Z');
        let time = &time[..time.floor_char_boundary(time.len().min(12))];
        vec![(time.to_owned(), FAINT), (line.server.clone(), ACCENT), (line.text.clone(), PLAIN)]
    });
    if state.list().rows.is_empty() {
        canvas.empty(
            area,
            match logs.lines.is_empty() {
                true => "no server has written anything",
                false => "no line fits the filter",
            },
        );
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(line) = state.selected_line() else { return rows };
    rows.row(vec![(format!("{} ", line.server), BOLD), (line.time.clone(), FAINT)]);
    rows.gap();
    rows.code(&line.text, width);
    rows
}
