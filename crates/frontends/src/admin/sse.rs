//! Server-sent events, as they are written.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use super::answer::Answer;

/// A stream is never silent for longer, so that either end notices when the other is gone.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);

/// When a reader comes again that lost its connection, in milliseconds.
pub(super) const RETRY: &str = "retry: 1000\n\n";

/// What is written where nothing happens.
pub(super) const STILL_HERE: &str = ": still here\n\n";

/// Answers with a stream. It is asked for more as its reader takes what there is, and dropped when that leaves.
pub(super) fn answer(events: impl Stream<Item = Bytes> + Send + 'static) -> Answer {
    use futures_util::StreamExt as _;
    let frames = events.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

/// Writes one event. JSON may stand on several lines; each is one of its data.
pub(super) fn write(into: &mut String, id: Option<&str>, event: &str, data: &str) {
    if let Some(id) = id {
        let _ = writeln!(into, "id: {id}");
    }
    let _ = writeln!(into, "event: {event}");
    // A bare CR ends a line too.
    for line in data.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')) {
        let _ = writeln!(into, "data: {line}");
    }
    into.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_an_event_is_taken_for_another_field() {
        let mut text = String::new();
        write(&mut text, Some("fe-1"), "result", "{\"a\":\r\n1,\r\"b\":\n2}");
        assert_eq!(text, "id: fe-1\nevent: result\ndata: {\"a\":\ndata: 1,\ndata: \"b\":\ndata: 2}\n\n");
        let mut text = String::new();
        write(&mut text, None, "reset", "");
        assert_eq!(text, "event: reset\ndata: \n\n");
    }
}
