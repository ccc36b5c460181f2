//! `search`: what the MCP Registry has, a line for each server.

use std::process::ExitCode;

use manifold_registry::{Choice, Found, Freshness, Listed, Status};
use serde::Serialize;

use super::verb::Verb;
use crate::cli::SearchArgs;
use crate::output::{Cell, Column, Exit, Failure, Form, Output, Table, Tone, counted, span};
use crate::registry::{RegistryClient, millis};

/// A server, as programs read it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'s> {
    name: &'s str,
    version: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'s str>,
    description: &'s str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<&'s str>,
    /// The ways to have it, in its publisher's order.
    ways: Vec<Way<'s>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Way<'s> {
    source: &'static str,
    identifier: &'s str,
    /// Why it cannot be taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

pub(super) fn run(args: &SearchArgs, verb: Verb) -> ExitCode {
    verb.run(|verb| {
        let freshness = if args.offline { Freshness::Offline } else { Freshness::Hour };
        let client = RegistryClient::new(&verb.options.environment, freshness)?;
        let answered = {
            let _progress = verb.output.progress("searching the registry");
            client.search(&args.words, args.limit.into())?
        };
        if let Some(age) = answered.age {
            let told = format!("answered by what was kept {} ago", span(millis(age)));
            if args.offline { verb.output.remark(&told) } else { verb.output.detail(&told) }
        }
        show(&answered.answer, &args.words, &verb.output);
        Ok::<_, Failure>(Exit::Ok)
    })
}

fn show(found: &Found, words: &[String], output: &Output) {
    match output.form() {
        Form::Json => output.json(&found.servers.iter().map(row).collect::<Vec<_>>()),
        Form::Ids => found.servers.iter().for_each(|listed| _ = output.line(&listed.server.name)),
        Form::Text if found.servers.is_empty() => {
            output.remark(&format!("the registry has nothing for '{}'", words.join(" ")));
        }
        Form::Text => output.table(&table(&found.servers)),
    }
    if found.refused > 0 {
        output.remark(&format!("{} left out that cannot be read", counted(found.refused, "server")));
    }
    if found.has_more && output.form() == Form::Text {
        output.remark("there are more; name more words, or a higher --limit");
    }
}

fn table(servers: &[Listed]) -> Table {
    let mut table = Table::new([
        Column::id("NAME"),
        Column::id("VERSION"),
        Column::id("HOW"),
        Column::text("WHAT IT IS"),
    ]);
    for listed in servers {
        let server = &listed.server;
        let cell = match listed.status {
            Status::Active => Cell::new(&server.description),
            Status::Deprecated | Status::Deleted => {
                let why = listed.status_message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                Cell::new(format!("(deprecated{why}) {}", server.description)).tone(Tone::Faint)
            }
        };
        table.row([Cell::new(&server.name), Cell::new(&server.version), Cell::new(sources(listed)), cell]);
    }
    table
}

/// Returns how it can be had, each way once: `npm,http`.
fn sources(listed: &Listed) -> String {
    let mut names: Vec<&str> = Vec::new();
    for choice in listed.server.choices().iter().filter(|choice| choice.check().is_ok()) {
        let name = choice.source().name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(",")
}

fn row(listed: &Listed) -> Row<'_> {
    let server = &listed.server;
    let way = |choice: &Choice<'_>| choice.check().err().map(|refused| refused.to_string());
    let ways = server.choices().into_iter().map(|choice| {
        let refused = way(&choice);
        Way { source: choice.source().name(), identifier: choice.identifier(), refused }
    });
    Row {
        name: &server.name,
        version: &server.version,
        title: server.title.as_deref(),
        description: &server.description,
        status: match listed.status {
            Status::Active => "active",
            Status::Deprecated => "deprecated",
            Status::Deleted => "deleted",
        },
        status_message: listed.status_message.as_deref(),
        repository: server.repository.as_ref().map(|repository| repository.url.as_str()),
        ways: ways.collect(),
    }
}
