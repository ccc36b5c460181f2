//! A form: a line for each field, what it takes, and the line that sends.

use manifold_admin::escaped_line;
use ratatui::layout::{Position, Rect};

use super::canvas::Canvas;
use super::detail::words;
use super::dialogs::{large, typed};
use crate::form::Kind;
use crate::input::Action;
use crate::look::{ACCENT, BAD, BOLD, FAINT, KEY, PLAIN, SELECTED};
use crate::state::{FormModal, State};

const NAME: u16 = 20;

pub(super) fn draw(modal: &FormModal, state: &State, canvas: &mut Canvas) -> Option<Position> {
    let area = large(state.size);
    canvas.window(area, &escaped_line(&modal.title), ACCENT);
    let (x, room) = (area.x + 2, area.width.saturating_sub(4));
    let mut y = area.y + 1;
    let bottom = area.y + area.height.saturating_sub(2);
    for line in words(&escaped_line(&modal.about), room.into()).iter().take(3) {
        canvas.put(x, y, room, line, FAINT);
        y += 1;
    }
    let form = &modal.form;
    // One line a field; what is said of the one that is filled in stands at the foot.
    let height = usize::from(bottom.saturating_sub(y + 3)).max(1);
    let count = form.fields.len() + 1;
    let top = (form.at + 1).saturating_sub(height).min(count.saturating_sub(height));
    let mut cursor = None;
    for (at, line) in (top..count).take(height).enumerate() {
        let y = y + u16::try_from(at).unwrap_or(0);
        let is_here = line == form.at;
        match form.fields.get(line) {
            Some(field) => {
                let mark = if field.is_required { "*" } else { " " };
                canvas.put(x, y, 1, mark, BAD);
                let style = if is_here { BOLD } else { PLAIN };
                canvas.put(x + 2, y, NAME, &escaped_line(&field.name), style);
                let place = (x + NAME + 3, y);
                let width = room.saturating_sub(NAME + 3);
                let is_secret = field.kind == Kind::Text { is_secret: true };
                if field.line.text.is_empty() {
                    let empty = match (&field.default, field.is_empty_meant) {
                        (_, true) => "(an empty text)".to_owned(),
                        (Some(default), _) => format!("{} unless given", escaped_line(default)),
                        (None, false) => field.takes(),
                    };
                    canvas.put(place.0, y, width, &empty, FAINT);
                    cursor = if is_here { Some(Position::new(place.0, y)) } else { cursor };
                } else if is_secret {
                    let stars = "*".repeat(field.line.text.chars().count().min(usize::from(width)));
                    canvas.plain(place.0, y, width, &stars);
                    cursor = if is_here { Some(Position::new(place.0, y)) } else { cursor };
                } else if is_here {
                    cursor = typed(&field.line, place, width, canvas);
                } else {
                    canvas.plain(place.0, y, width, &field.line.text);
                }
                if is_here {
                    canvas.style(Rect::new(place.0, y, width, 1), SELECTED);
                }
            }
            None => {
                let style = if is_here { SELECTED } else { PLAIN };
                canvas.put(x + 2, y, room, " Send ", style);
                if is_here {
                    cursor = None;
                }
            }
        }
    }
    foot(modal, state, Rect::new(x, bottom.saturating_sub(1), room, 2), canvas);
    cursor
}

/// What is wrong with the form, or what the field is for; and the keys.
fn foot(modal: &FormModal, state: &State, area: Rect, canvas: &mut Canvas) {
    let form = &modal.form;
    let field = form.fields.get(form.at);
    match (&form.flaw, field) {
        (Some(flaw), _) => canvas.put(area.x, area.y, area.width, &escaped_line(flaw), BAD),
        (None, Some(field)) => {
            let choices = match &field.kind {
                Kind::Choice(values) => format!("{} ", values.join(" | ")),
                _ => String::new(),
            };
            let about = format!("{}: {choices}{}", field.takes(), field.about);
            canvas.put(area.x, area.y, area.width, &escaped_line(&about), FAINT)
        }
        (None, None) => 0,
    };
    let key = |action| state.keys.shown(action);
    let mut pieces = Vec::new();
    for (key, what) in [
        (key(Action::Next), " next  "),
        (key(Action::Send), " send  "),
        (key(Action::EditJson), " as JSON  "),
        (
            if field.is_some_and(|field| field.is_chosen()) {
                "Space".to_owned()
            } else {
                key(Action::Toggle)
            },
            if field.is_some_and(|field| field.is_chosen()) { " choose  " } else { " empty text  " },
        ),
        ("Esc".to_owned(), " leave"),
    ] {
        pieces.push((key, KEY));
        pieces.push((what.to_owned(), FAINT));
    }
    canvas.pieces(area.x, area.y + 1, area.width, &pieces);
}
