//! `watch`: what goes between clients and servers, message by message.

mod line;

use manifold_admin::{Filter, Method, TrafficItem};
use manifold_admin_client::{EventStream, query};

use super::Verb;
use super::again::{is_gone, reach_again};
use crate::cli::WatchArgs;
use crate::commands::source::{Need, Source};
use crate::output::{Exit, Failure, escaped_json};

pub(super) fn run(args: &WatchArgs, verb: &Verb) -> Result<Exit, Failure> {
    let filter = args.filter.join(" ");
    // Before anything begins: a gateway need not run for this to be wrong.
    Filter::parse(&filter).map_err(|error| {
        Failure::usage(format!("the filter cannot be read: {error}")).hint("docs/traffic.md has its words")
    })?;
    let mut source = verb.reach(Need::Running)?;
    if verb.flags.namespace.is_some() {
        verb.namespace(&source.snapshot()?)?;
    }
    verb.end_on_interrupt()?;
    let mut watch = Watch { args, verb, filter, place: None, lines: String::new() };
    loop {
        match watch.follow(&source) {
            Ok(exit) => return Ok(exit),
            Err(failure) if is_gone(&failure) => {}
            Err(failure) => return Err(failure),
        }
        // Another daemon may be there in a moment, and what passes meanwhile is told as missing.
        source = reach_again(&source, verb)?;
    }
}

/// So much is written at once.
const MAX_LINES_BYTES: usize = 64 << 10;

struct Watch<'a> {
    args: &'a WatchArgs,
    verb: &'a Verb<'a>,
    filter: String,
    /// The last frame that was shown.
    place: Option<String>,
    /// What is yet to be written.
    lines: String,
}

impl Watch<'_> {
    /// Shows frames until the gateway ends, which is a failure, or nobody reads them.
    fn follow(&mut self, source: &Source) -> Result<Exit, Failure> {
        let path = format!(
            "/v1/traffic{}",
            query(&[
                ("filter", Some(self.filter.as_str()).filter(|filter| !filter.is_empty())),
                ("after", self.place.as_deref()),
                ("bodies", self.args.bodies.then_some("1")),
            ])
        );
        let mut events = source.client()?.events(Method::Get, &path, None::<&()>)?;
        let outcome = self.show_all(&mut events);
        // However it ended, what has come is shown.
        if self.flush() { outcome } else { Ok(Exit::Ok) }
    }

    fn show_all(&mut self, events: &mut EventStream) -> Result<Exit, Failure> {
        while let Some(event) = events.next() {
            let event = event?;
            let is_read = match event.event.as_str() {
                "frame" | "gap" => {
                    let is_read = self.show(&event.data);
                    self.place = event.id.or(self.place.take());
                    is_read
                }
                // Where it begins: should the gateway go before the first frame, something may be missing.
                "cursor" => {
                    self.place = event.id;
                    true
                }
                _ => true,
            };
            // What has come together is written together.
            if !is_read || !events.has_more() && !self.flush() {
                return Ok(Exit::Ok);
            }
        }
        Err(Failure::not_running())
    }

    /// Writes a frame, as the gateway has written it where programs read; returns whether somebody still reads.
    fn show(&mut self, data: &str) -> bool {
        let output = &self.verb.output;
        if self.args.json {
            self.lines.push_str(&escaped_json(data));
            self.lines.push('\n');
            return self.lines.len() < MAX_LINES_BYTES || self.flush();
        }
        let Ok(item) = serde_json::from_str::<TrafficItem>(data) else { return true };
        match &item {
            TrafficItem::Frame(frame) => {
                self.lines.push_str(&line::of(frame, output.paint()));
                self.lines.push('\n');
                self.lines.len() < MAX_LINES_BYTES || self.flush()
            }
            _ if !self.flush() => false,
            TrafficItem::Gap { gap: 0 } => {
                output.remark("frames are missing here: another gateway has taken over");
                true
            }
            TrafficItem::Gap { gap } => {
                output
                    .remark(&format!("{gap} frames are missing here: they came faster than they were read"));
                true
            }
        }
    }

    /// Writes what is owed; returns whether somebody still reads.
    fn flush(&mut self) -> bool {
        let lines = std::mem::take(&mut self.lines);
        self.verb.output.text(&lines)
    }
}
