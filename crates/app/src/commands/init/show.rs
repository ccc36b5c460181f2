//! What people see of it: what is here, what was done, what to do next.

use std::path::Path;

use manifold_config::{Client, FoundServer, Outcome};

use super::super::doctor::{Finding, Status};
use super::super::entries::Imported;
use super::super::verb::Verb;
use super::{Choice, Report};
use crate::output::{Cell, Column, Table, counted};

/// So many findings are told.
const TOLD: usize = 8;

/// Shows the files that have servers, and the clients that have none.
pub(super) fn found(found: &[FoundServer], clients: &[&'static Client], verb: &Verb) {
    if verb.output.is_json() {
        return;
    }
    let mut table = Table::new([Column::id("CLIENT"), Column::text("SERVERS"), Column::text("FILE")]);
    let found: Vec<&FoundServer> = found.iter().filter(|server| !server.is_ourselves).collect();
    let mut files: Vec<&Path> = found.iter().map(|server| server.file.as_path()).collect();
    files.dedup();
    for file in &files {
        let of_file = || found.iter().filter(|server| server.file == *file);
        let ids: Vec<&str> = of_file().map(|server| server.id.as_str()).collect();
        let client = of_file().find_map(|server| server.client).unwrap_or("-");
        table.row([Cell::new(client), Cell::new(ids.join(", ")), Cell::new(file.display().to_string())]);
    }
    for client in clients {
        if !found.iter().any(|server| server.client == Some(client.id())) {
            table.row([Cell::new(client.id()), Cell::new("-"), Cell::new("-")]);
        }
    }
    if !files.is_empty() || !clients.is_empty() {
        verb.output.table(&table);
    }
}

/// Says what an import came to.
pub(super) fn imported(imported: &Imported, is_dry_run: bool, verb: &Verb) {
    imported.remark(verb);
    for (server, outcome) in imported.found.iter().zip(&imported.plan.outcomes) {
        if let (Outcome::Skipped(why), false) = (outcome, server.is_ourselves) {
            verb.output.remark(&format!("{} of {} is left out: {why}", server.id, server.file.display()));
        }
    }
    if verb.output.is_json() || imported.found.is_empty() {
        return;
    }
    let plan = &imported.plan;
    let off: Vec<&str> =
        plan.added.iter().filter(|server| !server.enabled).map(|server| server.id.as_str()).collect();
    let done = if is_dry_run { "would be imported" } else { "imported" };
    let path = imported.changed.base.path.display();
    verb.output.line(&format!("{} {done} into {path}", counted(plan.added.len(), "server")));
    if let Some(first) = off.first() {
        let off = off.join(", ");
        verb.output.line(&format!("  disabled: {off}; `manifold enable {first}` lets it be used"));
    }
}

/// Says what was found wrong, and what to do next.
pub(super) fn summary(report: &Report, choice: &Choice, is_dry_run: bool, verb: &Verb) {
    let output = &verb.output;
    let wrong: Vec<&Finding> = report.checks.iter().filter(|finding| finding.status != Status::Ok).collect();
    for finding in wrong.iter().take(TOLD) {
        let fix = finding.fix.as_ref().map(|fix| format!("; `{fix}`")).unwrap_or_default();
        output.remark(&format!("{}: {}{fix}", finding.id, finding.message));
    }
    if wrong.len() > TOLD {
        output.remark(&format!("and {} more: `manifold doctor` has them all", wrong.len() - TOLD));
    }
    if is_dry_run {
        output.line("nothing was written");
        return;
    }
    if choice.clients.is_empty() {
        output.line(&format!("no client that we know is here; the config is {}", report.config));
        output.line("next: `manifold install CLIENT` puts Manifold into a client once it is there");
    } else if report.backup.is_none() {
        output.line("everything is set up already");
        return;
    } else {
        output
            .line("next: start your clients anew; `manifold doctor` starts every server and says how it is");
    }
    if report.backup.is_some() {
        output.line("`manifold undo` takes all of this back");
    }
}
