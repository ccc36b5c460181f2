//! A list as a table: only the rows that are seen are made.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::Canvas;
use crate::look::{FAINT, PLAIN, SELECTED};
use crate::state::{Focus, State};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// How many columns of the terminal; 0: what is left.
    pub(super) width: u16,
    pub(super) is_number: bool,
    /// Those of the highest go first where there is no room.
    pub(super) rank: u8,
}

pub(super) type Cell = (String, Style);

pub(super) const fn text(title: &'static str, width: u16, rank: u8) -> Column {
    Column { title, width, is_number: false, rank }
}

pub(super) const fn number(title: &'static str, width: u16, rank: u8) -> Column {
    Column { title, width, is_number: true, rank }
}

/// The narrowest that a column without a width of its own may get.
const MIN_REST: u16 = 16;
const GAP: u16 = 1;
/// The mark and the selection stand before a row.
const LEAD: u16 = 3;

/// Draws the names of the columns, and the rows that are seen by what `cells` returns for an index.
pub(super) fn draw(
    state: &State,
    area: Rect,
    columns: &[Column],
    canvas: &mut Canvas,
    cells: impl Fn(usize) -> Vec<Cell>,
) {
    let list = state.list();
    let places = places(area, columns);
    for (column, (x, width)) in columns.iter().zip(&places) {
        match column.is_number {
            true => canvas.right(*x, area.y, *width, column.title, FAINT),
            false => _ = canvas.put(*x, area.y, *width, column.title, FAINT),
        }
    }
    let height = usize::from(area.height.saturating_sub(1));
    for (at, row) in list.rows.iter().enumerate().skip(list.top).take(height) {
        let y = area.y + 1 + u16::try_from(at - list.top).unwrap_or(0);
        let is_selected = at == list.at;
        for ((column, (x, width)), (text, style)) in columns.iter().zip(&places).zip(cells(row.index)) {
            match column.is_number {
                true => canvas.right(*x, y, *width, &text, style),
                false => _ = canvas.put(*x, y, *width, &text, style),
            }
        }
        if list.marks.contains(&row.key) {
            canvas.put(area.x + 1, y, 1, "•", crate::look::ACCENT);
        }
        if is_selected {
            let line = Rect { y, height: 1, ..area };
            canvas.put(area.x, y, 1, "›", PLAIN);
            match state.focus {
                Focus::List => canvas.style(line, SELECTED),
                Focus::Detail => canvas.style(line, crate::look::BOLD),
            }
        }
    }
    scrollbar(list.top, list.rows.len(), area, canvas);
}

/// Shows at the right edge where the window is, if it does not hold everything.
fn scrollbar(top: usize, count: usize, area: Rect, canvas: &mut Canvas) {
    let height = usize::from(area.height.saturating_sub(1));
    if count <= height || height == 0 {
        return;
    }
    let x = area.x + area.width - 1;
    let length = (height * height / count).max(1);
    let begin = (top * (height - length)).checked_div(count - height).unwrap_or(0);
    for row in 0..height {
        let is_in = (begin..begin + length).contains(&row);
        let y = area.y + 1 + u16::try_from(row).unwrap_or(0);
        canvas.put(x, y, 1, if is_in { "┃" } else { "│" }, FAINT);
    }
}

/// Returns where each column is; those without room have no width.
fn places(area: Rect, columns: &[Column]) -> Vec<(u16, u16)> {
    let room = area.width.saturating_sub(LEAD + 1);
    let mut is_shown = vec![true; columns.len()];
    let needed = |is_shown: &[bool]| -> u16 {
        let shown = columns.iter().zip(is_shown).filter(|(_, is_shown)| **is_shown);
        shown.map(|(column, _)| if column.width == 0 { MIN_REST } else { column.width } + GAP).sum()
    };
    while needed(&is_shown) > room {
        let last = columns.iter().enumerate().filter(|(at, column)| is_shown[*at] && column.rank > 0);
        let Some((at, _)) = last.max_by_key(|(_, column)| column.rank) else { break };
        is_shown[at] = false;
    }
    let fixed: u16 =
        columns.iter().zip(&is_shown).filter(|(_, is)| **is).map(|(column, _)| column.width + GAP).sum();
    let rests = columns.iter().zip(&is_shown).filter(|(column, is)| **is && column.width == 0).count();
    let rest = room.saturating_sub(fixed) / u16::try_from(rests.max(1)).unwrap_or(1);
    let mut x = area.x + LEAD;
    let mut places = Vec::new();
    for (column, is_shown) in columns.iter().zip(is_shown) {
        let width = match (is_shown, column.width) {
            (false, _) => 0,
            (true, 0) => rest,
            (true, width) => width.min((area.x + area.width).saturating_sub(x + 1)),
        };
        places.push((x, width));
        x += if is_shown { width + GAP } else { 0 };
    }
    places
}
