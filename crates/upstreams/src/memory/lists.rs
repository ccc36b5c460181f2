//! The lists of a server as they were when it last ran, so that the next run knows them before it starts anything.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manifold_config::Server;
use manifold_engine::{Item, Listing};
use manifold_protocol::{Era, Freshness, Kind, Raw, RawObject};

use super::{Memory, now};

/// What is known of a server that need not run, for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub era: Option<Era>,
    pub tools: usize,
    /// How long ago its lists were read; `None` if they never were.
    pub age: Option<Duration>,
}

impl Memory {
    /// Returns what a server offered when it last ran.
    pub(crate) fn listing(&self, server: &Server) -> Option<Listing> {
        let saved = self.known(server)?.get("listing")?.object()?;
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

    /// Remembers what a server offers.
    pub(crate) fn note_listing(&self, server: &Server, listing: &Arc<Listing>) {
        let (listing, at) = (Arc::clone(listing), now());
        self.change(server, move |known| known.set("listing", encode(&listing, at)));
    }

    /// Says what is known of a server without asking it.
    pub fn saved(&self, server: &Server) -> Option<Saved> {
        let listing = self.listing(server);
        let era = self.era(server);
        if listing.is_none() && era.is_none() {
            return None;
        }
        let age = |listing: &Listing| SystemTime::now().duration_since(listing.saved_at?).ok();
        Some(Saved {
            era,
            tools: listing.as_ref().map_or(0, |listing| listing.tools.len()),
            age: listing.as_ref().and_then(age),
        })
    }
}

fn encode(listing: &Listing, at: u64) -> Raw {
    let mut saved = RawObject::default();
    saved.set("at", Raw::number(at));
    if let Some(instructions) = &listing.instructions {
        saved.set("instructions", Raw::string(instructions));
    }
    if let Some(capabilities) = &listing.capabilities {
        saved.set("capabilities", capabilities.clone());
    }
    for kind in Kind::ALL {
        let items: Vec<Raw> = listing.items(kind).iter().map(|item| item.raw.clone()).collect();
        saved.set(kind.member(), Raw::array(&items));
    }
    saved.into_raw()
}

fn item(kind: Kind, raw: &Raw) -> Option<Item> {
    let label = raw.get(kind.label())?.to_text()?.into_owned();
    Some(Item { label, raw: raw.detached() })
}
