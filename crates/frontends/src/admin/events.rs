//! What happens, as a stream. A reader takes what there is when it is ready for more: while it is not, nothing is kept for
//! it but its place, and once it is far behind, it is told the last of what happened to one thing meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use manifold_admin::{CommandError, Cursor, ErrorCode, Event, Happening, StreamItem};
use manifold_engine::{Events, Topics};
use serde::Serialize;
use tokio::time::timeout;

use super::answer::Answer;
use super::request::{Asked, bad};
use super::{Office, sse};

/// A reader that is owed more is behind: it is told the last of each thing. Who was away for a moment misses nothing.
const MAX_EACH_EVENTS: usize = 64;
const MAX_EACH_BYTES: usize = 32 << 10;

/// A reader that is owed more reads everything anew.
const MAX_OWED_BYTES: usize = 256 << 10;

/// Events looked at together; what is more waits for the next look.
const MAX_TOGETHER: usize = 8192;

pub(super) fn stream(office: &Office, asked: &Asked) -> Result<Answer, CommandError> {
    let after = asked.header("last-event-id").or_else(|| asked.query.get("after"));
    let after = after.map(str::parse::<Cursor>).transpose().map_err(|error| bad(&error.to_string()))?;
    let topics = Topics::parse(asked.query.get("topics").unwrap_or_default())
        .map_err(|word| bad(&format!("`{word}` is no topic; docs/api.md lists them")))?;
    let Some(mut events) = office.control.events_after(after, topics) else {
        return Err(CommandError::new(ErrorCode::ShuttingDown, "the gateway is shutting down"));
    };
    let now = events.cursor();
    // Whoever loses the connection at once must go on from where it was.
    let at = after.filter(|after| after.epoch == now.epoch && after.seq <= now.seq).unwrap_or(now);
    let mut first = sse::RETRY.to_owned();
    // That something is missing is heard before anything else.
    let missed = after.and_then(|_| events.try_next());
    let (reset, missed): (Option<_>, _) = match missed {
        Some(event) if event.happening == Happening::Reset => (Some(event), None),
        missed => (None, missed),
    };
    if let Some(reset) = &reset {
        write(&mut first, now.epoch, reset);
    }
    let at = reset.map_or(at, |reset| Cursor { seq: reset.seq, ..now });
    sse::write(&mut first, Some(&at.to_string()), "cursor", &to_string(&StreamItem::Cursor { at }));
    let hold = office.program.hold();
    let reader = Reader { events, epoch: now.epoch, first: Some(first), missed, _hold: hold };
    Ok(sse::answer(stream::unfold(reader, |mut reader| async move {
        let text = reader.read().await?;
        Some((Bytes::from(text), reader))
    })))
}

struct Reader {
    events: Events,
    epoch: u64,
    first: Option<String>,
    /// What was taken out of the events already.
    missed: Option<Arc<Event>>,
    _hold: Box<dyn Send + Sync>,
}

impl Reader {
    /// Returns what is to be written next; `None`: the gateway is gone.
    async fn read(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let event = match self.missed.take() {
            Some(event) => Ok(Some(event)),
            None => timeout(sse::HEARTBEAT, self.events.next()).await,
        };
        let Ok(event) = event else { return Some(sse::STILL_HERE.to_owned()) };
        let mut owed = vec![event?];
        while owed.len() < MAX_TOGETHER
            && let Some(event) = self.events.try_next()
        {
            owed.push(event);
        }
        Some(written(self.epoch, &owed))
    }
}

/// Writes events: all of them where they are few, else of each thing the last, or a reset where that is too much.
fn written(epoch: u64, owed: &[Arc<Event>]) -> String {
    let mut text = String::new();
    if owed.len() <= MAX_EACH_EVENTS {
        owed.iter().for_each(|event| write(&mut text, epoch, event));
        if text.len() <= MAX_EACH_BYTES {
            return text;
        }
        text.clear();
    }
    for event in last_of_each(owed) {
        write(&mut text, epoch, event);
        if text.len() > MAX_OWED_BYTES {
            let seq = owed.last().map_or(event.seq, |last| last.seq);
            text.clear();
            write(&mut text, epoch, &Event { seq, happening: Happening::Reset });
            break;
        }
    }
    text
}

fn write(text: &mut String, epoch: u64, event: &Event) {
    let id = Cursor { epoch, seq: event.seq }.to_string();
    sse::write(text, Some(&id), event.happening.kind(), &to_string(event));
}

fn to_string(told: &impl Serialize) -> String {
    serde_json::to_string(told).unwrap_or_default()
}

/// Leaves out what a later event says anew, and all that came before something was missing.
fn last_of_each(owed: &[Arc<Event>]) -> Vec<&Event> {
    let mut told = HashSet::new();
    let mut kept = Vec::new();
    for event in owed.iter().rev() {
        if key(&event.happening).is_none_or(|key| told.insert(key)) {
            kept.push(&**event);
        }
        if event.happening == Happening::Reset {
            break;
        }
    }
    kept.reverse();
    kept
}

/// Returns what an event is about, where it says all there is to say of it.
fn key(happening: &Happening) -> Option<(&'static str, String)> {
    match happening {
        Happening::Server { server } => Some(("server", server.key.to_string())),
        Happening::Catalog { namespace, .. } => Some(("catalog", namespace.clone().unwrap_or_default())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use manifold_admin::{Server, ServerId, State};

    use super::*;

    fn server(seq: u64, id: &str, state: State) -> Arc<Event> {
        let server = Box::new(Server { key: ServerId::from(id), state, ..Server::default() });
        Arc::new(Event { seq, happening: Happening::Server { server } })
    }

    fn told(owed: &[Arc<Event>]) -> Vec<(u64, &'static str)> {
        last_of_each(owed).into_iter().map(|event| (event.seq, event.happening.kind())).collect()
    }

    #[test]
    fn a_reader_that_is_behind_hears_the_last_of_each() {
        let daemon =
            |seq| Arc::new(Event { seq, happening: Happening::Daemon { change: "stopping".to_owned() } });
        let owed = [
            server(1, "a", State::Starting),
            server(2, "b", State::Starting),
            daemon(3),
            server(4, "a", State::Ready),
            daemon(5),
        ];
        assert_eq!(told(&owed), [(2, "server"), (3, "daemon"), (4, "server"), (5, "daemon")]);
    }

    #[test]
    fn a_reader_that_was_away_for_a_moment_hears_of_each_change() {
        let changes =
            |count: u64| -> Vec<_> { (1..=count).map(|seq| server(seq, "a", State::Ready)).collect() };
        let told = |count| written(0xfe, &changes(count)).matches("event: server\n").count();
        assert_eq!((told(2), told(50), told(65)), (2, 50, 1));
    }

    #[test]
    fn nothing_from_before_a_reset_is_told() {
        let reset = Arc::new(Event { seq: 2, happening: Happening::Reset });
        let owed = [server(1, "a", State::Ready), reset, server(3, "b", State::Ready)];
        assert_eq!(told(&owed), [(2, "reset"), (3, "server")]);
    }

    #[test]
    fn more_than_a_reader_may_be_owed_is_one_reset() {
        let long = "x".repeat(1000);
        let owed: Vec<_> = (1..=400).map(|seq| server(seq, &format!("{long}{seq}"), State::Ready)).collect();
        assert_eq!(
            written(0xfe, &owed),
            "id: fe-400\nevent: reset\ndata: {\"seq\":400,\"kind\":\"reset\"}\n\n"
        );
        assert_eq!(written(0xfe, &owed[..100]).matches("event: server\n").count(), 100);
    }
}
