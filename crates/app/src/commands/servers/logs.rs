//! `logs`: what servers write beside the protocol.

use std::collections::BTreeMap;

use jiff::Timestamp;
use manifold_admin::{LogLine, Method, Server};
use manifold_admin_client::{EventStream, query, segment};
use serde::Deserialize;

use super::Verb;
use super::orders::refused;
use crate::cli::LogsArgs;
use crate::commands::source::{Need, Source};
use crate::interrupt::on_interrupt;
use crate::output::{Exit, Failure, Output, before_now, escaped_text};

pub(super) fn run(args: &LogsArgs, verb: &Verb) -> Result<Exit, Failure> {
    let source = verb.reach(Need::Running)?;
    let since = args.since.map(before_now);
    let shown = Shown { args, output: &verb.output };
    if !args.follow {
        for line in kept(args, since, &source)? {
            shown.line(&line);
        }
        return Ok(Exit::Ok);
    }
    on_interrupt(|| std::process::exit(Exit::Interrupted.code().into()))
        .map_err(|error| Failure::new(Exit::Failed, "failed", error.to_string()))?;
    match &args.name {
        Some(name) => {
            let path = path(name, args, since, true);
            let events = source.client()?.events(Method::Get, &path, None::<&()>);
            follow(events.map_err(|error| refused(error, name, &source))?, &BTreeMap::new(), &shown)
        }
        None => {
            // The stream is opened first: a line that is in both is shown once.
            let events = source.client()?.events(Method::Get, "/v1/events?topics=log", None::<&()>)?;
            let mut last = BTreeMap::new();
            for line in kept(args, since, &source)? {
                shown.line(&line);
                last.insert(line.server.clone(), line.time);
            }
            follow(events, &last, &shown)
        }
    }
}

fn path(name: &str, args: &LogsArgs, since: Option<Timestamp>, follow: bool) -> String {
    let (lines, since) = (args.lines.to_string(), since.map(|since| since.to_string()));
    let members =
        [("lines", Some(lines.as_str())), ("since", since.as_deref()), ("follow", follow.then_some("1"))];
    format!("/v1/servers/{}/logs{}", segment(name), query(&members))
}

/// Returns the lines that are kept of one server, or of all in the order of their times.
fn kept(args: &LogsArgs, since: Option<Timestamp>, source: &Source) -> Result<Vec<LogLine>, Failure> {
    let of = |name: &str| -> Result<Vec<LogLine>, Failure> {
        let lines = source.client()?.get(&path(name, args, since, false));
        lines.map_err(|error| refused(error, name, source))
    };
    let mut lines = match &args.name {
        Some(name) => of(name)?,
        None => {
            let mut all = Vec::new();
            for server in source.client()?.get::<Vec<Server>>("/v1/servers")? {
                let name = server.key.to_string();
                let named = |line| LogLine { server: Some(name.clone()), ..line };
                all.extend(of(&name)?.into_iter().map(named));
            }
            all.sort_by(|a, b| a.time.cmp(&b.time));
            all
        }
    };
    let is_recent = |line: &LogLine| match (since, line.time.parse::<Timestamp>()) {
        (Some(since), Ok(time)) => time >= since,
        _ => true,
    };
    lines.retain(is_recent);
    Ok(lines.split_off(lines.len().saturating_sub(args.lines)))
}

/// A line on its way: by itself, or as an event.
#[derive(Deserialize)]
#[serde(untagged)]
enum Followed {
    Bare(LogLine),
    Event { line: LogLine },
}

/// Shows lines until the gateway ends, or nobody reads them.
fn follow(
    events: EventStream,
    last: &BTreeMap<Option<String>, String>,
    shown: &Shown,
) -> Result<Exit, Failure> {
    for event in events {
        let event = event?;
        if event.event == "reset" {
            shown.output.remark("lines are missing here: they came faster than they were read");
        }
        if event.event != "log" {
            continue;
        }
        let Ok(Followed::Bare(line) | Followed::Event { line }) = serde_json::from_str(&event.data) else {
            continue;
        };
        if last.get(&line.server).is_some_and(|last| line.time <= *last) {
            continue;
        }
        if !shown.line(&line) {
            return Ok(Exit::Ok);
        }
    }
    Err(Failure::new(Exit::NotRunning, "not-running", "the gateway has ended"))
}

struct Shown<'a> {
    args: &'a LogsArgs,
    output: &'a Output,
}

impl Shown<'_> {
    /// Writes a line; returns whether somebody still reads.
    fn line(&self, line: &LogLine) -> bool {
        match self.args.json {
            true => self.output.json_line(line),
            false => self.output.line(&self.text(line)),
        }
    }

    fn text(&self, line: &LogLine) -> String {
        let mut text = String::new();
        if self.args.timestamps {
            text.extend([line.time.as_str(), "  "]);
        }
        if let (None, Some(server)) = (&self.args.name, &line.server) {
            text.extend([server.as_str(), ": "]);
        }
        text.push_str(&line.line);
        escaped_text(&text).replace('\n', "\\n")
    }
}
