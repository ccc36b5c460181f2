//! `logs`: what servers write beside the protocol.

use std::collections::BTreeMap;

use jiff::Timestamp;
use manifold_admin::{LogLine, Method, Server};
use manifold_admin_client::{query, segment};
use serde::Deserialize;

use super::Verb;
use super::again::{is_gone, reach_again};
use super::orders::refused;
use crate::cli::LogsArgs;
use crate::commands::source::{Need, Source};
use crate::output::{Exit, Failure, Output, before_now, escaped_text};

/// More lines than are kept of any server.
const ALL: usize = 10_000;

pub(super) fn run(args: &LogsArgs, verb: &Verb) -> Result<Exit, Failure> {
    let mut source = verb.reach(Need::Running)?;
    let since = args.since.map(before_now);
    let mut wanted = Wanted { name: args.name.as_deref(), lines: args.lines, since };
    let mut shown = Shown { args, output: &verb.output, last: BTreeMap::new() };
    if !args.follow {
        for line in kept(&wanted, &source)? {
            shown.line(&line);
        }
        return Ok(Exit::Ok);
    }
    verb.end_on_interrupt()?;
    loop {
        match follow(&wanted, &source, &mut shown) {
            Ok(exit) => return Ok(exit),
            Err(failure) if is_gone(&failure) => {}
            Err(failure) => return Err(failure),
        }
        // Another daemon may be there in a moment. What it has of lines that were shown is not shown again.
        source = reach_again(&source, verb)?;
        wanted = Wanted { lines: ALL, since: shown.newest().or(since), ..wanted };
    }
}

/// Which lines are asked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// One server's; else those of all.
    name: Option<&'a str>,
    lines: usize,
    since: Option<Timestamp>,
}

impl Wanted<'_> {
    fn path(&self, name: &str, follow: bool) -> String {
        let (lines, since) = (self.lines.to_string(), self.since.map(|since| since.to_string()));
        let members =
            [("lines", Some(lines.as_str())), ("since", since.as_deref()), ("follow", follow.then_some("1"))];
        format!("/v1/servers/{}/logs{}", segment(name), query(&members))
    }
}

/// Returns the lines that are kept of one server, or of all in the order of their times.
fn kept(wanted: &Wanted, source: &Source) -> Result<Vec<LogLine>, Failure> {
    let of = |name: &str| -> Result<Vec<LogLine>, Failure> {
        let lines = source.client()?.get(&wanted.path(name, false));
        lines.map_err(|error| refused(error, name, source))
    };
    let mut lines = match wanted.name {
        Some(name) => of(name)?,
        None => {
            let mut all = Vec::new();
            for server in source.client()?.get::<Vec<Server>>("/v1/servers")? {
                let name = server.key.to_string();
                let named = |line| LogLine { server: Some(name.clone()), ..line };
                all.extend(of(&name)?.into_iter().map(named));
            }
            all.sort_by_cached_key(moment);
            all
        }
    };
    let is_recent = |line: &LogLine| match (wanted.since, moment(line)) {
        (Some(since), Some(time)) => time >= since,
        _ => true,
    };
    lines.retain(is_recent);
    Ok(lines.split_off(lines.len().saturating_sub(wanted.lines)))
}

fn moment(line: &LogLine) -> Option<Timestamp> {
    line.time.parse().ok()
}

/// Shows lines until the gateway ends, which is a failure, or nobody reads them.
fn follow(wanted: &Wanted, source: &Source, shown: &mut Shown) -> Result<Exit, Failure> {
    let client = source.client()?;
    let events = match wanted.name {
        Some(name) => client
            .events(Method::Get, &wanted.path(name, true), None::<&()>)
            .map_err(|error| refused(error, name, source))?,
        None => {
            // The stream is opened first: a line that is in both is shown once.
            let events = client.events(Method::Get, "/v1/events?topics=log", None::<&()>)?;
            let known = shown.last.clone();
            for line in kept(wanted, source)?.iter().filter(|line| !is_among(&known, line)) {
                shown.line(line);
            }
            events
        }
    };
    let known = shown.last.clone();
    for event in events {
        let event = event?;
        match event.event.as_str() {
            "log" => {}
            "reset" | "missed" => {
                shown.output.remark("lines are missing here: they came faster than they were read");
                continue;
            }
            _ => continue,
        }
        let Ok(Followed::Bare(line) | Followed::Event { line }) = serde_json::from_str(&event.data) else {
            continue;
        };
        if !is_among(&known, &line) && !shown.line(&line) {
            return Ok(Exit::Ok);
        }
    }
    Err(Failure::not_running())
}

/// The last line of each server that was shown.
type Last = BTreeMap<Option<String>, Timestamp>;

/// Returns whether a line is one of those that have been shown.
fn is_among(known: &Last, line: &LogLine) -> bool {
    known.get(&line.server).zip(moment(line)).is_some_and(|(last, time)| time <= *last)
}

/// A line on its way: by itself, or as an event.
#[derive(Deserialize)]
#[serde(untagged)]
enum Followed {
    Bare(LogLine),
    Event { line: LogLine },
}

struct Shown<'a> {
    args: &'a LogsArgs,
    output: &'a Output,
    last: Last,
}

impl Shown<'_> {
    /// Writes a line; returns whether somebody still reads.
    fn line(&mut self, line: &LogLine) -> bool {
        if let Some(time) = moment(line) {
            self.last.insert(line.server.clone(), time);
        }
        match self.args.json {
            true => self.output.json_line(line),
            false => self.output.line(&self.text(line)),
        }
    }

    /// Returns when the newest line was written that was shown.
    fn newest(&self) -> Option<Timestamp> {
        self.last.values().max().copied()
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
