//! A catalog as clients see it of whom more is known: the same lists, less what is not for them. A view is rendered when
//! it is first asked for and kept for as long as its catalog is the present one.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use manifold_protocol::{Freshness, Kind, List, Raw, RawArray, Scope};

use super::Catalog;
use crate::upstream::{Missing, Withheld};

/// How many kinds of clients views are kept for; one more, and all are rendered anew.
const MAX_VIEWS: usize = 16;
/// What a client says it can do is kept with its view up to this length.
const MAX_KEY_BYTES: usize = 1 << 10;

/// The views of one catalog.
#[derive(Default)]
pub(super) struct Views {
    /// The members that withhold anything from anybody, looked up with the first list.
    withheld: OnceLock<Vec<(usize, Arc<dyn Withheld>)>>,
    /// By what clients say they can do, byte for byte.
    kept: Mutex<Vec<(Raw, Arc<ClientView>)>>,
}

/// What some clients see.
struct ClientView {
    /// What is left out, by member.
    hidden: Vec<(usize, Arc<Missing>)>,
    lists: [OnceLock<Arc<List>>; 4],
}

impl Catalog {
    /// Returns a list as a client with these capabilities sees it; `told` are those that servers would be told of.
    pub(crate) fn list_for(&self, kind: Kind, capabilities: &Raw, told: impl FnOnce() -> Raw) -> Arc<List> {
        let withheld = self.views.withheld.get_or_init(|| self.withheld());
        if withheld.is_empty() {
            return Arc::clone(self.list(kind));
        }
        let view = self.views.get(withheld, capabilities, told);
        Arc::clone(view.lists[kind as usize].get_or_init(|| self.without(kind, &view.hidden)))
    }

    fn withheld(&self) -> Vec<(usize, Arc<dyn Withheld>)> {
        let members = self.view.members.iter().enumerate();
        members.filter_map(|(at, member)| Some((at, member.upstream.withheld()?))).collect()
    }

    /// Renders a list without what is hidden: items keep their bytes and their order.
    fn without(&self, kind: Kind, hidden: &[(usize, Arc<Missing>)]) -> Arc<List> {
        let whole = self.list(kind);
        let is_hidden = |item: &Raw| {
            let label = item.get(kind.label());
            let owner = label.as_ref().and_then(|label| self.owner(kind, &label.to_text()?));
            owner.is_some_and(|(member, original)| {
                hidden
                    .iter()
                    .any(|(at, missing)| *at == member && missing[kind as usize].contains(original.as_ref()))
            })
        };
        if hidden.iter().all(|(_, missing)| missing[kind as usize].is_empty()) {
            return Arc::clone(whole);
        }
        let less = |items: &Raw| {
            let mut left = RawArray::new();
            left.reserve(items.as_bytes().len());
            let items = items.elements().unwrap_or_default();
            items.iter().filter(|item| !is_hidden(item)).for_each(|item| left.push(item));
            left.into_raw()
        };
        let items = less(&whole.items);
        let is_one = whole.items.as_bytes().as_ptr() == whole.strict_items.as_bytes().as_ptr();
        Arc::new(List {
            kind,
            strict_items: if is_one { items.clone() } else { less(&whole.strict_items) },
            items,
            // Nobody may keep it for somebody else, who may see more.
            freshness: Freshness { scope: Scope::Private, ..whole.freshness },
        })
    }

    /// Returns whose an item is, and what its owner calls it.
    fn owner(&self, kind: Kind, exposed: &str) -> Option<(usize, Cow<'_, str>)> {
        let route = match kind {
            Kind::Tools => {
                let route = self.tools.get(exposed)?;
                return Some((route.member, route.original.to_text()?));
            }
            Kind::Prompts => self.prompts.get(exposed)?,
            Kind::Resources => self.resources.get(exposed)?,
            Kind::Templates => &self.templates.iter().find(|one| one.exposed == exposed)?.route,
        };
        Some((route.member, route.original.as_str().into()))
    }
}

impl Views {
    /// Returns the view of a client with these capabilities. Those that are shown the same share one.
    fn get(
        &self,
        withheld: &[(usize, Arc<dyn Withheld>)],
        capabilities: &Raw,
        told: impl FnOnce() -> Raw,
    ) -> Arc<ClientView> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, view)) = kept.iter().find(|(key, _)| key == capabilities) {
            return Arc::clone(view);
        }
        let told = told();
        let hidden = withheld.iter().filter_map(|(at, withheld)| Some((*at, withheld.withheld_from(&told)?)));
        let hidden: Vec<(usize, Arc<Missing>)> = hidden.collect();
        let same = kept.iter().find(|(_, view)| view.hidden == hidden);
        let view = match same {
            Some((_, view)) => Arc::clone(view),
            None => Arc::new(ClientView { hidden, lists: Default::default() }),
        };
        if capabilities.as_bytes().len() <= MAX_KEY_BYTES {
            if kept.len() >= MAX_VIEWS {
                kept.clear();
            }
            kept.push((capabilities.detached(), Arc::clone(&view)));
        }
        view
    }
}

#[cfg(test)]
mod tests;
