//! `list`: all servers, a line for each.

use manifold_admin::{ServerRow, State};

use super::Verb;
use crate::commands::source::Need;
use crate::output::{Cell, Column, Exit, Failure, Form, Output, Table, Tone, escaped_line};

pub(super) fn run(verb: &Verb) -> Result<Exit, Failure> {
    let mut snapshot = verb.reach(Need::Files)?.snapshot()?;
    if let Some(namespace) = verb.namespace(&snapshot)? {
        let shown = namespace.servers.clone();
        snapshot.servers.retain(|server| shown.contains(&server.key));
    }
    let rows = snapshot.server_rows();
    show(&rows, &verb.output);
    Ok(Exit::Ok)
}

fn show(rows: &[ServerRow], output: &Output) {
    match output.form() {
        Form::Json => output.json(&rows),
        Form::Ids => rows.iter().map(named).for_each(|id| _ = output.line(&escaped_line(&id))),
        Form::Text if rows.is_empty() => output.remark("no servers; list some in the config"),
        Form::Text => output.table(&table(rows)),
    }
}

pub(in crate::commands) fn table(rows: &[ServerRow]) -> Table {
    let mut table = Table::new([
        Column::id("ID"),
        Column::id("STATE"),
        Column::id("KIND"),
        Column::number("TOOLS"),
        Column::number("CLIENTS"),
        Column::text("WHAT IS WRONG"),
    ]);
    for row in rows {
        let wrong = match (&row.error, &row.hint) {
            (Some(error), Some(hint)) => Cell::new(format!("{error}; {hint}")),
            (error, _) => error.as_ref().into(),
        };
        table.row([
            Cell::new(named(row)),
            Cell::new(row.state.as_str()).tone(tone(row.state)),
            Cell::new(row.kind.as_str()),
            Cell::new(if row.listed { row.tools.to_string() } else { "-".to_owned() }),
            Cell::new(row.clients.to_string()),
            wrong,
        ]);
    }
    table
}

/// Returns the name by which an operator can name it again.
fn named(row: &ServerRow) -> String {
    match &row.schema {
        Some(schema) => format!("{schema}/{}", row.id),
        None => row.id.clone(),
    }
}

/// Returns how a state is coloured.
pub(super) fn tone(state: State) -> Tone {
    match state {
        State::Ready => Tone::Good,
        State::Starting | State::NeedsLogin => Tone::Busy,
        State::Failed => Tone::Bad,
        State::Stopped | State::Disabled => Tone::Faint,
        State::Idle | State::Other => Tone::Plain,
    }
}
