//! What of a server's listing is not for every client that shares the server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use manifold_config::Server;
use manifold_engine::{Listing, Missing, Withheld};
use manifold_protocol::{Era, Kind, Raw};

use super::lists::{Lists, Offered};
use super::{ListingKey, TRUSTED_FOR};

/// What a server offered to clients that can do something else than it is told of all that share it.
///
/// A tool (or prompt, resource, template) that is listed for all is left out for a client if the same server was told of
/// the client's own set of capabilities in the same era, by whatever run, and did not offer it then (D5). In doubt it is
/// shown: that reading must be no more than a day older than the one for all, and the tool must not have joined the
/// latter since.
#[derive(Default)]
pub(crate) struct Others {
    /// The listing for all, in whatever run it was read.
    of_all: Option<OfAll>,
    /// What others were offered; `None` until the file is read again.
    offered: Option<Vec<Offered>>,
}

struct OfAll {
    told: ListingKey,
    era: Era,
    listing: Arc<Listing>,
    /// In seconds of the epoch.
    at: u64,
    /// What an earlier reading did not have, and since when it is there.
    joined: [HashMap<String, u64>; 4],
}

impl Others {
    /// Takes over what the server's file says. What was read in this run counts more.
    pub(crate) fn recall(
        &mut self,
        told: ListingKey,
        era: Era,
        lists: Option<&Lists>,
        listing: Option<&Arc<Listing>>,
    ) {
        self.offered = Some(lists.map(|lists| lists.offered(&told)).unwrap_or_default());
        if self.of_all.as_ref().is_some_and(|of_all| !of_all.listing.is_saved()) {
            return;
        }
        let read = |listing: &Arc<Listing>| {
            let at = listing.saved_at?.duration_since(UNIX_EPOCH).ok()?.as_secs();
            Some(OfAll { told, era, listing: Arc::clone(listing), at, joined: Default::default() })
        };
        self.of_all = listing.and_then(read);
    }

    /// Takes note of what the server was found to offer all.
    pub(crate) fn read(&mut self, told: &ListingKey, era: Era, listing: &Arc<Listing>, at: u64) {
        let before = self.of_all.take().filter(|before| before.told == *told);
        if before.as_ref().is_some_and(|before| !before.listing.is_saved()) {
            // Some time has passed: other runs may have learnt more.
            self.forget();
        }
        let joined = before.map(|before| before.joined_by(listing, at)).unwrap_or_default();
        self.of_all = Some(OfAll { told: told.clone(), era, listing: Arc::clone(listing), at, joined });
    }

    pub(crate) fn forget(&mut self) {
        self.offered = None;
    }

    /// Reads again what was forgotten.
    pub(crate) fn remember(&mut self, lists: impl FnOnce() -> Option<Lists>) {
        if let (None, Some(of_all)) = (&self.offered, &self.of_all) {
            self.offered = Some(lists().map(|lists| lists.offered(&of_all.told)).unwrap_or_default());
        }
    }

    /// Returns what is not for some; `None` where all is for all.
    pub(crate) fn withheld(&self, server: &Arc<Server>, now: u64) -> Option<NotForAll> {
        let of_all = self.of_all.as_ref()?;
        let others = self.offered.as_ref()?.iter().filter(|offered| of_all.is_like(offered, now));
        let missing = others.map(|offered| (offered.told.clone(), Arc::new(of_all.missing(offered))));
        let sets: Vec<_> =
            missing.filter(|(_, missing)| missing.iter().any(|labels| !labels.is_empty())).collect();
        (!sets.is_empty()).then(|| NotForAll { server: Arc::clone(server), era: of_all.era, sets })
    }
}

impl OfAll {
    /// Returns whether both were read in one era and at about the same time, for others.
    fn is_like(&self, offered: &Offered, now: u64) -> bool {
        offered.told != self.told
            && offered.told.is_of(self.era)
            && self.at.saturating_sub(offered.at) <= TRUSTED_FOR.as_secs()
            // A date in the future is no date (F33).
            && offered.at <= now
    }

    fn missing(&self, offered: &Offered) -> Missing {
        Kind::ALL.map(|kind| {
            let (known, joined) = (&offered.labels[kind as usize], &self.joined[kind as usize]);
            let was_there = |label: &str| joined.get(label).is_none_or(|since| *since < offered.at);
            let labels = self.listing.items(kind).iter().map(|item| &item.label);
            labels.filter(|label| !known.contains(*label) && was_there(label)).cloned().collect()
        })
    }

    /// Returns what of a later reading is not in this one, and since when.
    fn joined_by(mut self, listing: &Listing, at: u64) -> [HashMap<String, u64>; 4] {
        Kind::ALL.map(|kind| {
            let mut joined = std::mem::take(&mut self.joined[kind as usize]);
            let labels: HashSet<&str> =
                self.listing.items(kind).iter().map(|item| item.label.as_str()).collect();
            let now = listing.items(kind).iter().map(|item| &item.label);
            let since = now.filter_map(|label| match labels.contains(label.as_str()) {
                true => joined.remove_entry(label),
                false => Some((label.clone(), at)),
            });
            since.collect()
        })
    }
}

/// What is not for clients of which the server was told otherwise.
pub(crate) struct NotForAll {
    server: Arc<Server>,
    era: Era,
    sets: Vec<(ListingKey, Arc<Missing>)>,
}

impl Withheld for NotForAll {
    fn withheld_from(&self, capabilities: &Raw) -> Option<Arc<Missing>> {
        let told = ListingKey::of(&self.server, self.era, capabilities);
        self.sets.iter().find(|(set, _)| *set == told).map(|(_, missing)| Arc::clone(missing))
    }
}

#[cfg(test)]
mod tests;
