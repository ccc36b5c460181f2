//! The servers: how they do, and of one all there is to say.

use manifold_admin::{Instance, Server, Sharing, State as ServerState, Target, escaped_line};
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::detail::Rows;
use super::table::{self, Column, number, text};
use super::units::{age, bars, count, counted, size, took};
use crate::look::{self, ACCENT, BAD, BOLD, BUSY, FAINT, PLAIN};
use crate::model::{Heard, tool_count};
use crate::state::{Link, State};

const COLUMNS: [Column; 9] = [
    text("STATE", 10, 0),
    text("NAME", 0, 0),
    number("TOOLS", 5, 4),
    number("CALLS", 6, 3),
    number("ERR", 4, 5),
    number("P95", 6, 6),
    number("MEM", 5, 7),
    number("CLIENTS", 7, 8),
    number("SINCE", 5, 2),
];

/// So many of the last lines of a server stand in its detail, and so many of its tools.
const LINES: usize = 8;
const TOOLS: usize = 12;

pub(super) fn draw(state: &State, area: Rect, canvas: &mut Canvas) {
    let model = &state.model;
    table::draw(state, area, &COLUMNS, canvas, |index| {
        let Some(one) = model.servers.get(index) else { return Vec::new() };
        let server = &one.it;
        let (sign, word, style) = look::state(server.state, server.unresponsive);
        let calls = server.calls.unwrap_or_default();
        let failed = calls.failed.unwrap_or(0);
        let p95 = calls.p95_us.or_else(|| model.pulses.get(&server.key.to_string())?.p95_us());
        let memory: Vec<u64> = server.instances.iter().filter_map(|one| one.memory_bytes).collect();
        let memory = (!memory.is_empty()).then(|| size(memory.iter().sum()));
        let since = server.since_ms.map(|ms| age(ms + state.now.saturating_sub(one.at)));
        let name_style = if server.state == ServerState::Disabled { FAINT } else { PLAIN };
        vec![
            (format!("{sign} {word}"), style),
            (escaped_line(&server.key.to_string()).into_owned(), name_style),
            (tool_count(server).map(|tools| tools.to_string()).unwrap_or_default(), PLAIN),
            (calls.total.filter(|total| *total > 0).map(count).unwrap_or_default(), PLAIN),
            (Some(failed).filter(|failed| *failed > 0).map(count).unwrap_or_default(), BAD),
            (p95.map(took).unwrap_or_default(), PLAIN),
            (memory.unwrap_or_default(), PLAIN),
            (
                Some(model.clients_of(server).0)
                    .filter(|n| *n > 0)
                    .map(|n| n.to_string())
                    .unwrap_or_default(),
                PLAIN,
            ),
            (since.unwrap_or_default(), FAINT),
        ]
    });
    if state.list().rows.is_empty() {
        canvas.empty(
            area,
            match (&state.link, model.servers.is_empty()) {
                (Link::Connecting, _) => "asking the gateway …",
                (_, true) => "no servers yet: `manifold add` or `manifold import` puts some into the config",
                (_, false) => "no server fits the filter",
            },
        );
    }
}

pub(super) fn detail(state: &State, width: usize) -> Rows {
    let mut rows = Rows::default();
    let Some(one) = state.selected_server() else { return rows };
    let server = &one.it;
    let name = server.key.to_string();
    let (sign, word, style) = look::state(server.state, server.unresponsive);
    rows.row(vec![
        (format!("{} ", escaped_line(&name)), BOLD),
        (format!("{sign} {word}"), style),
        (since(one, state.now), FAINT),
    ]);
    rows.gap();
    about(server, state, width, &mut rows);
    trouble(server, width, &mut rows);
    pulse(state, &name, width, &mut rows);
    instances(one, state.now, width, &mut rows);
    stderr(state, &name, &mut rows);
    tools(state, server, width, &mut rows);
    rows
}

fn since(one: &Heard<Server>, now: u64) -> String {
    one.it.since_ms.map(|ms| format!(" for {}", age(ms + now.saturating_sub(one.at)))).unwrap_or_default()
}

fn about(server: &Server, state: &State, width: usize, rows: &mut Rows) {
    let target = match &server.target {
        Target::Program { command, arguments: 0 } => command.clone(),
        Target::Program { command, arguments } => {
            format!("{command} (and {})", counted(*arguments, "argument"))
        }
        Target::Address { origin } => origin.clone(),
        Target::Builtin { name } => format!("built in: {name}"),
        Target::Other => String::new(),
    };
    rows.member(server.kind.as_str(), &escaped_line(&target), PLAIN, width);
    rows.member("start", server.start.as_str(), PLAIN, width);
    let (count, names) = state.model.clients_of(server);
    let sharing = match server.sharing {
        Sharing::Shared => "one process for all clients",
        Sharing::PerClient => "each client has its own",
        Sharing::Other => "",
    };
    rows.member("sharing", sharing, PLAIN, width);
    if count > 0 {
        let names = escaped_line(&names.join(", ")).into_owned();
        rows.member("clients", &format!("{count}  {names}"), PLAIN, width);
    }
    for (name, list) in [("env", &server.env), ("headers", &server.headers)] {
        if !list.is_empty() {
            rows.member(name, &escaped_line(&list.join(" ")), PLAIN, width);
        }
    }
}

/// What is wrong, or went wrong last, and what to do about it.
fn trouble(server: &Server, width: usize, rows: &mut Rows) {
    let now = server.fault.as_ref().or(server.error.as_ref());
    let last = server.instances.iter().filter_map(|one| one.last_error.as_ref()).min_by_key(|e| e.ago_ms);
    if let Some(error) = now.or(last) {
        rows.heading(if now.is_some() { "WRONG NOW" } else { "LAST ERROR" });
        rows.paragraph(&escaped_line(&error.text), if now.is_some() { BAD } else { PLAIN }, width);
        if let Some(hint) = &error.hint {
            rows.paragraph(&format!("→ {}", escaped_line(hint)), BUSY, width);
        }
    }
    for problem in &server.problems {
        rows.paragraph(&escaped_line(&problem.to_string()), BUSY, width);
    }
}

fn pulse(state: &State, name: &str, width: usize, rows: &mut Rows) {
    let Some(pulse) = state.model.pulses.get(name) else { return };
    let room = width.saturating_sub(24).clamp(10, 60);
    rows.heading("LAST MINUTE");
    let counts = pulse.counts(state.now);
    let total: u64 = counts.iter().sum();
    rows.row(vec![
        (format!("{:<10}", "calls"), FAINT),
        (bars(&counts, room), ACCENT),
        (format!("  {total}"), PLAIN),
    ]);
    let p95 = pulse.p95_us().map(took).unwrap_or_default();
    rows.row(vec![
        (format!("{:<10}", "slowest"), FAINT),
        (bars(&pulse.slowest(state.now), room), ACCENT),
        (format!("  p95 {p95}"), PLAIN),
    ]);
}

fn instances(heard: &Heard<Server>, now: u64, width: usize, rows: &mut Rows) {
    let (server, passed) = (&heard.it, now.saturating_sub(heard.at));
    if server.instances.is_empty() {
        return;
    }
    rows.heading(if server.instances.len() == 1 { "INSTANCE" } else { "INSTANCES" });
    for one in &server.instances {
        let (sign, word, style) = look::state(one.state, one.unresponsive);
        rows.row(vec![(format!("{sign} {word:<9}"), style), (instance(one, passed), PLAIN)]);
        if !one.differs.is_empty() {
            let differs = format!("differs in {}", escaped_line(&one.differs.join(", ")));
            rows.member("", &differs, FAINT, width);
        }
        if let Some(retry) = one.retry_in_ms {
            rows.member("", &format!("tried again in {}", age(retry)), FAINT, width);
        }
    }
}

fn instance(one: &Instance, passed: u64) -> String {
    let mut parts = Vec::new();
    parts.extend(one.pid.map(|pid| format!("pid {pid}")));
    parts.extend(one.memory_bytes.map(size));
    parts.extend(one.clients.map(|clients| counted(clients, "client")));
    parts.push(format!("for {}", age(one.since_ms + passed)));
    parts.extend(one.restarts.filter(|n| *n > 0).map(|n| counted(n as usize, "restart")));
    parts.extend(one.protocol.as_ref().map(|protocol| escaped_line(&protocol.revision).into_owned()));
    parts.join(" · ")
}

fn stderr(state: &State, name: &str, rows: &mut Rows) {
    let lines = state.model.logs.last_of(name, LINES);
    if lines.is_empty() {
        return;
    }
    rows.heading("STDERR");
    lines.iter().for_each(|line| rows.row(vec![(line.text.clone(), PLAIN)]));
}

fn tools(state: &State, server: &Server, width: usize, rows: &mut Rows) {
    let Some(count) = tool_count(server) else { return };
    let bytes = server.tool_bytes.map(|bytes| format!(", {} in all", size(bytes as u64))).unwrap_or_default();
    let known = state.model.tools.of(&server.key.id);
    rows.heading(&format!("{}{bytes}", counted(count, "TOOL")).replace("TOOLs", "TOOLS"));
    for tool in known.iter().take(TOOLS) {
        let room = width.saturating_sub(7);
        let name = super::canvas::clipped(&tool.listed.original, room).into_owned();
        let name = escaped_line(&name).into_owned();
        rows.row(vec![(format!("{:>5}  ", size(tool.listed.bytes as u64)), FAINT), (name, PLAIN)]);
    }
    if known.len() > TOOLS {
        rows.row(vec![(format!("       and {} more", known.len() - TOOLS), FAINT)]);
    }
}
