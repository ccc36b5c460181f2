//! Lists of tools, resources and prompts.
#![allow(clippy::disallowed_types, reason = "no runtime runs here")]

use std::thread;
use std::time::{Duration, Instant};

use manifold_admin::{FailedServer, ItemPage, ItemRow, ListedItem};
use manifold_admin_client::query;

use super::Verb;
use crate::cli::ItemArgs;
use crate::commands::source::{Need, Source};
use crate::output::{Cell, Column, Exit, Failure, Form, Output, Table};

/// Between one question and the next; the gateway itself waits before it answers.
const PAUSE: Duration = Duration::from_millis(100);

/// As many as are answered at once.
const MOST: &str = "10000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources | Self::Templates => "resource",
            Self::Prompts => "prompt",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Tools => "/v1/tools",
            Self::Resources | Self::Templates => "/v1/resources",
            Self::Prompts => "/v1/prompts",
        }
    }
}

/// Which items are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) server: Option<&'a str>,
    pub(super) pattern: Option<&'a str>,
    /// The one of this name, in any way it may be written.
    pub(super) name: Option<&'a str>,
    /// With the definitions themselves.
    pub(super) full: bool,
}

/// What was found, and what kept more from being found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) items: Vec<ListedItem>,
    pub(super) starting: Vec<String>,
    pub(super) failed: Vec<FailedServer>,
}

pub(super) fn run(kind: Kind, args: &ItemArgs, verb: &Verb) -> Result<Exit, Failure> {
    verb.end_on_interrupt()?;
    let patience = verb.give_up_after(args.patience.patience());
    let source = verb.reach(Need::Servers)?;
    let asked = Asked {
        namespace: verb.flags.namespace.as_deref(),
        server: args.server.as_deref(),
        pattern: args.pattern.as_deref(),
        ..Asked::default()
    };
    let waiting = verb.output.progress("asking the servers");
    let found = awaited(kind, asked, &source, args.patience.patience(), |_| false);
    drop((waiting, patience));
    let found = found.map_err(|failure| failure.hint_if_unknown(kind.word()))?;
    found.remarks(&verb.output);
    let failed = found.failed.first().filter(|_| args.server.is_some() && found.items.is_empty());
    let failed = failed.map(|one| Failure {
        server: Some(one.server.clone()),
        ..Failure::new(Exit::Unreachable, "failed-to-start", format!("'{}': {}", one.server, one.message))
    });
    let rows: Vec<ItemRow> = found.items.into_iter().map(ItemRow::from).collect();
    match failed {
        Some(failure) => Err(failure),
        None => {
            show(kind, &rows, &verb.output);
            Ok(Exit::Ok)
        }
    }
}

/// Asks again until no server is starting any more, or what is found is enough: a gateway's answer does not wait long for
/// a slow one, and what it would have added would look as if it were not there.
pub(super) fn awaited(
    kind: Kind,
    asked: Asked,
    source: &Source,
    patience: Duration,
    is_enough: impl Fn(&Found) -> bool,
) -> Result<Found, Failure> {
    let begun = Instant::now();
    loop {
        let found = all(kind, asked, source, patience.saturating_sub(begun.elapsed()))?;
        if found.starting.is_empty() || is_enough(&found) || begun.elapsed() >= patience {
            return Ok(found);
        }
        thread::sleep(PAUSE);
    }
}

/// Asks for page after page.
fn all(kind: Kind, asked: Asked, source: &Source, patience: Duration) -> Result<Found, Failure> {
    let patience = patience.as_millis().to_string();
    let mut found = Found::default();
    let mut cursor: Option<String> = None;
    loop {
        let members = [
            ("namespace", asked.namespace),
            ("server", asked.server),
            ("q", asked.pattern),
            ("name", asked.name),
            ("timeoutMs", Some(patience.as_str())),
            // Every page costs the gateway a look at the whole list.
            ("limit", asked.name.is_none().then_some(MOST)),
            ("kind", (kind == Kind::Templates).then_some("templates")),
            ("full", asked.full.then_some("1")),
            ("cursor", cursor.as_deref()),
        ];
        let page: ItemPage = source.client()?.get(&format!("{}{}", kind.path(), query(&members)))?;
        found.items.extend(page.items);
        (found.starting, found.failed) = (page.starting, page.failed);
        match page.next_cursor {
            // One that stays the same would be asked for ever.
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            _ => return Ok(found),
        }
    }
}

impl Found {
    /// Says what is missing in the list, and why.
    fn remarks(&self, output: &Output) {
        for one in &self.failed {
            output.remark(&format!("nothing is known of '{}': {}", one.server, one.message));
        }
        if !self.starting.is_empty() {
            output.remark(&format!("still starting: {}", self.starting.join(", ")));
        }
    }
}

fn show(kind: Kind, rows: &[ItemRow], output: &Output) {
    match output.form() {
        Form::Json => output.json(&rows),
        Form::Ids => rows.iter().for_each(|row| _ = output.line(&row.name)),
        Form::Text => output.table(&table(kind, rows)),
    }
}

pub(super) fn table(kind: Kind, rows: &[ItemRow]) -> Table {
    let name = match kind {
        Kind::Resources => "URI",
        Kind::Templates => "TEMPLATE",
        Kind::Tools | Kind::Prompts => "NAME",
    };
    let mut table = Table::new([
        Column::id(name),
        Column::id("SERVER"),
        Column::number("BYTES"),
        Column::text("DESCRIPTION"),
    ]);
    for row in rows {
        table.row([
            Cell::new(&row.name),
            Cell::new(&row.server),
            Cell::new(row.bytes.to_string()),
            row.description.as_ref().into(),
        ]);
    }
    table
}
