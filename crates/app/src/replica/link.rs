//! The store as front ends know it.

use manifold_engine::{BoxFuture, Tasks};
use manifold_frontends::replica::{Appended, Away, Entry, Heard, Link, Note, SessionNotes};
use manifold_state::{Place, Store};
use tokio::time::Instant;
use tracing::debug;

/// What stands before a subscription in a session's notes.
const SUBSCRIBED: &str = "u:";
const LEVEL: &str = "level";
const OVER: &str = "over";

/// What stands for each kind of entry in the log of a stream.
const OPENED: char = 'q';
const EVENT: char = 'e';
const FINISHED: char = 'f';
const BROKEN: char = 'b';

pub(super) struct StoreLink {
    pub(super) store: Store,
    pub(super) tasks: Tasks,
}

/// Reads an entry; what a later version may have written is not understood, so that something is missing.
fn entry_of(entry: manifold_state::Entry) -> Entry {
    match entry.kind {
        OPENED => String::from_utf8(entry.text).map_or(Entry::Broken, Entry::Opened),
        EVENT => Entry::Event(entry.text.into()),
        FINISHED => Entry::Finished,
        _ => Entry::Broken,
    }
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
                Note::Subscribed(uri) => {
                    let added = store.add_to_session(&sid, &format!("{SUBSCRIBED}{uri}"), "1").await;
                    added.map(|is_added| {
                        if !is_added {
                            debug!("a session has more subscriptions than are noted");
                        }
                    })
                }
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

    fn over(&self, sids: Vec<String>) -> BoxFuture<Result<Vec<String>, Away>> {
        let store = self.store.clone();
        Box::pin(async move { store.sessions_with(&sids, OVER).await.map_err(away) })
    }

    fn append(
        &self,
        stream: &str,
        number: u64,
        keep_from: u64,
        entry: Entry,
    ) -> BoxFuture<Result<Appended, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        let place = Place { number, is_first: matches!(entry, Entry::Opened(_)), keep_from };
        let (kind, text) = match entry {
            Entry::Opened(answers) => (OPENED, answers.into_bytes()),
            Entry::Event(event) => (EVENT, event.to_vec()),
            Entry::Finished => (FINISHED, Vec::new()),
            Entry::Broken => (BROKEN, Vec::new()),
        };
        Box::pin(async move {
            let entry = manifold_state::Entry { kind, text };
            match store.append(&stream, place, &entry).await.map_err(away)? {
                manifold_state::Appended::Done => Ok(Appended::Done),
                manifold_state::Appended::Conflict => Ok(Appended::Conflict),
            }
        })
    }

    fn read(&self, stream: &str, after: u64) -> BoxFuture<Result<Vec<(u64, Entry)>, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        Box::pin(async move {
            let read = store.read(&stream, after).await.map_err(away)?;
            Ok(read.into_iter().map(|(number, entry)| (number, entry_of(entry))).collect())
        })
    }

    fn opened(&self, stream: &str) -> BoxFuture<Result<Option<String>, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        Box::pin(async move {
            let first = store.first(&stream).await.map_err(away)?;
            Ok(first.and_then(|text| String::from_utf8(text).ok()))
        })
    }

    fn last(&self, stream: &str) -> BoxFuture<Result<u64, Away>> {
        let (store, stream) = (self.store.clone(), stream.to_owned());
        Box::pin(async move { store.last(&stream).await.map_err(away) })
    }

    fn address(&self, replica: u32) -> Option<String> {
        Some(self.store.node(replica)?.address)
    }

    fn look_for_replicas(&self) -> BoxFuture<()> {
        let store = self.store.clone();
        Box::pin(async move { store.look().await })
    }

    fn is_gone(&self, replica: u32, asked: Instant) -> bool {
        self.store.is_gone(replica, asked)
    }

    fn others(&self) -> usize {
        self.store.nodes() - 1
    }

    fn tell(&self, news: String) {
        let store = self.store.clone();
        self.tasks.spawn_background(async move {
            if store.publish(&news).await.is_err() {
                debug!("the other replicas could not be told");
            }
        });
    }

    fn listen(&self, hear: Box<dyn Fn(Heard<'_>) + Send + Sync>) {
        self.store.listen(Box::new(move |heard| match heard {
            manifold_state::Heard::News(text) => hear(Heard::News(text)),
            manifold_state::Heard::Missed => hear(Heard::Missed),
        }));
    }
}
