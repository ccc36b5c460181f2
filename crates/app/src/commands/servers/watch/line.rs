//! One frame as a line.

use manifold_admin::{Direction, Frame, FrameKind, FrameStatus, Hop};

use crate::output::{Paint, Tone, bytes, escaped_text};

/// Writes a frame on one line: when, which call, where, what, and how it ended.
pub(super) fn of(frame: &Frame, paint: Paint) -> String {
    let call = frame.parent.or(frame.call).map(|call| format!("#{call}")).unwrap_or_default();
    let seconds = frame.t as f64 / 1e9;
    let place = format!("{:<6} {}", frame.hop.as_str(), way(frame.hop, frame.dir));
    let mut line = format!(
        "{}  {call:<6} {place}  {:<12} ",
        paint.tone(Tone::Faint, &format!("{seconds:>11.6}")),
        shown(&party(frame)),
    );
    line.push_str(&paint.tone(tone(frame), &format!("{:<12}", frame.kind.as_str())));
    line.push(' ');
    line.push_str(&shown(&what(frame)));
    let details = details(frame);
    if !details.is_empty() {
        line.push_str(&paint.tone(Tone::Faint, &format!("  {}", details.join(" "))));
    }
    let body = frame.body.as_ref().map(|body| body.get()).or(frame.text.as_deref());
    if let Some(body) = body.or(frame.base64.as_deref()) {
        line.push_str("  ");
        line.push_str(&shown(body));
    }
    line
}

fn shown(text: &str) -> String {
    escaped_text(text).replace('\n', "\\n")
}

/// Which way it goes, with the client on the left.
fn way(hop: Hop, dir: Direction) -> &'static str {
    match (hop, dir) {
        (Hop::Client, Direction::In) | (Hop::Server, Direction::Out) => "->",
        (Hop::Client, Direction::Out) | (Hop::Server, Direction::In) => "<-",
        _ => "--",
    }
}

fn party(frame: &Frame) -> String {
    let client = frame.client.as_ref();
    let name = || client.and_then(|client| client.name.clone());
    let id = || client.and_then(|client| client.id).map(|id| format!("client {id}"));
    frame.server.clone().or_else(name).or_else(id).unwrap_or_else(|| "-".to_owned())
}

fn what(frame: &Frame) -> String {
    let words = [frame.method.as_deref(), frame.tool.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn tone(frame: &Frame) -> Tone {
    match (frame.kind, frame.status) {
        (FrameKind::Error, _) | (_, Some(FrameStatus::Error | FrameStatus::Timeout)) => Tone::Bad,
        (_, Some(FrameStatus::Cancelled | FrameStatus::Late)) => Tone::Busy,
        (_, Some(FrameStatus::Ok)) => Tone::Good,
        _ => Tone::Plain,
    }
}

fn details(frame: &Frame) -> Vec<String> {
    let status = match frame.status {
        Some(FrameStatus::Error) => Some("failed"),
        Some(FrameStatus::Cancelled) => Some("cancelled"),
        Some(FrameStatus::Timeout) => Some("timed out"),
        Some(FrameStatus::Late) => Some("late"),
        _ => None,
    };
    let mut details = Vec::new();
    details.extend(status.map(str::to_owned));
    details.extend(frame.code.map(|code| code.to_string()));
    details.extend(frame.took.map(time));
    if frame.bytes > 0 {
        details.push(bytes(frame.bytes));
    }
    if frame.redacted {
        details.push("redacted".to_owned());
    }
    details
}

fn time(nanos: u64) -> String {
    match nanos {
        0..1_000_000 => format!("{} µs", nanos / 1000),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.2} s", nanos as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use manifold_admin::FrameClient;

    use super::*;
    use crate::output::Output;

    #[test]
    fn a_frame_is_one_line_and_steers_no_terminal() {
        let client = FrameClient { id: Some(3), name: Some("editor\u{1b}[2J".to_owned()), version: None };
        let frame = Frame {
            t: 1_500_000_000,
            hop: Hop::Client,
            dir: Direction::Out,
            kind: FrameKind::Error,
            client: Some(client),
            method: Some("tools/call".to_owned()),
            tool: Some("a\nb".to_owned()),
            call: Some(17),
            status: Some(FrameStatus::Timeout),
            code: Some(-32603),
            took: Some(2_500_000),
            bytes: 120,
            text: Some("x\r\ny".to_owned()),
            ..Frame::default()
        };
        let line = of(&frame, Output::for_programs().paint());
        assert!(line.starts_with("   1.500000  #17    client <-  editor"), "{line}");
        assert!(line.contains("tools/call a\\nb  timed out -32603 2.5 ms 120 B"), "{line}");
        assert!(!line.contains(['\u{1b}', '\n', '\r']), "{line:?}");
    }
}
