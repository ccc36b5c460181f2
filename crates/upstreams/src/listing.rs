//! Reading all a server offers, page after page, and reading it again when the server says it changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use manifold_engine::{Item, Listing};
use manifold_protocol::dialect::ServerFacts;
use manifold_protocol::dialect::modern;
use manifold_protocol::{Era, Failure, Freshness, Kind, Raw, RawObject, members};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::connection::Connection;

/// How long a server may take over one page.
const PATIENCE: Duration = Duration::from_secs(30);
/// A list that takes longer does not hold back the others.
const SLOW: Duration = Duration::from_secs(1);
/// A cursor may lead in circles without ever repeating (F13).
const MAX_PAGES: usize = 1000;
const MAX_ITEMS: usize = 100_000;
/// Pages are read for no longer than this once the first has come.
const MAX_PAGING: Duration = Duration::from_secs(5);

/// Reads every list the server declares, all at once. `publish` gets what is there once a list proves slow, and the
/// whole in the end. Without its tools a server is not known; any other list that fails is empty.
async fn read_all(
    connection: &Arc<Connection>,
    said: &ServerFacts,
    publish: &impl Fn(Result<Arc<Listing>, Failure>),
) -> Option<Arc<Listing>> {
    let mut listing = Listing {
        instructions: said.instructions.clone(),
        capabilities: Some(said.capabilities.detached()),
        ..Listing::default()
    };
    // A server that declares nothing at all most likely forgot to.
    let silent = said.capabilities.object().is_none_or(|capabilities| capabilities.is_empty());
    let mut reads = JoinSet::new();
    for kind in Kind::ALL {
        if listing.declares(capability(kind)) || (silent && kind == Kind::Tools) {
            let connection = Arc::clone(connection);
            reads.spawn(async move { (kind, read(&connection, kind).await) });
        }
    }
    let mut slow_at = Some(Instant::now() + SLOW);
    let mut tools_known = !silent && !listing.declares("tools");
    if tools_known {
        // Nobody is to wait for what there is to learn of its tools.
        connection.learn(&mut Vec::new());
    }
    loop {
        let next = match slow_at {
            None => reads.join_next().await,
            Some(at) => match timeout_at(at, reads.join_next()).await {
                Ok(next) => next,
                Err(_) => {
                    slow_at = None;
                    if tools_known {
                        publish(Ok(Arc::new(listing.clone())));
                    }
                    continue;
                }
            },
        };
        match next {
            None => break,
            Some(Err(_)) => {}
            Some(Ok((kind, Ok(list)))) => {
                tools_known |= kind == Kind::Tools;
                list.put_into(&mut listing, kind);
            }
            Some(Ok((Kind::Tools, Err(failure)))) => {
                publish(Err(failure));
                return None;
            }
            Some(Ok((kind, Err(failure)))) => {
                warn!(server = connection.id(), list = kind.member(), ?failure, "reading a list failed");
            }
        }
    }
    let listing = Arc::new(listing);
    publish(Ok(Arc::clone(&listing)));
    Some(listing)
}

/// One list as read.
pub(crate) struct Listed {
    items: Vec<Item>,
    freshness: Freshness,
}

impl Listed {
    #[cfg(test)]
    pub(crate) fn labels(&self) -> Vec<&str> {
        self.items.iter().map(|item| item.label.as_str()).collect()
    }

    fn put_into(self, listing: &mut Listing, kind: Kind) {
        listing.freshness[kind as usize] = self.freshness;
        *listing.items_mut(kind) = self.items;
    }
}

/// Reads one list to its end.
pub(crate) async fn read(connection: &Arc<Connection>, kind: Kind) -> Result<Listed, Failure> {
    let mut items = Vec::new();
    let mut freshness: Option<Freshness> = None;
    let mut seen = HashSet::new();
    let mut cursor: Option<Raw> = None;
    let mut paging_ends = None;
    for page in 0.. {
        let params = cursor.as_ref().map(|cursor| {
            let mut params = RawObject::default();
            params.set("cursor", cursor.clone());
            params.into_raw()
        });
        let result = match connection.request(kind.list_method(), params, PATIENCE).await {
            Ok(result) => result,
            // Declared, yet not there: nothing of this kind.
            Err(Failure::Peer(error)) if error.get("code").is_some_and(|code| code.as_str() == "-32601") => {
                break;
            }
            Err(failure) => return Err(failure),
        };
        // Lists are long: each is walked through once.
        let result = result.object().unwrap_or_default();
        let found = result.get(kind.member()).and_then(|list| list.elements()).unwrap_or_default();
        if connection.dialect().era() == Era::Modern {
            let page = modern::freshness_of(&result);
            freshness = Some(freshness.map_or(page, |before| before.and(page)));
        }
        items.extend(found.iter().filter_map(|raw| item(connection.id(), kind, raw)));
        // An empty string is a cursor like any other; only its absence ends the list.
        let next =
            result.get("nextCursor").filter(|next| next.kind() == manifold_protocol::raw::Kind::String);
        let Some(next) = next else { break };
        let ends = *paging_ends.get_or_insert_with(|| Instant::now() + MAX_PAGING);
        let endless = page + 1 >= MAX_PAGES || items.len() >= MAX_ITEMS || Instant::now() >= ends;
        if endless || !seen.insert(next.clone()) {
            warn!(
                server = connection.id(),
                list = kind.member(),
                pages = page + 1,
                "the list does not end; cut here"
            );
            break;
        }
        cursor = Some(next.detached());
    }
    if kind == Kind::Tools {
        connection.learn(&mut items);
    }
    Ok(Listed { items, freshness: freshness.unwrap_or_default() })
}

/// Takes one item; a broken one is left out, the others stay.
fn item(server: &str, kind: Kind, raw: &Raw) -> Option<Item> {
    let label = raw.get(kind.label());
    let Some(label) = label.as_ref().and_then(|label| label.to_text()) else {
        warn!(server, list = kind.member(), "an entry without a readable `{}` is left out", kind.label());
        return None;
    };
    // A client could know it by another name than we do (H2).
    if let Some(flaw) = members::ITEM.flaw(raw) {
        warn!(server, list = kind.member(), entry = %label, "an entry is left out: {flaw}");
        return None;
    }
    Some(Item { label: label.into_owned(), raw: raw.detached() })
}

fn capability(kind: Kind) -> &'static str {
    match kind {
        Kind::Tools => "tools",
        Kind::Resources | Kind::Templates => "resources",
        Kind::Prompts => "prompts",
    }
}

/// The least time between two readings of a list that keeps changing, and between two announcements of it (F9).
const BREATH: Duration = Duration::from_millis(250);
/// Changes that come together are read together.
const SETTLE: Duration = Duration::from_millis(20);

/// Keeps the listing up to date for as long as it is polled, beginning with what is `known`; `publish` takes each new one. What the server says of changes
/// is passed on after it.
pub(crate) async fn follow(
    connection: Arc<Connection>,
    said: ServerFacts,
    known: Option<Arc<Listing>>,
    publish: impl Fn(Result<Arc<Listing>, Failure>),
) {
    let mut current = match known {
        Some(known) => {
            connection.learn(&mut known.tools.clone());
            publish(Ok(Arc::clone(&known)));
            Some(known)
        }
        None => read_all(&connection, &said, &publish).await,
    };
    loop {
        connection.lists.stale.marked.notified().await;
        // More marks may come while we wait; they are taken together.
        tokio::time::sleep(SETTLE).await;
        // Before the lists themselves: nobody is told of a change that is not read yet.
        connection.lists.is_reading.store(true, Ordering::Relaxed);
        let told = connection.lists.stale.take_said();
        let mut kinds = connection.lists.stale.take();
        // Marks that came together wake us twice and are taken once.
        if kinds.is_empty() && told.is_empty() {
            connection.lists.is_reading.store(false, Ordering::Relaxed);
            continue;
        }
        let Some(known) = &current else {
            current = read_all(&connection, &said, &publish).await;
            connection.lists.is_reading.store(false, Ordering::Relaxed);
            connection.pass_on(told);
            continue;
        };
        let mut next = (**known).clone();
        kinds.sort_unstable();
        for kind in kinds {
            match read(&connection, kind).await {
                Ok(list) => list.put_into(&mut next, kind),
                Err(failure) => {
                    warn!(
                        server = connection.id(),
                        list = kind.member(),
                        ?failure,
                        "reading a changed list failed"
                    );
                }
            }
        }
        let next = Arc::new(next);
        current = Some(Arc::clone(&next));
        publish(Ok(next));
        connection.lists.is_reading.store(false, Ordering::Relaxed);
        connection.pass_on(told);
        tokio::time::sleep(BREATH).await;
    }
}

#[cfg(test)]
mod tests;
