//! What kind of answer a client takes.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// An answer that takes longer is announced by the head of a stream: nobody in between counts silence as death.
pub(super) const PLAIN_PATIENCE: Duration = Duration::from_millis(100);

/// What kinds of answer a client takes, and which it would rather have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    JsonOnly,
    JsonFirst,
    EventsFirst,
}

impl Accepts {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        // What nearly all say.
        if headers.get(ACCEPT).is_some_and(|accept| accept == "application/json, text/event-stream") {
            return Self::JsonFirst;
        }
        let kinds = || {
            let lines = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
            lines.flat_map(|line| line.split(','))
        };
        let place = |wanted: &str| kinds().position(|kind| kind.trim().starts_with(wanted));
        match (place("application/json"), place("text/event-stream")) {
            (_, None) => Self::JsonOnly,
            (Some(json), Some(events)) if json < events => Self::JsonFirst,
            (_, Some(_)) => Self::EventsFirst,
        }
    }
}

pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    accepted.contains("text/event-stream") || accepted.contains("*/*") || accepted.contains("text/*")
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(accept: &'static str, expected: Accepts) {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        assert_eq!(Accepts::of(&headers), expected, "{accept}");
    }

    #[test]
    fn the_kind_named_first_is_preferred() {
        check("application/json, text/event-stream", Accepts::JsonFirst);
        check("text/event-stream, application/json", Accepts::EventsFirst);
        check("application/json;q=0.9,text/event-stream;q=0.8", Accepts::JsonFirst);
        check("text/event-stream", Accepts::EventsFirst);
        check("application/json", Accepts::JsonOnly);
        check("*/*", Accepts::JsonOnly);
        check("", Accepts::JsonOnly);
    }
}
