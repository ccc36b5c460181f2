//! The lists as an operator pages through them.

use std::sync::Arc;
use std::time::Duration;

use manifold_admin::{CommandError, ErrorCode, FailedServer, ItemPage, ListedItem};
use manifold_config::redact;
use manifold_protocol::{Kind, Raw};
use serde_json::value::RawValue;

use super::Gateway;
use super::listings::Purpose;
use super::operator::NotFound;
use crate::catalog::{Catalog, CatalogItem, Member};
use crate::exchange::Exchange;
use crate::principal::Principal;
use crate::upstream::Phase;

/// What of a list is wanted.
#[derive(Debug, Clone, Default)]
pub struct ItemQuery {
    /// One server's only, by its id.
    pub server: Option<String>,
    /// The one of this name, in any way an operator may write it.
    pub name: Option<String>,
    /// How long servers may take; `None`: as long as a list waits, and as they may for a start where one is named.
    pub patience: Option<Duration>,
    /// Those with this text in their name or description; with `*` or `?`, those whose name has that shape.
    pub q: Option<String>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// How many at most; `None`: all.
    pub limit: Option<usize>,
    /// With their definitions.
    pub full: bool,
    /// Only what is known: no server is asked, and none started.
    pub known_only: bool,
}

impl Gateway {
    /// Returns a part of a list as clients see it, once every server that may be asked has been, or patience is over.
    pub async fn items(self: &Arc<Self>, kind: Kind, query: &ItemQuery) -> Result<ItemPage, CommandError> {
        if let Some(cursor) = query.cursor.as_deref()
            && place_of(cursor).is_none()
        {
            let message = "`cursor` is not the `nextCursor` of a page";
            return Err(CommandError::new(ErrorCode::BadRequest, message));
        }
        if query.known_only {
            self.catch_up(&self.catalog.load());
        }
        if let Some(name) = query.name.as_deref() {
            return self.named_item(kind, name, query).await;
        }
        match query.server.as_deref() {
            _ if query.known_only => {}
            Some(server) => within(query.patience, self.learn_of(server)).await.unwrap_or(Ok(()))?,
            None => within(query.patience, self.learn_all()).await.unwrap_or_default(),
        }
        Ok(self.known_items(kind, query, None))
    }

    /// Returns the one item of a name. Only servers whose item it may be are asked.
    async fn named_item(
        self: &Arc<Self>,
        kind: Kind,
        name: &str,
        query: &ItemQuery,
    ) -> Result<ItemPage, CommandError> {
        let is_known = {
            let catalog = self.catalog.load();
            catalog.item_named(kind, name, &Principal::Local).is_some()
        };
        let learnt = match is_known || query.known_only {
            true => Some(()),
            false => within(query.patience, self.ask_as_operator(name)).await,
        };
        match (self.found_or_why(kind, name), learnt) {
            (Ok(found), ..) => Ok(self.known_items(kind, query, Some(&found.name))),
            (Err(NotFound::Denied { rule }), ..) => Err(NotFound::Denied { rule }.into_error(kind, name)),
            (Err(_), None) => Err(CommandError::new(
                ErrorCode::TimedOut,
                format!("'{name}' is not known yet: its server is still starting"),
            )),
            // One of those that are still starting may have it.
            (Err(NotFound::Unknown { .. }), ..) if self.names_no_server(name) && self.is_starting() => {
                Ok(self.known_items(kind, query, Some(name)))
            }
            (Err(why), ..) => Err(why.into_error(kind, name)),
        }
    }

    fn names_no_server(&self, name: &str) -> bool {
        self.catalog.load().read_as_operator(name).is_empty()
    }

    fn is_starting(&self) -> bool {
        !self.still_starting().is_empty()
    }

    /// Waits until the lists are known as far as they can be.
    pub(super) async fn learn_all(self: &Arc<Self>) {
        let (done, known) = tokio::sync::oneshot::channel();
        self.with_listings_for(Purpose::List, Exchange::detached(), move |_, exchange| {
            exchange.finish(Ok(Raw::null()));
            let _ = done.send(());
        });
        let _ = known.await;
    }

    /// Waits until what one server offers is known, as far as it can be.
    async fn learn_of(self: &Arc<Self>, server: &str) -> Result<(), CommandError> {
        let wanted = self.members(|member| is_called(member, server));
        if wanted.is_empty() {
            let known = self.members(|member| member.server.is_some());
            let ids = known.iter().map(|(key, _)| key.id.as_str());
            return Err(CommandError {
                hint: super::operator::did_you_mean(server, ids),
                ..CommandError::new(ErrorCode::UnknownServer, format!("there is no server '{server}' here"))
            });
        }
        let unknown =
            self.members(|member| is_called(member, server) && super::listings::may_discover(member));
        if !unknown.is_empty() {
            self.discovery.settle(unknown, self.fleet.tasks()).await;
        }
        self.catch_up(&self.catalog.load());
        Ok(())
    }

    /// Returns what is known; `only` the one that clients call so.
    fn known_items(&self, kind: Kind, query: &ItemQuery, only: Option<&str>) -> ItemPage {
        let catalog = self.catalog.load();
        let is_wanted = |item: &CatalogItem<'_>| {
            let server = query.server.as_deref();
            server.is_none_or(|server| is_called(catalog.member(item.member), server))
                && query.q.as_deref().is_none_or(|q| matches(item, q))
        };
        let wanted: Vec<_> = match only {
            Some(name) => {
                catalog.item_named(kind, name, &Principal::Local).into_iter().filter(is_wanted).collect()
            }
            None => catalog.items(kind, &Principal::Local).filter(is_wanted).collect(),
        };
        let start = query.cursor.as_deref().map_or(0, |cursor| after(&wanted, cursor));
        let end =
            query.limit.map_or(wanted.len(), |limit| start.saturating_add(limit.max(1)).min(wanted.len()));
        let last = wanted[start..end].last().filter(|_| end < wanted.len());
        let next_cursor = last.map(|last| format!("{end}:{}", last.exposed));
        let page = &wanted[start..end];
        let is_about = |member: &Member| {
            query.server.as_deref().is_none_or(|server| is_called(member, server)) && member.server.is_some()
        };
        let starting = self.still_starting();
        let ids = self.members(is_about).into_iter().map(|(key, _)| key.id);
        ItemPage {
            items: page.iter().map(|item| listed(&catalog, item, query.full)).collect(),
            next_cursor,
            starting: ids.filter(|id| starting.contains(id)).collect(),
            failed: catalog
                .view
                .members
                .iter()
                .filter(|member| is_about(member))
                .filter_map(failed)
                .collect(),
        }
    }
}

/// Waits no longer than there is patience.
async fn within<T>(patience: Option<Duration>, done: impl Future<Output = T>) -> Option<T> {
    match patience {
        Some(patience) => tokio::time::timeout(patience, done).await.ok(),
        None => Some(done.await),
    }
}

/// Returns where the page after a cursor begins: behind the item that was last then, or where that was if it is gone.
fn after(items: &[CatalogItem<'_>], cursor: &str) -> usize {
    let Some((place, name)) = place_of(cursor) else { return 0 };
    let behind = items.iter().position(|item| item.exposed == name).map(|at| at + 1);
    behind.unwrap_or(place).min(items.len())
}

/// Returns how many items came before a page's end, and the last of them.
fn place_of(cursor: &str) -> Option<(usize, &str)> {
    let (place, name) = cursor.split_once(':')?;
    place.parse().ok().map(|place| (place, name))
}

fn listed(catalog: &Catalog, item: &CatalogItem<'_>, full: bool) -> ListedItem {
    let text = |member: &str| Some(item.raw.get(member)?.to_lossy_text()?.into_owned());
    ListedItem {
        name: item.exposed.clone(),
        server: catalog.member(item.member).key.id.clone(),
        original: item.original.to_owned(),
        description: text("description").or_else(|| text("title")),
        bytes: item.raw.as_bytes().len(),
        item: full.then(|| RawValue::from_string(item.raw.as_str().to_owned()).ok()).flatten(),
    }
}

pub(super) fn is_called(member: &Member, server: &str) -> bool {
    let by_schema = || {
        let (schema, id) = server.split_once('/')?;
        Some(member.key.schema.as_deref() == Some(schema) && member.key.id == id)
    };
    member.key.id == server || member.exposed_id == server || by_schema() == Some(true)
}

/// Returns why a server that offers nothing does not work.
fn failed(member: &Member) -> Option<FailedServer> {
    let server = member.server.as_deref().filter(|server| server.enabled)?;
    if member.upstream.listing().is_some() {
        return None;
    }
    let message = match (&server.fault, member.upstream.status().phase) {
        (Some(fault), _) => fault.message(),
        (None, Phase::Failed(fault)) => redact(&fault.message()).into_owned(),
        (None, _) => return None,
    };
    Some(FailedServer { server: member.key.id.clone(), message })
}

fn matches(item: &CatalogItem<'_>, q: &str) -> bool {
    let q = q.to_lowercase();
    let names = [item.exposed.to_lowercase(), item.original.to_lowercase()];
    if q.contains(['*', '?']) {
        return names.iter().any(|name| has_shape(name.as_bytes(), q.as_bytes()));
    }
    let described = || {
        let description = item.raw.get("description");
        let text = description.as_ref().and_then(|text| text.to_lossy_text());
        text.is_some_and(|text| text.to_lowercase().contains(&q))
    };
    names.iter().any(|name| name.contains(&q)) || described()
}

/// Returns whether a name has the shape of a pattern: `*` is any text, `?` any one byte.
pub(crate) fn has_shape(name: &[u8], pattern: &[u8]) -> bool {
    // The place of the last star, and how much of the name it stands for: no more than that is ever tried again.
    let (mut at, mut in_pattern, mut star) = (0, 0, None);
    while at < name.len() {
        match pattern.get(in_pattern) {
            Some(b'*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[at] => (at, in_pattern) = (at + 1, in_pattern + 1),
            _ => match star {
                Some((place, from)) => {
                    (at, in_pattern) = (from + 1, place + 1);
                    star = Some((place, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_shapes_of_names() {
        let check = |name: &str, pattern: &str| has_shape(name.as_bytes(), pattern.as_bytes());
        for pattern in ["git__*", "*push*", "git__p?sh", "*", "g*t*h", "git__push*"] {
            assert!(check("git__push", pattern), "{pattern}");
        }
        for pattern in ["push", "git?push", "*pull*", "git__p?s", ""] {
            assert!(!check("git__push", pattern), "{pattern}");
        }
        let name = "a".repeat(10_000);
        assert!(!check(&name, &format!("{}b", "*a".repeat(100))), "soon");
    }
}
