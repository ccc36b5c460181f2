//! `audit`: what operators changed.

use jiff::Timestamp;
use manifold_admin::{AuditLine, AuditOutcome};
use manifold_admin_client::query;

use super::Verb;
use crate::commands::source::Need;
use crate::output::{Cell, Column, Exit, Failure, Table, Tone};

pub(super) fn run(lines: usize, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach_any(Need::Written)?;
    let lines = lines.to_string();
    let path = format!("/v1/audit{}", query(&[("lines", Some(lines.as_str()))]));
    let lines: Vec<AuditLine> = source.client()?.get(&path)?;
    match verb.output.is_json() {
        true => verb.output.json(&lines),
        false if lines.is_empty() => verb.output.remark("no operator has changed anything"),
        false => verb.output.table(&table(&lines)),
    }
    Ok(Exit::Ok)
}

pub(super) fn table(lines: &[AuditLine]) -> Table {
    let mut table = Table::new([
        Column::id("TIME"),
        Column::id("BY"),
        Column::id("VERB"),
        Column::id("TARGET"),
        Column::id("OUTCOME"),
        Column::text("ERROR"),
    ]);
    for line in lines {
        let pid = line.actor.pid.map_or_else(String::new, |pid| format!(" ({pid})"));
        let (outcome, tone) = match line.outcome {
            AuditOutcome::Done => ("done", Tone::Plain),
            AuditOutcome::Refused => ("refused", Tone::Bad),
            AuditOutcome::Interrupted => ("interrupted", Tone::Bad),
            AuditOutcome::Other => ("other", Tone::Plain),
        };
        table.row([
            Cell::new(to_millis(&line.time)),
            Cell::new(format!("{}{pid}", line.actor.face)),
            Cell::new(&line.verb),
            line.target.as_ref().into(),
            Cell::new(outcome).tone(tone),
            line.error.as_ref().into(),
        ]);
    }
    table
}

/// Returns a time as the log has it: whoever reads a table counts no nanoseconds.
fn to_millis(time: &str) -> String {
    time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), |time| format!("{time:.3}"))
}
