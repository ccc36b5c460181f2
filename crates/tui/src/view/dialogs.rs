//! What stands before everything else.

use manifold_admin::escaped_line;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr as _;

use super::canvas::Canvas;
use super::detail::words;
use super::units::age;
use crate::form::Line;
use crate::input::{ACTIONS, Place};
use crate::look::{ACCENT, BAD, BOLD, BUSY, FAINT, KEY, PLAIN, SELECTED};
use crate::state::palette::Palette;
use crate::state::{Confirm, Modal, State, TextModal, Waiting};

/// Draws one; returns where the cursor is.
pub(super) fn draw(modal: &Modal, state: &State, canvas: &mut Canvas) -> Option<Position> {
    match modal {
        Modal::Palette(one) => palette(one, state, canvas),
        Modal::Confirm(one) => confirm(one, state, canvas),
        Modal::Form(one) => return super::form::draw(one, state, canvas),
        Modal::Text(one) => text(one, state, canvas),
        Modal::Keys { line, top } => keys(line, *top, state, canvas),
        Modal::Waiting(one) => waiting(one, state, canvas),
    }
    .filter(|_| super::is_typed(modal))
}

/// Returns the place of something that takes nearly everything.
pub(super) fn large((width, height): (u16, u16)) -> Rect {
    let (x, y) = (width / 20, height / 12);
    Rect::new(x, y, width - 2 * x, height - 2 * y)
}

/// Returns a place in the middle.
pub(super) fn middle((width, height): (u16, u16), wanted: (u16, u16)) -> Rect {
    let (w, h) = (wanted.0.min(width), wanted.1.min(height));
    Rect::new((width - w) / 2, (height - h) / 3, w, h)
}

/// Draws a line that is typed, and returns where its cursor is.
pub(super) fn typed(line: &Line, (x, y): (u16, u16), width: u16, canvas: &mut Canvas) -> Option<Position> {
    // The end of what is longer than its place is what is being typed.
    let before = line.text[..line.at].width();
    let skip = (before + 1).saturating_sub(usize::from(width));
    let (mut passed, mut from) = (0, 0);
    for (at, c) in line.text.char_indices() {
        if passed >= skip {
            break;
        }
        passed += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        from = at + c.len_utf8();
    }
    canvas.plain(x, y, width, &line.text[from..]);
    Some(Position::new(x + u16::try_from(before - passed.min(before)).unwrap_or(0), y))
}

fn palette(palette: &Palette, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let area = middle(state.size, (76, 18));
    canvas.window(area, "command", FAINT);
    canvas.put(area.x + 2, area.y + 1, 2, ":", KEY);
    let cursor = typed(&palette.line, (area.x + 4, area.y + 1), area.width.saturating_sub(6), canvas);
    let height = usize::from(area.height.saturating_sub(3));
    let top = (palette.at + 1).saturating_sub(height);
    for row in 0..height {
        let Some(entry) = palette.entry(top + row) else { break };
        let y = area.y + 2 + u16::try_from(row).unwrap_or(0);
        let room = area.width.saturating_sub(4);
        let used = canvas.plain(area.x + 2, y, room, &escaped_line(&entry.text));
        let about_at = (used + 2).max(30);
        canvas.put(
            area.x + 2 + about_at,
            y,
            room.saturating_sub(about_at),
            &escaped_line(&entry.about),
            FAINT,
        );
        if top + row == palette.at {
            canvas.style(Rect::new(area.x + 1, y, area.width.saturating_sub(2), 1), SELECTED);
        }
    }
    if palette.matches.is_empty() {
        canvas.put(area.x + 4, area.y + 3, area.width, "no such command", FAINT);
    }
    cursor
}

fn confirm(confirm: &Confirm, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let width = 60.min(state.size.0.saturating_sub(2));
    let room = usize::from(width.saturating_sub(4));
    let lines: Vec<String> = confirm.lines.iter().flat_map(|line| words(&escaped_line(line), room)).collect();
    let height = u16::try_from(lines.len()).unwrap_or(4) + 4;
    let area = middle(state.size, (width, height));
    canvas.window(area, &escaped_line(&confirm.title), BUSY);
    for (at, line) in lines.iter().enumerate() {
        canvas.plain(area.x + 2, area.y + 1 + u16::try_from(at).unwrap_or(0), area.width - 4, line);
    }
    let y = area.y + area.height.saturating_sub(2);
    let mut x = area.x + 2;
    for (text, is_chosen) in [(" y yes ", confirm.is_yes), (" n no ", !confirm.is_yes)] {
        x += canvas.put(x, y, 10, text, if is_chosen { SELECTED } else { PLAIN }) + 2;
    }
    None
}

fn text(text: &TextModal, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let area = large(state.size);
    canvas.window(area, &escaped_line(&text.title), if text.is_bad { BAD } else { ACCENT });
    let (width, height) = super::modal_size(state.size);
    for (at, row) in text.view.rows(width, height).iter().enumerate() {
        canvas.plain(area.x + 2, area.y + 1 + u16::try_from(at).unwrap_or(0), area.width - 4, row);
    }
    let (line, lines) = text.view.place();
    let place = format!(" {line}/{lines} · y copy · Esc back ");
    canvas.right(area.x + 2, area.y + area.height - 1, area.width - 4, &place, FAINT);
    None
}

fn keys(line: &Line, top: usize, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let area = middle(state.size, (78, state.size.1.saturating_sub(2)));
    canvas.window(area, "keys", FAINT);
    canvas.put(area.x + 2, area.y + 1, 2, "/", KEY);
    let cursor = typed(line, (area.x + 4, area.y + 1), area.width.saturating_sub(6), canvas);
    let wanted = line.text.to_lowercase();
    let fits = |row: &&crate::input::ActionRow| {
        let text = format!("{} {} {}", row.name, row.about, state.keys.all_shown(row.action));
        text.to_lowercase().contains(&wanted)
    };
    let rows: Vec<_> = ACTIONS.iter().filter(fits).collect();
    let height = usize::from(area.height.saturating_sub(3));
    let top = top.min(rows.len().saturating_sub(height));
    for (at, row) in rows.iter().skip(top).take(height).enumerate() {
        let y = area.y + 2 + u16::try_from(at).unwrap_or(0);
        let place = if row.place == Place::Form { "form" } else { "" };
        canvas.right(area.x + 2, y, 14, &state.keys.all_of(row), KEY);
        canvas.put(area.x + 18, y, 16, row.name, BOLD);
        let taken = if place.is_empty() { 37 } else { 43 };
        canvas.put(area.x + 35, y, area.width.saturating_sub(taken), row.about, PLAIN);
        canvas.right(area.x + area.width.saturating_sub(7), y, 5, place, FAINT);
    }
    cursor
}

fn waiting(waiting: &Waiting, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let area = middle(state.size, (60, 5));
    canvas.window(area, &escaped_line(&waiting.what), ACCENT);
    let passed = age(state.now.saturating_sub(waiting.since));
    canvas.plain(area.x + 2, area.y + 1, area.width - 4, &format!("waiting for {passed}"));
    if let Some(progress) = &waiting.progress {
        canvas.plain(area.x + 2, area.y + 2, area.width - 4, progress);
    }
    canvas.put(area.x + 2, area.y + 3, area.width - 4, "Esc cancels it at its server", FAINT);
    None
}
