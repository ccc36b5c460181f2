//! What an import found and what came of it, as a table or for programs.

use manifold_admin::{FoundEntry, ImportReport, SkippedEntry};
use manifold_config::{FoundServer, Outcome};

use super::Imported;
use crate::commands::verb::Verb;
use crate::output::{Cell, Column, Table, Tone, counted, escaped_line};

pub(super) fn show(imported: &Imported, is_dry_run: bool, verb: &Verb) {
    let output = &verb.output;
    if output.is_json() {
        output.json(&imported.report());
        return;
    }
    if imported.found.is_empty() {
        return;
    }
    output.table(&table(imported));
    remarks(imported, verb);
    problems(imported, verb);
    let plan = &imported.plan;
    let file = imported.changed.base.path.display();
    let added = counted(plan.added.len(), "server");
    let done = if is_dry_run { "would be added" } else { "added" };
    output.remark(&format!("{added} {done} to {file}"));
    let off: Vec<&str> =
        plan.added.iter().filter(|server| !server.enabled).map(|server| server.id.as_str()).collect();
    if let Some(first) = off.first() {
        let said =
            format!("not to be used yet: {}; `manifold enable {first}` lets it be used", off.join(", "));
        output.remark(&escaped_line(&said));
    }
}

/// Says what people should know of the servers that were added.
pub(super) fn remarks(imported: &Imported, verb: &Verb) {
    let output = &verb.output;
    let plan = &imported.plan;
    for server in plan.added.iter().filter_map(|server| imported.found.get(server.found)) {
        // What others' files say is told in one line, whatever stands in it.
        let say = |text: String| output.remark(&escaped_line(&text));
        server.remarks.iter().for_each(|remark| say(format!("{}: {remark}", server.id)));
        for question in &server.questions {
            let (variable, about) = (&question.variable, &question.about);
            say(format!("{}: set the variable {variable}: {about}", server.id));
        }
        for secret in &server.secrets {
            let (place, name) = (&secret.place, &secret.name_hint);
            say(format!(
                "{}: {place} stands in the config as it is; `manifold secret set {name}` keeps it out, and \
                 `${{secret:{name}}}` is written instead",
                server.id
            ));
        }
    }
}

/// Says what is wrong with the config that was not before.
pub(super) fn problems(imported: &Imported, verb: &Verb) {
    let (problems, output) = (&imported.changed.report.problems, &verb.output);
    problems.iter().for_each(|problem| output.remark(&escaped_line(&problem.to_string())));
}

fn table(imported: &Imported) -> Table {
    let mut table = Table::new([
        Column::id("ID"),
        Column::text("FROM"),
        Column::text("WHAT COMES OF IT"),
        Column::text("FILE"),
    ]);
    for (server, outcome) in imported.found.iter().zip(&imported.plan.outcomes) {
        table.row([
            Cell::new(&server.id),
            Cell::new(server.client.unwrap_or("-")),
            fate(server, outcome, imported),
            Cell::new(format!("{}:{}", server.file.display(), server.line)),
        ]);
    }
    table
}

fn fate(server: &FoundServer, outcome: &Outcome, imported: &Imported) -> Cell {
    match outcome {
        Outcome::Added(id) => {
            let is_off = imported.plan.added.iter().any(|added| added.id == *id && !added.enabled);
            let name = if *id == server.id { String::new() } else { format!(" as {id}") };
            let off = if is_off { ", disabled" } else { "" };
            Cell::new(format!("added{name}{off}")).tone(Tone::Good)
        }
        Outcome::Same(id) if *id == server.id => Cell::new("there already").tone(Tone::Faint),
        Outcome::Same(id) => Cell::new(format!("the same as {id}")).tone(Tone::Faint),
        Outcome::Skipped(why) => Cell::new(format!("left out: {why}")).tone(Tone::Faint),
    }
}

pub(super) fn report(imported: &Imported) -> ImportReport {
    let plan = &imported.plan;
    let found = imported.found.iter().map(|server| FoundEntry {
        client: server.client.map(str::to_owned),
        file: server.file.display().to_string(),
        id: server.id.clone(),
    });
    // One that is dropped as the same as another that is added is told by its own name.
    let mut same = plan.same.clone();
    for (server, outcome) in imported.found.iter().zip(&plan.outcomes) {
        let is_told = same.contains(&server.id) || plan.added.iter().any(|added| added.id == server.id);
        if matches!(outcome, Outcome::Same(id) if !same.contains(id)) && !is_told {
            same.push(server.id.clone());
        }
    }
    ImportReport {
        found: found.collect(),
        added: plan.added.iter().map(|server| server.id.clone()).collect(),
        same,
        skipped: plan
            .skipped
            .iter()
            .map(|(id, why)| SkippedEntry { id: id.clone(), why: why.clone() })
            .collect(),
        unread: imported.unread.clone(),
    }
}
