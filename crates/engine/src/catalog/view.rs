//! A catalog as some clients see it: the same items, less what is not for them. A view is rendered from the items when
//! it is first asked for and kept for as long as its catalog is the present one.

use std::sync::{Arc, Mutex, OnceLock};

use manifold_protocol::{Freshness, Kind, List, Raw, Scope};

use super::Catalog;
use super::rendered_list::Origin;
use crate::policy::{Decision, PolicyClass};
use crate::principal::Grants;
use crate::sync::Lock as _;
use crate::upstream::{Missing, Withheld};

/// How many kinds of clients views are kept for; one more, and all are rendered anew.
const MAX_VIEWS: usize = 16;
/// What a client says it can do is kept with its view up to this length.
const MAX_KEY_BYTES: usize = 1 << 10;

/// What a view depends on: who asks, and what is known of the client it asks with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewKey<'k> {
    pub(crate) class: PolicyClass,
    /// What whoever asks was granted, and in which namespace, where that is not everything.
    pub(crate) grants: Option<(&'k Arc<Grants>, Option<&'k str>)>,
    /// What the client says it can do; `None` where nothing is known of it.
    pub(crate) capabilities: Option<&'k Raw>,
    pub(crate) profile: ClientProfile,
}

/// What a client's program needs to see differently. None needs anything so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClientProfile {
    #[default]
    Plain,
}

/// The views of one catalog.
#[derive(Default)]
pub(super) struct Views {
    /// The members that withhold anything from anybody, looked up with the first list.
    withheld: OnceLock<Vec<(usize, Arc<dyn Withheld>)>>,
    /// By what clients say they can do, byte for byte.
    kept: Mutex<Vec<(KeptKey, Arc<ClientView>)>>,
}

#[derive(PartialEq, Eq)]
struct KeptKey {
    class: PolicyClass,
    grants: Option<Arc<Grants>>,
    capabilities: Option<Raw>,
    profile: ClientProfile,
}

/// What some clients see.
struct ClientView {
    class: PolicyClass,
    grants: Option<(Arc<Grants>, Option<String>)>,
    profile: ClientProfile,
    /// What servers withhold, by member.
    hidden: Vec<(usize, Arc<Missing>)>,
    lists: [OnceLock<Arc<List>>; 4],
}

impl Catalog {
    /// Returns a list as some clients see it; `told` are the capabilities that servers would be told of.
    pub(crate) fn list_for(&self, kind: Kind, key: ViewKey<'_>, told: impl FnOnce(&Raw) -> Raw) -> Arc<List> {
        let withheld: &[_] = match key.capabilities {
            Some(_) => self.views.withheld.get_or_init(|| self.withheld()),
            None => &[],
        };
        let sees_all = withheld.is_empty() && !self.hidden_from.has(key.class);
        if sees_all && key.grants.is_none() && key.profile == ClientProfile::Plain {
            return Arc::clone(self.list(kind));
        }
        let view = self.views.get(withheld, key, told);
        Arc::clone(view.lists[kind as usize].get_or_init(|| self.render(kind, &view)))
    }

    fn withheld(&self) -> Vec<(usize, Arc<dyn Withheld>)> {
        let members = self.view.members.iter().enumerate();
        members.filter_map(|(at, member)| Some((at, member.upstream.withheld()?))).collect()
    }

    fn render(&self, kind: Kind, view: &ClientView) -> Arc<List> {
        let list = &self.lists[kind as usize];
        let granted = view.grants.as_ref().map(|granted| self.granted(kind, granted));
        let shown = list.only(|at, origin| {
            let is_hidden = origin.decisions.of(view.class) == Decision::Hide;
            !is_hidden
                && granted.as_ref().is_none_or(|granted| granted.get(at).is_some_and(|shown| *shown))
                && !view.hidden.iter().any(|(at, missing)| self.is_among(kind, origin, *at, missing))
        });
        match granted {
            // Nobody may keep it for somebody else, who may see less.
            Some(_) if shown.freshness.scope != Scope::Private => {
                let freshness = Freshness { scope: Scope::Private, ..shown.freshness };
                let (items, strict_items) = (shown.items.clone(), shown.strict_items.clone());
                Arc::new(List { kind, items, strict_items, freshness })
            }
            _ => shown,
        }
    }

    /// Returns of each item of a list, in its order, whether it is shown to who was granted this.
    fn granted(&self, kind: Kind, (grants, namespace): &(Arc<Grants>, Option<String>)) -> Vec<bool> {
        let items = self.list(kind).items.elements().unwrap_or_default();
        let is_shown = |item: &Raw| {
            let label = item.get(kind.label());
            let label = label.as_ref().and_then(|label| label.to_text());
            label.is_some_and(|label| grants.shows(namespace.as_deref(), kind, &label))
        };
        items.iter().map(is_shown).collect()
    }

    /// Returns whether an item is among those that a member withholds, by its own name for it.
    fn is_among(&self, kind: Kind, origin: &Origin, member: usize, missing: &Missing) -> bool {
        let missing = &missing[kind as usize];
        let label = || Some(&self.listings[member].as_ref()?.items(kind).get(origin.index)?.label);
        origin.member == member && !missing.is_empty() && label().is_some_and(|label| missing.contains(label))
    }
}

impl Views {
    /// Returns the view of such clients. Those that are shown the same share one.
    fn get(
        &self,
        withheld: &[(usize, Arc<dyn Withheld>)],
        key: ViewKey<'_>,
        told: impl FnOnce(&Raw) -> Raw,
    ) -> Arc<ClientView> {
        if let Some((_, view)) = self.kept.locked().iter().find(|(known, _)| known.is(key)) {
            return Arc::clone(view);
        }
        // With no lock held: servers have locks of their own. Whoever else asks meanwhile does the same work.
        let told = key.capabilities.map(told);
        let hidden = withheld.iter().filter_map(|(at, one)| Some((*at, one.withheld_from(told.as_ref()?)?)));
        let hidden: Vec<(usize, Arc<Missing>)> = hidden.collect();
        let mut kept = self.kept.locked();
        let same = kept.iter().map(|(_, view)| view);
        let grants_of = |view: &ClientView| view.grants.as_ref().map(|(grants, _)| Arc::clone(grants));
        let grants = key.grants.map(|(grants, _)| grants);
        let mut same = same.filter(|view| {
            (view.class, view.profile, &view.hidden) == (key.class, key.profile, &hidden)
                && grants_of(view).as_ref() == grants
        });
        let view = same.next().map(Arc::clone).unwrap_or_else(|| {
            let ViewKey { class, profile, .. } = key;
            let grants =
                key.grants.map(|(grants, namespace)| (Arc::clone(grants), namespace.map(str::to_owned)));
            Arc::new(ClientView { class, grants, profile, hidden, lists: Default::default() })
        });
        let is_short = key.capabilities.is_none_or(|all| all.as_bytes().len() <= MAX_KEY_BYTES);
        if is_short && !kept.iter().any(|(known, _)| known.is(key)) {
            if kept.len() >= MAX_VIEWS {
                kept.clear();
            }
            kept.push((KeptKey::of(key), Arc::clone(&view)));
        }
        view
    }
}

impl KeptKey {
    fn of(ViewKey { class, grants, capabilities, profile }: ViewKey<'_>) -> Self {
        let grants = grants.map(|(grants, _)| Arc::clone(grants));
        Self { class, grants, capabilities: capabilities.map(Raw::detached), profile }
    }

    fn is(&self, key: ViewKey<'_>) -> bool {
        (self.class, self.profile) == (key.class, key.profile)
            && self.grants.as_ref() == key.grants.map(|(grants, _)| grants)
            && self.capabilities.as_ref() == key.capabilities
    }
}

#[cfg(test)]
mod tests;
