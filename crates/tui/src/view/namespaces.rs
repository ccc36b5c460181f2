//! The namespaces: which servers each shows, and what of them.

use manifold_admin::{Namespace, escaped_line};
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use crate::look::{self, BOLD, FAINT, GOOD, PLAIN};
use crate::state::State;

const COLUMNS: [Column; 6] = [
    text("STATE", 10, 2),
    text("NAME", 0, 0),
    number("SERVERS", 7, 1),
    number("TOOLS", 5, 3),
    number("CLIENTS", 7, 4),
    text("RULES", 18, 5),
];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let namespaces = &state.model.namespaces;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(one) = namespaces.get(index) else { return Vec::new() };
        let (word, style) = match (one.enabled, one.served) {
            (false, _) => ("– disabled", FAINT),
            (true, true) => ("● served", GOOD),
            (true, false) => ("○ not used", FAINT),
        };
        vec![
            (word.to_owned(), style),
            (name(one), PLAIN),
            (one.servers.len().to_string(), PLAIN),
            (one.lists.map(|lists| lists.tools.to_string()).unwrap_or_default(), PLAIN),
            (one.clients.filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default(), PLAIN),
            (rules(one), FAINT),
        ]
    });
    if state.list().rows.is_empty() {
        canvas.empty(area, "the config has no namespaces");
    }
}

fn name(one: &Namespace) -> String {
    let name = one.id.as_deref().unwrap_or("(all servers)");
    escaped_line(name).into_owned()
}

fn rules(one: &Namespace) -> String {
    let all = [one.permissions.tools, one.permissions.prompts, one.permissions.resources];
    let (allow, deny): (usize, usize) =
        all.iter().fold((0, 0), |sum, rules| (sum.0 + rules.allow, sum.1 + rules.deny));
    let default = if one.permissions.deny_by_default { "denies" } else { "" };
    let counts = if allow + deny > 0 { format!("+{allow} -{deny}") } else { String::new() };
    format!("{default} {counts}").trim().to_owned()
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(one) = state.selected_namespace() else { return rows };
    rows.row(vec![(name(one), BOLD)]);
    if !one.description.is_empty() {
        rows.gap();
        rows.paragraph(&one.description, PLAIN, width);
    }
    rows.gap();
    let permissions = &one.permissions;
    let default = if permissions.deny_by_default {
        "what no rule allows is denied"
    } else {
        "what no rule denies is allowed"
    };
    rows.member("default", default, PLAIN, width);
    for (name, rules) in
        [("tools", permissions.tools), ("prompts", permissions.prompts), ("resources", permissions.resources)]
    {
        if rules.allow + rules.deny > 0 {
            rows.member(name, &format!("{} allowed, {} denied", rules.allow, rules.deny), PLAIN, width);
        }
    }
    rows.heading("SERVERS");
    for server in &one.servers {
        let known = state.model.servers.iter().find(|known| known.it.key == *server);
        let (sign, word, style) =
            known.map_or(('?', "unknown", FAINT), |known| look::state(known.it.state, known.it.unresponsive));
        rows.row(vec![
            (format!("{sign} {word:<9}"), style),
            (escaped_line(&server.to_string()).into_owned(), PLAIN),
        ]);
    }
    rows
}
