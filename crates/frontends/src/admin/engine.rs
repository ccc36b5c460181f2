//! What is asked of the engine, in one place.

use std::sync::Arc;

use manifold_admin::{
    AuditLine, CommandError, Cursor, Event, Happening, ItemPage, ListedItem, LogLine, ServerId,
};
use manifold_engine::{Control, Events, Exchange, Gateway, Requester};
use manifold_protocol::{Answer, Call, Kind, Raw};

use super::errors;
use super::request::bad;

/// The words for what can be watched, those of calls and of logs last: they come only where they are asked for.
const TOPICS: [&str; 8] = ["server", "catalog", "client", "config", "audit", "daemon", "call", "log"];
const USUAL: usize = 6;

/// Returns where the events are now.
pub(super) fn cursor(control: &Control) -> Cursor {
    control.snapshot().at
}

/// Tells those who watch of a change.
pub(super) fn publish_audit(_control: &Control, _line: &AuditLine) {}

/// Tells those who watch what is about to happen to the program.
pub(super) fn publish_daemon(_control: &Control, _change: &str) {}

/// The events of some topics, after a place.
pub(super) struct Watching {
    events: Events,
    topics: Vec<&'static str>,
    first: Option<Arc<Event>>,
}

/// Opens the events of these topics from a place on, or from now on; `None`: the gateway is about to end.
pub(super) fn watch(
    control: &Control,
    after: Option<Cursor>,
    topics: &str,
) -> Result<Option<Watching>, CommandError> {
    let topics = match topics {
        "" => TOPICS[..USUAL].to_vec(),
        topics => topics.split(',').map(topic).collect::<Result<_, _>>()?,
    };
    let Some(events) = control.events() else { return Ok(None) };
    let now = cursor(control);
    let reset = Event { seq: now.seq, happening: Happening::Reset };
    let first = after.filter(|after| *after != now).map(|_| Arc::new(reset));
    Ok(Some(Watching { events, topics, first }))
}

fn topic(word: &str) -> Result<&'static str, CommandError> {
    let known = TOPICS.into_iter().find(|known| *known == word.trim());
    known.ok_or_else(|| bad(&format!("`{word}` is no topic; those are {}", TOPICS.join(", "))))
}

impl Watching {
    /// Waits for the next event; `None`: the gateway is gone. It may be waited for anew at any time.
    pub(super) async fn next(&mut self) -> Option<Arc<Event>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let event = self.events.next().await?;
            let kind = event.happening.kind();
            if event.happening == Happening::Reset || self.topics.contains(&kind) {
                return Some(event);
            }
        }
    }
}

/// Which part of a list is wanted.
#[derive(Debug, Default)]
pub(super) struct ItemQuery {
    pub(super) server: Option<String>,
    pub(super) q: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) limit: usize,
    pub(super) full: bool,
}

/// Returns what the clients of a namespace see, once its servers have been asked.
pub(super) async fn items(
    gateway: &Arc<Gateway>,
    kind: Kind,
    query: &ItemQuery,
) -> Result<ItemPage, CommandError> {
    let (exchange, _flight, reply) = Exchange::answered_for(None, &Requester::local(), gateway);
    gateway.dispatch(Call::new(kind.list_method(), None), exchange);
    let reply = reply.await.map_err(|_| bad("the list was lost"))?;
    let list = match reply.map_err(|failure| errors::of_call(&failure, None))? {
        Answer::List(list) => list.items.clone(),
        Answer::Result { body, .. } => body.get(kind.member()).unwrap_or_else(Raw::null),
    };
    let items = list.elements().unwrap_or_default();
    let mut wanted = items.iter().filter_map(|item| listed(gateway, kind, item, query.full)).filter(|item| {
        let has = |text: &str, q: &str| text.to_lowercase().contains(&q.to_lowercase());
        let is_found =
            |q: &String| has(&item.name, q) || item.description.as_deref().is_some_and(|text| has(text, q));
        query.server.as_ref().is_none_or(|server| item.server == *server)
            && query.q.as_ref().is_none_or(is_found)
            && query.cursor.as_ref().is_none_or(|after| item.name > *after)
    });
    let mut all: Vec<ListedItem> = wanted.by_ref().collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let has_more = all.len() > query.limit;
    all.truncate(query.limit);
    let next_cursor = all.last().filter(|_| has_more).map(|last| last.name.clone());
    Ok(ItemPage { items: all, next_cursor, ..ItemPage::default() })
}

fn listed(gateway: &Gateway, kind: Kind, item: &Raw, is_full: bool) -> Option<ListedItem> {
    let text = |key: &str| Some(item.get(key)?.to_lossy_text()?.into_owned());
    let name = text(kind.label())?;
    let (server, original) = owner(gateway, &name).unwrap_or((String::new(), name.clone()));
    let raw = || serde_json::from_slice(item.as_bytes()).ok();
    Some(ListedItem {
        name,
        server,
        original,
        description: text("description"),
        bytes: item.as_bytes().len(),
        item: is_full.then(raw).flatten(),
    })
}

/// Returns whose an item is and what its server calls it, as far as its name says so.
fn owner(gateway: &Gateway, name: &str) -> Option<(String, String)> {
    let own = |exposed: &str| {
        let rest = name.strip_prefix(exposed)?;
        let original = rest.trim_start_matches(['_', '.', '/', '-']);
        (original.len() < rest.len()).then(|| original.to_owned())
    };
    gateway.servers().into_iter().find_map(|server| Some((server.key.id, own(&server.exposed_id)?)))
}

/// Returns the name under which a call finds what an operator names, and whose it is where that is known; or why there is
/// none.
pub(super) async fn resolve(
    gateway: &Arc<Gateway>,
    _kind: Kind,
    name: String,
) -> Result<(String, Option<String>), CommandError> {
    let owner = owner(gateway, &name).map(|(server, _)| server);
    Ok((name, owner))
}

/// Returns the last lines a server wrote beside the protocol.
pub(super) fn logs(
    control: &Control,
    server: &ServerId,
    lines: usize,
    since: Option<&str>,
) -> Result<Vec<LogLine>, CommandError> {
    let lines = control.logs(server, lines)?.into_iter();
    let line = |line| LogLine { server: Some(server.id.clone()), line, ..LogLine::default() };
    let is_wanted = |line: &LogLine| since.is_none_or(|since| line.time.as_str() >= since);
    Ok(lines.map(line).filter(is_wanted).collect())
}
