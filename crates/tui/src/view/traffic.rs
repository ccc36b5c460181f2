//! What goes over both hops, message by message.

use manifold_admin::{Direction, Frame, FrameStatus, Hop, escaped_line};
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use super::units::{size, took};
use crate::form::json;
use crate::look::{ACCENT, BAD, BOLD, BUSY, FAINT, GOOD, PLAIN};
use crate::model::traffic::Stream;
use crate::state::State;

const COLUMNS: [Column; 9] = [
    number("TIME", 9, 4),
    number("CALL", 5, 3),
    text("HOP", 9, 1),
    text("KIND", 12, 6),
    text("WHAT", 0, 0),
    text("SERVER", 10, 5),
    text("STATUS", 9, 2),
    number("SIZE", 5, 7),
    number("TOOK", 6, 3),
];

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let traffic = &state.model.traffic;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(frame) = traffic.frames.get(index) else { return Vec::new() };
        let (status, style) = status(frame);
        vec![
            (format!("{}.{:03}", frame.t / 1_000_000_000, frame.t / 1_000_000 % 1000), FAINT),
            (frame.call.map(|call| call.to_string()).unwrap_or_default(), FAINT),
            (hop(frame).to_owned(), ACCENT),
            (frame.kind.as_str().to_owned(), FAINT),
            (what(frame), PLAIN),
            (escaped_line(frame.server.as_deref().unwrap_or_default()).into_owned(), FAINT),
            (status, style),
            (size(frame.bytes), FAINT),
            (frame.took.map(|ns| took(ns / 1000)).unwrap_or_default(), PLAIN),
        ]
    });
    let mut notes = Vec::new();
    if traffic.lost > 0 {
        notes.push(format!("{} frames were lost", traffic.lost));
    }
    if traffic.is_paused {
        notes.push(format!("paused, {} more", traffic.held.len()));
    }
    let recording = state.model.recordings.iter().find(|one| one.is_running);
    notes.extend(recording.map(|one| format!("● recording {}", escaped_line(&one.name))));
    if !notes.is_empty() {
        let text = format!(" {} ", notes.join(" · "));
        canvas.right(area.x, area.y, area.width.saturating_sub(1), &text, BUSY);
    }
    if state.list().rows.is_empty() {
        match &traffic.stream {
            Stream::Missing => canvas.empty(area, "not available: this gateway does not show its traffic"),
            Stream::Refused(why) => canvas.empty(area, why),
            Stream::Open => canvas.empty(area, "nothing yet: what clients and servers say comes here"),
            Stream::NotAsked | Stream::Asked => canvas.empty(area, "asking the gateway …"),
        }
    }
}

/// Returns which way a frame went, with the gateway in the middle.
fn hop(frame: &Frame) -> &'static str {
    match (frame.hop, frame.dir) {
        (Hop::Client, Direction::In) => "client → ",
        (Hop::Client, Direction::Out) => "client ←",
        (Hop::Server, Direction::Out) => "→ server",
        (Hop::Server, Direction::In) => "← server",
        _ => "",
    }
}

fn what(frame: &Frame) -> String {
    let method = frame.method.as_deref().unwrap_or_default();
    let text = match (&frame.tool, &frame.text) {
        (Some(tool), _) => tool.as_str(),
        (None, Some(text)) if method.is_empty() => &text[..text.floor_char_boundary(text.len().min(400))],
        _ => method,
    };
    escaped_line(text).into_owned()
}

fn status(frame: &Frame) -> (String, Style) {
    let code = frame.code.map(|code| code.to_string()).unwrap_or_default();
    let Some(status) = frame.status else { return (code, FAINT) };
    let word = status.as_str();
    match status {
        FrameStatus::Ok => (word.to_owned(), GOOD),
        FrameStatus::Error => (format!("{word} {code}").trim_end().to_owned(), BAD),
        FrameStatus::Timeout => (word.to_owned(), BAD),
        FrameStatus::Cancelled | FrameStatus::Late => (word.to_owned(), BUSY),
        FrameStatus::Other => (code, FAINT),
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(frame) = state.selected_frame() else { return rows };
    rows.row(vec![
        (format!("{} ", hop(frame).trim()), ACCENT),
        (format!("{} ", frame.kind.as_str()), FAINT),
        (what(frame), BOLD),
    ]);
    rows.gap();
    let mut member = |name: &str, text: Option<String>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            rows.member(name, &escaped_line(&text), PLAIN, width);
        }
    };
    member("frame", Some(frame.n.to_string()));
    member("method", frame.method.clone());
    member("tool", frame.tool.clone());
    member("call", frame.call.map(|call| call.to_string()));
    member("part of", frame.parent.map(|parent| parent.to_string()));
    member("id", frame.id.as_ref().map(|id| id.get().to_owned()));
    let client = frame.client.as_ref().map(|client| {
        format!(
            "{} {}",
            client.name.as_deref().unwrap_or("client"),
            client.version.as_deref().unwrap_or_default()
        )
    });
    member("client", client);
    member("namespace", frame.namespace.clone());
    member("server", frame.server.clone());
    member("instance", frame.instance.clone());
    member("status", Some(status(frame).0));
    member("took", frame.took.map(|ns| took(ns / 1000)));
    let cut = frame.cut.map(|cut| format!(", {cut} of them left out")).unwrap_or_default();
    member("bytes", Some(format!("{}{cut}", frame.bytes)));
    member("note", frame.redacted.then(|| "secrets were taken out".to_owned()));
    match (&frame.body, &frame.text, &frame.base64) {
        (Some(body), ..) => {
            rows.heading("BODY");
            rows.code(
                &json::pretty(&body.get()[..body.get().floor_char_boundary(body.get().len().min(64 << 10))]),
                width,
            );
        }
        (None, Some(text), _) | (None, None, Some(text)) => {
            rows.heading("TEXT");
            rows.code(text, width);
        }
        (None, None, None) => {}
    }
    rows
}
