//! What is wrong, since when, and the key that mends it.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use super::units::age;
use crate::look::{BAD, BOLD, BUSY, FAINT, GOOD, KEY, PLAIN};
use crate::state::{Link, State};

const COLUMNS: [Column; 5] = [
    text("", 9, 2),
    text("WHERE", 14, 0),
    text("WHAT IS WRONG", 0, 0),
    number("SINCE", 5, 1),
    text("KEY", 16, 3),
];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let problems = state.model.problems(state.now);
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(one) = problems.get(index) else { return Vec::new() };
        let (word, style) = if one.is_error { ("✗ error", BAD) } else { ("◌ warning", BUSY) };
        let mend = one.mend.map(|(action, what)| format!("{} {what}", state.keys.shown(action)));
        vec![
            (word.to_owned(), style),
            (one.whose.clone(), PLAIN),
            (one.what.clone(), PLAIN),
            (one.since_ms.map(age).unwrap_or_default(), FAINT),
            (mend.unwrap_or_default(), KEY),
        ]
    });
    if problems.is_empty() && state.link == Link::Live {
        let y = area.y + area.height / 3;
        let text = "✓ nothing is wrong";
        canvas.put(area.x + area.width.saturating_sub(18) / 2, y, 18, text, GOOD);
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(one) = state.selected_problem() else { return rows };
    let style = if one.is_error { BAD } else { BUSY };
    rows.row(vec![
        (format!("{} ", one.whose), BOLD),
        (if one.is_error { "error" } else { "warning" }.to_owned(), style),
        (one.since_ms.map(|ms| format!(" for {}", age(ms))).unwrap_or_default(), FAINT),
    ]);
    rows.gap();
    rows.paragraph(&one.what, PLAIN, width);
    if let Some(hint) = &one.hint {
        rows.gap();
        rows.paragraph(&format!("→ {hint}"), BUSY, width);
    }
    if let Some((action, what)) = one.mend {
        rows.gap();
        rows.row(vec![(state.keys.shown(action), KEY), (format!(" {what}"), PLAIN)]);
    }
    let lines = state.model.logs.last_of(&one.whose, 12);
    if !lines.is_empty() && one.is_server {
        rows.heading("STDERR");
        lines.iter().for_each(|line| rows.row(vec![(line.text.clone(), PLAIN)]));
    }
    rows
}
