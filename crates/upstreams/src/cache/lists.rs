//! The lists of a server as they were when it last ran, so that the next run knows them before it starts anything.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manifold_config::{EraSetting, Server};
use manifold_engine::{Item, Listing};
use manifold_protocol::{Era, Freshness, Kind, Raw, RawObject};

use super::{Cache, Change, DUAL, ListingKey, now};

/// How many sets of capabilities a server's lists are kept for.
const MAX_SETS: usize = 8;

/// What is known of a server that need not run, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub era: Option<Era>,
    /// Whether it speaks the other era as well.
    pub is_dual: bool,
    pub tools: usize,
    /// How long ago its lists were read; `None` if they never were.
    pub age: Option<Duration>,
}

/// All that is known of a server's lists, as it was read from its file.
pub(crate) struct Lists {
    known: RawObject,
    /// Which it spoke when it last ran.
    pub(crate) era: Era,
}

/// What a server offered when it was told of one set of capabilities: names and URIs, by kind.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) told: ListingKey,
    /// When it was read, in seconds of the epoch.
    pub(crate) at: u64,
    pub(crate) labels: [HashSet<String>; 4],
}

impl Lists {
    /// Returns what the server offered when it last ran and was told the same of who asks (D5).
    pub(crate) fn told(&self, server: &Server, capabilities: &Raw) -> Option<Listing> {
        let told = ListingKey::of(server, self.era, capabilities);
        read(&self.known.get(told.member())?)
    }

    /// Returns what it offered each set of capabilities but this one.
    pub(crate) fn offered(&self, but: &ListingKey) -> Vec<Offered> {
        let sets = self.known.iter().filter_map(|(name, saved)| Some((ListingKey::of_member(&name)?, saved)));
        sets.filter(|(told, _)| told != but).filter_map(|(told, saved)| offered(told, &saved)).collect()
    }
}

impl Cache {
    /// Reads what is known of a server's lists.
    pub(crate) fn lists(&self, server: &Server) -> Option<Lists> {
        let known = self.known(server)?;
        let era = last_era(server, &known);
        Some(Lists { known, era })
    }

    /// Returns what a server offered when it last ran, whomever it was told of.
    pub fn latest(&self, server: &Server) -> Option<Listing> {
        let known = self.known(server)?;
        let listings = known.iter().filter(|(name, _)| ListingKey::is_member(name));
        listings.filter_map(|(_, saved)| read(&saved)).max_by_key(|listing| listing.saved_at)
    }

    /// Remembers what a server offers those it was told of.
    pub(crate) fn note_listing_for(&self, server: &Server, told: ListingKey, listing: &Arc<Listing>) {
        self.change(server, [Change::Listing(told, Arc::clone(listing), now())]);
    }

    /// Says what is known of a server without asking it.
    pub fn saved(&self, server: &Server) -> Option<Saved> {
        let listing = self.latest(server);
        let era = self.era(server);
        if listing.is_none() && era.is_none() {
            return None;
        }
        let word = era.and_then(|_| self.known(server)?.get("era"));
        let is_dual = word.is_some_and(|word| word.to_text().as_deref() == Some(DUAL));
        let age = |listing: &Listing| SystemTime::now().duration_since(listing.saved_at?).ok();
        Some(Saved {
            era,
            is_dual,
            tools: listing.as_ref().map_or(0, |listing| listing.tools.len()),
            age: listing.as_ref().and_then(age),
        })
    }
}

/// Returns which era a server spoke when it last ran, however long ago: its list was read in that.
fn last_era(server: &Server, known: &RawObject) -> Era {
    let spoke = known.get("era").and_then(|era| Some(era.to_text()?.into_owned()));
    match (server.era, spoke.as_deref()) {
        (EraSetting::Modern, _) | (EraSetting::Auto, Some("modern" | DUAL)) => Era::Modern,
        (EraSetting::Legacy | EraSetting::Auto, _) => Era::Legacy,
    }
}

#[cfg(test)]
impl Cache {
    /// Returns what a server offered when it last ran and was told of these capabilities.
    pub(crate) fn listing_for(&self, server: &Server, capabilities: &Raw) -> Option<Listing> {
        self.lists(server)?.told(server, capabilities)
    }

    /// Returns what a server offered a client that can do nothing.
    pub(crate) fn listing(&self, server: &Server) -> Option<Listing> {
        self.listing_for(server, &Raw::from_static("{}"))
    }

    /// Remembers what a server offers a client that can do nothing.
    pub(crate) fn note_listing(&self, server: &Server, listing: &Arc<Listing>) {
        let era = last_era(server, &self.known(server).unwrap_or_default());
        self.note_listing_for(server, ListingKey::of(server, era, &Raw::from_static("{}")), listing);
    }
}

/// Forgets the oldest list where there are as many as are kept.
pub(super) fn make_room(known: &mut RawObject) {
    let at = |saved: &Raw| saved.get("at").and_then(|at| at.u64()).unwrap_or_default();
    let listings = known.iter().filter(|(name, _)| ListingKey::is_member(name));
    let mut listings: Vec<(u64, String)> =
        listings.map(|(name, saved)| (at(&saved), name.into_owned())).collect();
    listings.sort_unstable_by(|one, other| other.cmp(one));
    for (_, name) in listings.iter().skip(MAX_SETS - 1) {
        known.remove(name);
    }
}

/// Reads what a server offers.
pub(crate) fn read(saved: &Raw) -> Option<Listing> {
    let saved = saved.object()?;
    let at = saved.get("at")?.u64()?;
    let mut listing = Listing {
        instructions: saved.get("instructions").and_then(|text| Some(text.to_text()?.into_owned())),
        capabilities: saved.get("capabilities").map(|capabilities| capabilities.detached()),
        saved_at: Some(UNIX_EPOCH.checked_add(Duration::from_secs(at))?),
        freshness: [Freshness::default(); 4],
        ..Listing::default()
    };
    for kind in Kind::ALL {
        let items = saved.get(kind.member())?.elements()?;
        *listing.items_mut(kind) = items.iter().map(|raw| item(kind, raw)).collect::<Option<_>>()?;
    }
    Some(listing)
}

/// Writes what a server offers as [`read`] reads it.
pub(crate) fn write(out: &mut dyn Write, listing: &Listing, at: u64) -> io::Result<()> {
    write!(out, "{{\"at\":{at}")?;
    if let Some(instructions) = &listing.instructions {
        write!(out, ",\"instructions\":{}", Raw::string(instructions).as_str())?;
    }
    if let Some(capabilities) = &listing.capabilities {
        write!(out, ",\"capabilities\":{}", capabilities.as_str())?;
    }
    for kind in Kind::ALL {
        write!(out, ",\"{}\":[", kind.member())?;
        for (at, item) in listing.items(kind).iter().enumerate() {
            out.write_all(if at == 0 { b"" } else { b"," })?;
            out.write_all(item.raw.as_bytes())?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"}")
}

fn item(kind: Kind, raw: &Raw) -> Option<Item> {
    Some(Item { label: label(kind, raw)?, raw: raw.detached() })
}

fn label(kind: Kind, raw: &Raw) -> Option<String> {
    Some(raw.get(kind.label())?.to_text()?.into_owned())
}

fn offered(told: ListingKey, saved: &Raw) -> Option<Offered> {
    let saved = saved.object()?;
    let at = saved.get("at")?.u64()?;
    let mut labels = [const { None }; 4];
    for kind in Kind::ALL {
        let items = saved.get(kind.member())?.elements()?;
        labels[kind as usize] = items.iter().map(|raw| label(kind, raw)).collect::<Option<HashSet<_>>>();
    }
    let [Some(tools), Some(resources), Some(templates), Some(prompts)] = labels else { return None };
    Some(Offered { told, at, labels: [tools, resources, templates, prompts] })
}
