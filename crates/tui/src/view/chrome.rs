//! The lines at the head and at the foot: who is looked at, which screens there are, what was said and what keys do.

use manifold_admin::{GatewayKind, escaped_line};
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr as _;

use super::canvas::Canvas;
use super::units::counted;
use crate::input::Action;
use crate::look::{ACCENT, BAD, BOLD, BUSY, FAINT, GOOD, KEY, PLAIN, SELECTED};
use crate::state::{Focus, Link, Screen, State};

pub(super) fn head(state: &State, area: Rect, canvas: &mut Canvas) {
    let tabs_at = area.y + area.height - 1;
    if area.height > 1 {
        let mut pieces = vec![(" manifold".to_owned(), BOLD)];
        let model = &state.model;
        let mut more = vec![kind(state)];
        more.push(format!(
            "{}, {}",
            counted(model.servers.len(), "server"),
            counted(model.tool_count(), "tool")
        ));
        more.push(counted(model.clients.len(), "client"));
        if let Some(pulse) = model.pulses.get("").filter(|pulse| pulse.moves(state.now)) {
            more.push(format!("{:.1} calls/s", pulse.rate(state.now)));
        }
        pieces.extend(
            more.into_iter().filter(|text| !text.is_empty()).map(|text| (format!(" · {text}"), PLAIN)),
        );
        let (text, style) = link(state);
        let width = u16::try_from(text.width()).unwrap_or(0) + 1;
        canvas.pieces(area.x, area.y, area.width.saturating_sub(width + 2), &pieces);
        canvas.right(area.width.saturating_sub(width + 1), area.y, width, &text, style);
    }
    tabs(state, Rect { y: tabs_at, height: 1, ..area }, canvas);
}

fn kind(state: &State) -> String {
    let about = &state.model.about;
    let who = match about.kind {
        GatewayKind::Daemon => "daemon",
        GatewayKind::Http => "http",
        GatewayKind::Own => "own gateway",
        GatewayKind::Other => "",
    };
    let version = escaped_line(&about.version);
    match &state.namespace {
        Some(namespace) => format!("{version} {who} {}", escaped_line(namespace)).trim().to_owned(),
        None => format!("{version} {who}").trim().to_owned(),
    }
}

fn link(state: &State) -> (String, Style) {
    let read_only = if state.is_read_only { "read-only · " } else { "" };
    match &state.link {
        Link::Connecting => (format!("{read_only}connecting"), BUSY),
        Link::Live if state.model.traffic.is_paused => (format!("{read_only}paused"), BUSY),
        Link::Live => (format!("{read_only}live"), GOOD),
        Link::Lost { retry_at, .. } => {
            let seconds = retry_at.saturating_sub(state.now).div_ceil(1000);
            (format!("reconnecting {seconds} s"), BAD)
        }
    }
}

/// The screens; in little room the one that is shown, by name, and the others by number.
fn tabs(state: &State, area: Rect, canvas: &mut Canvas) {
    let problems = state.model.problems(state.now).len();
    let name = |screen: Screen| match (screen, problems) {
        (Screen::Problems, 1..) => format!("Problems({problems})"),
        _ => screen.title().to_owned(),
    };
    let all: usize = Screen::ALL.iter().map(|screen| name(*screen).width() + 4).sum();
    let is_whole = all < usize::from(area.width);
    let mut x = area.x + 1;
    for (at, screen) in Screen::ALL.into_iter().enumerate() {
        let is_shown = screen == state.screen;
        let has_problems = screen == Screen::Problems && problems > 0;
        let text = match is_whole || is_shown {
            true => format!(" {} {} ", at + 1, name(screen)),
            false => format!(" {} ", at + 1),
        };
        let style = match (is_shown, has_problems) {
            (true, _) => SELECTED.patch(BOLD),
            (false, true) => BAD,
            (false, false) => FAINT,
        };
        x += canvas.put(x, area.y, area.width.saturating_sub(x), &text, style);
    }
}

/// Draws the foot; returns where the cursor is while a filter is typed.
pub(super) fn foot(state: &State, area: Rect, canvas: &mut Canvas) -> Option<Position> {
    let mut cursor = None;
    let keys_at = area.y + area.height - 1;
    if let Some(line) = &state.prompt {
        for x in 0..area.width {
            canvas.buffer[(x, area.y)].reset();
        }
        let used = canvas.put(area.x + 1, area.y, area.width, "/", KEY);
        let typed = canvas.put(area.x + 1 + used, area.y, area.width.saturating_sub(4), &line.text, PLAIN);
        let before = u16::try_from(line.text[..line.at].width()).unwrap_or(typed);
        cursor = Some(Position::new((area.x + 1 + used + before).min(area.width - 1), area.y));
        if area.height == 1 {
            return cursor;
        }
    } else if let Some((text, style)) = said(state) {
        canvas.put(area.x + 1, area.y, area.width.saturating_sub(2), &text, style);
        if area.height == 1 {
            return cursor;
        }
    }
    keys(state, Rect { y: keys_at, height: 1, ..area }, canvas);
    cursor
}

/// Returns what is said above the keys.
fn said(state: &State) -> Option<(String, Style)> {
    if let Some(note) = &state.note {
        return Some((note.text.clone(), if note.is_bad { BAD } else { ACCENT }));
    }
    if let Link::Lost { why, .. } = &state.link {
        return Some((format!("{why}; what is shown is what was known last"), BAD));
    }
    let list = state.list();
    let count = list.rows.len();
    (!list.filter.is_empty()).then(|| (format!("/{}  {count} shown", escaped_line(&list.filter)), ACCENT))
}

/// The keys that are of use here, as many as fit.
fn keys(state: &State, area: Rect, canvas: &mut Canvas) {
    let here: &[(Action, &str)] = match (state.screen, state.focus) {
        (_, Focus::Detail) => &[(Action::Back, "back"), (Action::Down, "down"), (Action::Up, "up")],
        (Screen::Servers, _) => &[
            (Action::Start, "start"),
            (Action::Stop, "stop"),
            (Action::Restart, "restart"),
            (Action::Logs, "logs"),
            (Action::Open, "open"),
        ],
        (Screen::Tools, _) => {
            &[(Action::Call, "call"), (Action::Open, "open"), (Action::Refresh, "read anew")]
        }
        (Screen::Traffic, _) => &[
            (Action::Open, "open"),
            (Action::Follow, "follow"),
            (Action::Pause, "pause"),
            (Action::Mark, "mark"),
            (Action::Replay, "again"),
            (Action::Record, "record"),
        ],
        (Screen::Clients, _) => &[(Action::Open, "open"), (Action::Disconnect, "disconnect")],
        (Screen::Namespaces, _) => &[(Action::Open, "open")],
        (Screen::Logs, _) => {
            &[(Action::Follow, "follow"), (Action::Open, "open"), (Action::CopyCell, "copy")]
        }
        (Screen::Problems, _) => &[
            (Action::Restart, "restart"),
            (Action::Logs, "logs"),
            (Action::Enable, "disable"),
            (Action::Open, "open"),
        ],
    };
    let always = [
        (Action::Filter, "filter"),
        (Action::Palette, "command"),
        (Action::Keys, "keys"),
        (Action::Quit, "quit"),
    ];
    let mut x = area.x + 1;
    for (action, what) in here.iter().chain(&always) {
        let key = state.keys.shown(*action);
        let width = u16::try_from(key.width() + what.width() + 3).unwrap_or(0);
        if key.is_empty() || x + width > area.x + area.width + 2 {
            continue;
        }
        x += canvas.put(x, area.y, area.width, &key, KEY);
        x += canvas.put(x, area.y, area.width, &format!(" {what}  "), FAINT);
    }
}
