//! The tools, as clients see them, and the definition of one.

use manifold_admin::escaped_line;
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use super::units::size;
use crate::form::json;
use crate::look::{BAD, BOLD, FAINT, PLAIN};
use crate::model::tools::Load;
use crate::state::State;

const COLUMNS: [Column; 4] =
    [text("NAME", 32, 0), text("SERVER", 12, 2), number("SIZE", 5, 3), text("DESCRIPTION", 0, 1)];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let tools = &state.model.tools;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(tool) = tools.items.get(index) else { return Vec::new() };
        let listed = &tool.listed;
        // As much as can be seen of it, and no more.
        let about = listed.description.as_deref().unwrap_or_default();
        let about = &about[..about.floor_char_boundary(about.len().min(1000))];
        vec![
            (escaped_line(&listed.name).into_owned(), PLAIN),
            (escaped_line(&listed.server).into_owned(), FAINT),
            (size(listed.bytes as u64), FAINT),
            (escaped_line(about).into_owned(), FAINT),
        ]
    });
    if !state.list().rows.is_empty() {
        return;
    }
    match &tools.load {
        Load::Failed(why) => canvas.empty(area, why),
        Load::NotAsked | Load::Asked => canvas.empty(area, "asking the servers …"),
        Load::There if !tools.starting.is_empty() => {
            canvas.empty(area, &format!("still starting: {}", escaped_line(&tools.starting.join(", "))));
        }
        Load::There if tools.items.is_empty() => canvas.empty(area, "no server offers a tool"),
        Load::There => canvas.empty(area, "no tool fits the filter"),
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(tool) = state.selected_tool() else { return rows };
    let listed = &tool.listed;
    rows.row(vec![(escaped_line(&listed.name).into_owned(), BOLD)]);
    rows.gap();
    rows.member("server", &escaped_line(&listed.server), PLAIN, width);
    rows.member("its name", &escaped_line(&listed.original), PLAIN, width);
    rows.member("size", &format!("{} bytes", listed.bytes), PLAIN, width);
    if let Some(about) = &listed.description {
        rows.gap();
        rows.paragraph(about, PLAIN, width);
    }
    let failed = state.model.tools.failed.iter().filter(|one| one.server == listed.server);
    failed.for_each(|one| rows.paragraph(&escaped_line(&one.message), BAD, width));
    match &listed.item {
        Some(item) => {
            for (title, member) in
                [("TAKES", "inputSchema"), ("RETURNS", "outputSchema"), ("HINTS", "annotations")]
            {
                if let Some(part) = json::member(item.get(), member) {
                    rows.heading(title);
                    rows.code(&json::pretty(&part), width);
                }
            }
        }
        None => {
            rows.gap();
            let key = state.keys.shown(crate::input::Action::Open);
            rows.paragraph(&format!("{key} reads its schema"), FAINT, width);
        }
    }
    rows
}
