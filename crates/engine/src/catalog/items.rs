//! The items of a catalog one by one, with whose they are.

use manifold_config::Server;
use manifold_protocol::{Kind, Raw};

use super::{Catalog, Member, readings};
use crate::policy::{self, Decision, PolicyClass};
use crate::principal::Principal;

/// One item as clients see it.
pub(crate) struct CatalogItem<'c> {
    pub(crate) exposed: String,
    pub(crate) member: usize,
    /// The server's own name or URI for it.
    pub(crate) original: &'c str,
    pub(crate) raw: Raw,
}

impl Catalog {
    /// Returns the items of a list that are there for whoever asks, in its order.
    pub(crate) fn items<'c>(
        &'c self,
        kind: Kind,
        who: &Principal,
    ) -> impl Iterator<Item = CatalogItem<'c>> + use<'c> {
        self.originals(kind, who).filter_map(move |(member, original, raw)| {
            let exposed = raw.get(kind.label())?.to_lossy_text()?.into_owned();
            Some(CatalogItem { exposed, member, original, raw })
        })
    }

    /// Returns the one item that clients know by a name. No other is read: the way that calls take leads to it.
    pub(crate) fn item_named(&self, kind: Kind, name: &str, who: &Principal) -> Option<CatalogItem<'_>> {
        let (owner, own) = match kind {
            Kind::Tools => {
                let route = self.tools.get(name)?;
                (route.member, route.original.to_text()?.into_owned())
            }
            Kind::Prompts => self.prompts.get(name).map(|route| (route.member, route.original.clone()))?,
            Kind::Resources => {
                self.resources.get(name).map(|route| (route.member, route.original.clone()))?
            }
            Kind::Templates => return self.items(kind, who).find(|item| item.exposed == name),
        };
        let found = self.originals(kind, who).find(|(member, label, _)| *member == owner && *label == own);
        let (member, original, raw) = found?;
        Some(CatalogItem { exposed: name.to_owned(), member, original, raw })
    }

    /// Returns whose the items of a list are that are there for whoever asks, what these call them, and the items.
    fn originals<'c>(
        &'c self,
        kind: Kind,
        who: &Principal,
    ) -> impl Iterator<Item = (usize, &'c str, Raw)> + use<'c> {
        let class = PolicyClass::of(who);
        let list = &self.lists[kind as usize];
        let shown = list.items().filter(move |(_, origin)| origin.decisions.of(class) != Decision::Hide);
        shown.filter_map(move |(raw, origin)| {
            let listing = self.listings[origin.member].as_ref()?;
            Some((origin.member, listing.items(kind).get(origin.index)?.label.as_str(), raw))
        })
    }

    /// Returns every way to read a name as an operator may write it: a server by either of its ids, any separator or a
    /// slash, and what the server calls it.
    pub(crate) fn read_as_operator<'n>(&self, name: &'n str) -> Vec<(usize, &'n str)> {
        // Also the one that has the manager tools.
        let servers = || self.view.members.iter().enumerate();
        let ids =
            servers().flat_map(|(at, member)| [(at, member.exposed_id.clone()), (at, member.key.id.clone())]);
        let mut found = readings(name, &self.view.naming.separator, ids);
        for (at, member) in servers() {
            let after = |id: &str| name.strip_prefix(id)?.strip_prefix('/').filter(|rest| !rest.is_empty());
            let by_schema = || {
                let schema = member.key.schema.as_deref()?;
                name.strip_prefix(schema)?
                    .strip_prefix('/')?
                    .strip_prefix(member.key.id.as_str())?
                    .strip_prefix('/')
            };
            found.extend(
                after(&member.exposed_id)
                    .or_else(|| after(&member.key.id))
                    .or_else(by_schema)
                    .map(|rest| (at, rest)),
            );
        }
        let mut unique = Vec::with_capacity(found.len());
        for reading in found {
            if !unique.contains(&reading) {
                unique.push(reading);
            }
        }
        unique
    }

    /// Returns why a member's item may not be used, by its own name or URI.
    pub(crate) fn why_denied(
        &self,
        namespace: Option<&str>,
        member: usize,
        kind: Kind,
        label: &str,
    ) -> Option<String> {
        let server = self.member(member).server.as_deref()?;
        disabled(server).or_else(|| policy::reason(&self.view.permissions, namespace, server, kind, label))
    }

    /// Returns whether a member has an item, by its own name or URI, as far as that is known.
    pub(crate) fn may_have(&self, member: usize, kind: Kind, label: &str) -> bool {
        let listing = self.listings[member].as_ref();
        listing.is_none_or(|listing| listing.items(kind).iter().any(|item| item.label == label))
    }

    /// Returns the names of a member's items that `name` may mean and that are not shown, by the member's own words.
    pub(crate) fn hidden_by_name(&self, member: usize, kind: Kind, name: &str) -> Vec<&str> {
        let Some(listing) = &self.listings[member] else { return Vec::new() };
        let Member { exposed_id, key, .. } = self.member(member);
        let is_meant = |label: &str| {
            label == name
                || (matches!(kind, Kind::Tools | Kind::Prompts)
                    && self.view.naming.expose(exposed_id, &key.id, label) == name)
        };
        let labels = listing.items(kind).iter().map(|item| item.label.as_str());
        labels.filter(|label| is_meant(label) && !self.permits(member, kind, label)).collect()
    }
}

fn disabled(server: &Server) -> Option<String> {
    (!server.enabled).then(|| format!("server '{}' is disabled in the config (`enabled`)", server.key.id))
}
