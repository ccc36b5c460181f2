//! The picture: a pure function of the state.

mod canvas;
mod chrome;
mod clients;
mod detail;
mod dialogs;
mod form;
mod logs;
mod namespaces;
mod problems;
mod servers;
mod strip;
mod table;
mod tools;
mod traffic;
mod units;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::look::{FAINT, PLAIN};
use crate::state::{Focus, Link, Modal, Screen, State};
use canvas::Canvas;
use detail::Rows;

/// Draws everything. Returns where the cursor is, where text is typed.
pub(crate) fn view(state: &State, buffer: &mut Buffer) -> Option<Position> {
    let layout = state.layout();
    let mut canvas = Canvas { buffer };
    if layout.is_too_small {
        let (width, height) = state.size;
        canvas.put(0, 0, width, &format!("too small: {width}x{height}, needs 40x8"), PLAIN);
        state.look.finish(buffer);
        return None;
    }
    chrome::head(state, layout.head, &mut canvas);
    if let Some(area) = layout.list {
        list(state, area, &mut canvas);
    }
    if let Some(area) = layout.detail {
        let area = if layout.is_split {
            canvas.vertical(area.x, area.y, area.height, FAINT);
            Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area }
        } else {
            Rect { x: 1, width: area.width.saturating_sub(2), ..area }
        };
        draw_detail(state, area, &mut canvas);
    }
    if let Some(area) = layout.strip {
        strip::draw(state, area, &mut canvas);
    }
    if matches!(state.link, Link::Lost { .. }) {
        // What was known last is still there to be read, and plainly not as things are.
        let body = Rect::new(
            0,
            layout.head.height,
            state.size.0,
            state.size.1 - layout.head.height - layout.foot.height,
        );
        canvas.fade(body);
    }
    let mut cursor = chrome::foot(state, layout.foot, &mut canvas);
    for modal in &state.modals {
        cursor = dialogs::draw(modal, state, &mut canvas);
    }
    state.look.finish(buffer);
    cursor
}

fn list(state: &State, area: Rect, canvas: &mut Canvas) {
    match state.screen {
        Screen::Servers => servers::draw(state, area, canvas),
        Screen::Tools => tools::draw(state, area, canvas),
        Screen::Traffic => traffic::draw(state, area, canvas),
        Screen::Clients => clients::draw(state, area, canvas),
        Screen::Namespaces => namespaces::draw(state, area, canvas),
        Screen::Logs => logs::draw(state, area, canvas),
        Screen::Problems => problems::draw(state, area, canvas),
    }
}

fn detail_of(state: &State, width: usize) -> Rows {
    match state.screen {
        Screen::Servers => servers::detail(state, width),
        Screen::Tools => tools::detail(state, width),
        Screen::Traffic => traffic::detail(state, width),
        Screen::Clients => clients::detail(state, width),
        Screen::Namespaces => namespaces::detail(state, width),
        Screen::Logs => logs::detail(state, width),
        Screen::Problems => problems::detail(state, width),
    }
}

/// Returns how long the detail is.
pub(crate) fn detail_rows(state: &State, width: usize) -> usize {
    detail_of(state, width.saturating_sub(2)).len()
}

fn draw_detail(state: &State, area: Rect, canvas: &mut Canvas) {
    let rows = detail_of(state, area.width.into());
    let height = usize::from(area.height);
    let top = match state.focus {
        Focus::Detail => state.detail_top.min(rows.len().saturating_sub(height)),
        Focus::List => 0,
    };
    rows.draw(top, area, canvas);
}

/// Returns the window of a text that stands before everything else.
pub(crate) fn modal_size(size: (u16, u16)) -> (usize, usize) {
    let area = dialogs::large(size);
    (usize::from(area.width.saturating_sub(4)), usize::from(area.height.saturating_sub(2)))
}

/// Returns whether a modal is one that text is typed into.
fn is_typed(modal: &Modal) -> bool {
    matches!(modal, Modal::Palette(_) | Modal::Keys { .. } | Modal::Form(_))
}
