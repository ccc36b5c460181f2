//! The store as front ends know it.

use manifold_engine::{BoxFuture, Tasks};
use manifold_frontends::replica::{Appended, Away, Entry, Link, Note, SessionNotes};
use manifold_state::Store;
use tracing::debug;

/// What stands before a subscription in a session's notes.
const SUBSCRIBED: &str = "u:";
const LEVEL: &str = "level";
const OVER: &str = "over";

/// What stands for each kind of entry in the log of a stream.
const OPENED: char = 'q';
const EVENT: char = 'e';
const FINISHED: char = 'f';

pub(super) struct StoreLink {
    pub(super) store: Store,
    pub(super) tasks: Tasks,
}

fn away(_: manifold_state::Away) -> Away {
    Away
}

impl Link for StoreLink {
    fn session(&self, sid: &str) -> BoxFuture<Result<SessionNotes, Away>> {
        let (store, sid) = (self.store.clone(), sid.to_owned());
        Box::pin(async move {
            let fields = store.session(&sid).await.map_err(away)?;
            let mut notes = SessionNotes { is_known: !fields.is_empty(), ..SessionNotes::default() };
            for (name, value) in fields {
                match (name.as_str(), name.strip_prefix(SUBSCRIBED)) {
                    (_, Some(uri)) => notes.subscriptions.push(uri.to_owned()),
                    (LEVEL, _) => notes.level = Some(value),
                    (OVER, _) => notes.is_over = true,
                    _ => {}
                }
            }
            Ok(notes)
        })
    }

    fn note(&self, sid: &str, note: Note) -> BoxFuture<Result<(), Away>> {
        let (store, sid) = (self.store.clone(), sid.to_owned());
        Box::pin(async move {
            let noted = match note {
                Note::Level(level) => store.set_session(&sid, LEVEL, &level).await,
                Note::Subscribed(uri) => store.set_session(&sid, &format!("{SUBSCRIBED}{uri}"), "1").await,
                Note::Unsubscribed(uri) => store.unset_session(&sid, &format!("{SUBSCRIBED}{uri}")).await,
                Note::Over => store.set_session(&sid, OVER, "1").await,
            };
            noted.map_err(away)
        })
    }

    fn used(&self, sids: Vec<String>) -> BoxFuture<()> {
        let store = self.store.clone();
        Box::pin(async move {
            if store.touch_sessions(&sids).await.is_err() {
                debug!("which sessions are in use could not be noted");
            }
        })
    }

    fn append(&self, stream: &str, number: u64, entry: Entry) -> BoxFuture<Result<Appended, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        let (kind, text) = match entry {
            Entry::Opened(answers) => (OPENED, answers.into_bytes()),
            Entry::Event(event) => (EVENT, event.to_vec()),
            Entry::Finished => (FINISHED, Vec::new()),
        };
        Box::pin(async move {
            let entry = manifold_state::Entry { kind, text };
            match store.append(&stream, number, &entry).await.map_err(away)? {
                manifold_state::Appended::Done => Ok(Appended::Done),
                manifold_state::Appended::Conflict => Ok(Appended::Conflict),
            }
        })
    }

    fn read(&self, stream: &str, after: u64) -> BoxFuture<Result<Vec<(u64, Entry)>, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        Box::pin(async move {
            let read = store.read(&stream, after).await.map_err(away)?;
            let entry = |(number, entry): (u64, manifold_state::Entry)| {
                let entry = match entry.kind {
                    OPENED => Entry::Opened(String::from_utf8(entry.text).ok()?),
                    EVENT => Entry::Event(entry.text.into()),
                    FINISHED => Entry::Finished,
                    _ => return None,
                };
                Some((number, entry))
            };
            Ok(read.into_iter().filter_map(entry).collect())
        })
    }

    fn last(&self, stream: &str) -> BoxFuture<Result<u64, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        Box::pin(async move { store.last(&stream).await.map_err(away) })
    }

    fn address(&self, replica: u32) -> Option<String> {
        Some(self.store.node(replica)?.address)
    }

    fn tell(&self, news: String) {
        let store = self.store.clone();
        self.tasks.spawn_background(async move {
            if store.publish(&news).await.is_err() {
                debug!("the other replicas could not be told");
            }
        });
    }

    fn listen(&self, hear: Box<dyn Fn(&str) + Send + Sync>) {
        self.store.listen(hear);
    }
}
