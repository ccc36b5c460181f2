//! Who is connected.

use manifold_admin::{Client, ClientTransport, Principal, escaped_line};
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use super::units::age;
use crate::look::{BOLD, FAINT, PLAIN};
use crate::state::State;

const COLUMNS: [Column; 7] = [
    number("ID", 4, 3),
    text("NAME", 0, 0),
    text("BY", 7, 2),
    text("NAMESPACE", 12, 1),
    text("REVISION", 10, 5),
    number("CALLS", 5, 4),
    number("SINCE", 5, 1),
];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let clients = &state.model.clients;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(one) = clients.get(index) else { return Vec::new() };
        let client = &one.it;
        let revision = client.protocol.as_ref().map(|protocol| protocol.revision.as_str());
        vec![
            (client.id.to_string(), FAINT),
            (name(client), PLAIN),
            (transport(client).to_owned(), FAINT),
            (namespace(client), PLAIN),
            (escaped_line(revision.unwrap_or_default()).into_owned(), FAINT),
            (client.calls_in_flight.filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default(), PLAIN),
            (age(client.connected_ms + state.now.saturating_sub(one.at)), FAINT),
        ]
    });
    if state.list().rows.is_empty() {
        canvas.empty(
            area,
            match clients.is_empty() {
                true => "nobody is connected: `manifold install` puts Manifold into your clients",
                false => "no client fits the filter",
            },
        );
    }
}

fn name(client: &Client) -> String {
    let name = client.name.as_deref().unwrap_or("(has not said)");
    escaped_line(&format!("{name} {}", client.version.as_deref().unwrap_or_default())).into_owned()
}

fn namespace(client: &Client) -> String {
    escaped_line(client.namespace.as_deref().unwrap_or("all servers")).into_owned()
}

fn transport(client: &Client) -> &'static str {
    match client.transport {
        Some(ClientTransport::Stdio) => "stdio",
        Some(ClientTransport::Http) => "http",
        Some(ClientTransport::Litemcp) => "litemcp",
        Some(ClientTransport::Other) | None => "",
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(one) = state.selected_client() else { return rows };
    let client = &one.it;
    rows.row(vec![
        (name(client), BOLD),
        (format!("  for {}", age(client.connected_ms + state.now.saturating_sub(one.at))), FAINT),
    ]);
    rows.gap();
    let mut member = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            rows.member(name, &escaped_line(&text), PLAIN, width);
        }
    };
    member("number", Some(client.id.to_string()));
    member("namespace", Some(namespace(client)));
    member("by", Some(transport(client).to_owned()));
    member("revision", client.protocol.as_ref().map(|protocol| protocol.revision.clone()));
    member("pid", client.pid.map(|pid| pid.to_string()));
    member("folder", client.cwd.clone());
    member("in flight", client.calls_in_flight.map(|calls| calls.to_string()));
    member(
        "who",
        client.principal.as_ref().map(|principal| match principal {
            Principal::Local => "somebody on this machine".to_owned(),
            Principal::Token { name } => format!("token {}", name.as_deref().unwrap_or("without a name")),
            Principal::Subject { issuer, subject } => format!("{subject} of {issuer}"),
            Principal::Other => "unknown".to_owned(),
        }),
    );
    rows.heading("MAY USE");
    let namespace = state.model.namespaces.iter().find(|one| one.id == client.namespace);
    for server in namespace.map(|one| one.servers.as_slice()).unwrap_or_default() {
        rows.row(vec![(escaped_line(&server.to_string()).into_owned(), PLAIN)]);
    }
    rows
}
