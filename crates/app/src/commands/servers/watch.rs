//! `watch`: what goes between clients and servers, message by message.

mod line;

use manifold_admin::{Filter, Method, TrafficItem};
use manifold_admin_client::query;

use super::Verb;
use super::again::{is_gone, reach_again};
use crate::cli::WatchArgs;
use crate::commands::source::{Need, Source};
use crate::output::{Exit, Failure};

pub(super) fn run(args: &WatchArgs, verb: &Verb) -> Result<Exit, Failure> {
    let filter = args.filter.join(" ");
    // Before anything begins: a gateway need not run for this to be wrong.
    Filter::parse(&filter).map_err(|error| {
        Failure::usage(format!("the filter cannot be read: {error}")).hint("docs/traffic.md has its words")
    })?;
    let mut source = verb.reach(Need::Running)?;
    verb.end_on_interrupt()?;
    let mut watch = Watch { args, verb, filter, place: None };
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

struct Watch<'a> {
    args: &'a WatchArgs,
    verb: &'a Verb<'a>,
    filter: String,
    /// The last frame that was shown.
    place: Option<String>,
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
        for event in source.client()?.events(Method::Get, &path, None::<&()>)? {
            let event = event?;
            match event.event.as_str() {
                "frame" | "gap" => {}
                // Where it begins: should the gateway go before the first frame, something may be missing.
                "cursor" => {
                    self.place = event.id;
                    continue;
                }
                _ => continue,
            }
            let Ok(item) = serde_json::from_str::<TrafficItem>(&event.data) else { continue };
            if !self.show(&item) {
                return Ok(Exit::Ok);
            }
            self.place = event.id.or(self.place.take());
        }
        Err(Failure::not_running())
    }

    /// Writes a frame; returns whether somebody still reads.
    fn show(&self, item: &TrafficItem) -> bool {
        let output = &self.verb.output;
        match item {
            item if self.args.json => output.json_line(item),
            TrafficItem::Frame(frame) => output.line(&line::of(frame, output.paint())),
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
}
