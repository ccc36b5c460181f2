//! Lines for people: when, on which hop, which way, what.

use manifold_admin::{Direction, Frame, Hop, TrafficItem};

use crate::reader::Recorded;

pub(super) fn write(recorded: &Recorded) -> String {
    let header = &recorded.header;
    let mut text = format!("recording {}, from {}\n", header.name, header.started);
    let began = recorded.frames().next().map_or(0, |frame| frame.t);
    for item in &recorded.items {
        match item {
            TrafficItem::Frame(frame) => text.push_str(&line(frame, began)),
            TrafficItem::Gap { gap } => text.push_str(&format!("({gap} frames are missing here)\n")),
        }
    }
    if let Some(problem) = recorded.problem() {
        text.push_str(&format!("{problem}\n"));
    }
    text
}

fn line(frame: &Frame, began: u64) -> String {
    // As `watch` has them: from the client to the server points to the right, on either hop.
    let arrow = match (frame.hop, frame.dir) {
        (Hop::Client, Direction::In) | (Hop::Server, Direction::Out) => "->",
        (Hop::Client, Direction::Out) | (Hop::Server, Direction::In) => "<-",
        _ => "--",
    };
    let seconds = frame.t.saturating_sub(began) as f64 / 1e9;
    let mut words = vec![
        format!("{seconds:12.6}"),
        format!("{} {arrow}", frame.hop.as_str()),
        frame.kind.as_str().to_owned(),
    ];
    words.extend(frame.call.map(|call| format!("#{call}")));
    words.extend(frame.server.clone());
    words.extend(frame.method.clone());
    words.extend(frame.tool.clone());
    words.extend(frame.took.map(|took| format!("{:.3} ms", took as f64 / 1e6)));
    let body = frame.body.as_ref().map(|body| body.get().to_owned()).or_else(|| frame.text.clone());
    // One frame, one line.
    words.extend(body.map(|body| body.replace(['\n', '\r'], " ")));
    words.extend(frame.cut.map(|cut| format!("(and {cut} bytes)")));
    words.join("  ") + "\n"
}
