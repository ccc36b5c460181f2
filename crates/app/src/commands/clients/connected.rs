//! `clients`: who is connected, and to have one go.

use std::time::Duration;

use manifold_admin::{Client, ClientRow, ClientTransport, Disconnected, Method};

use super::Verb;
use crate::commands::source::Need;
use crate::output::{Cell, Column, Exit, Failure, Form, Table, before_now};

pub(super) fn list(verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach_any(Need::Running)?;
    let mut clients: Vec<Client> = source.client()?.get("/v1/clients")?;
    if verb.flags.namespace.is_some() {
        let snapshot = source.snapshot()?;
        let shown = verb.namespace(&snapshot)?.and_then(|namespace| namespace.id.clone());
        clients.retain(|client| shown.is_none() || client.namespace == shown);
    }
    let came = |client: &Client| before_now(Duration::from_millis(client.connected_ms)).to_string();
    let rows: Vec<ClientRow> = clients.iter().map(|client| ClientRow::of(client, came(client))).collect();
    let output = &verb.output;
    match output.form() {
        Form::Json => output.json(&rows),
        Form::Ids => rows.iter().for_each(|row| _ = output.line(&row.id.to_string())),
        Form::Text if rows.is_empty() => output.remark("nobody is connected"),
        Form::Text => output.table(&table(&rows)),
    }
    Ok(Exit::Ok)
}

pub(super) fn table(rows: &[ClientRow]) -> Table {
    let mut table = Table::new([
        Column::number("ID"),
        Column::text("NAME"),
        Column::text("VERSION"),
        Column::id("ERA"),
        Column::id("TRANSPORT"),
        Column::text("NAMESPACE"),
        Column::number("PID"),
        Column::id("SINCE"),
    ]);
    for row in rows {
        let transport = row.transport.map(|transport| match transport {
            ClientTransport::Stdio => "stdio",
            ClientTransport::Http => "http",
            ClientTransport::Litemcp => "litemcp",
            ClientTransport::Other => "other",
        });
        table.row([
            Cell::new(row.id.to_string()),
            row.name.as_ref().into(),
            row.version.as_ref().into(),
            row.era.map(manifold_admin::Era::as_str).into(),
            transport.into(),
            row.namespace.as_ref().into(),
            row.pid.map(|pid| pid.to_string()).into(),
            Cell::new(&row.since),
        ]);
    }
    table
}

pub(super) fn disconnect(id: u64, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach_for_change(Need::Running)?;
    let answer = source.client()?.send_raw(Method::Delete, &format!("/v1/clients/{id}"), None::<&()>);
    answer.map_err(|error| {
        let failure = Failure::from(error);
        match failure.hint {
            None if failure.exit == Exit::Unknown => {
                failure.hint("`manifold clients` shows who is connected")
            }
            _ => failure,
        }
    })?;
    match verb.output.is_json() {
        true => verb.output.json(&Disconnected { id, answered_by: source.kind().to_owned() }),
        false => _ = verb.output.line(&format!("client {id} has been disconnected")),
    }
    Ok(Exit::Ok)
}
