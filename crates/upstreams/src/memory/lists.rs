//! The lists of a server as they were when it last ran, so that the next run knows them before it starts anything.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manifold_config::Server;
use manifold_engine::{Item, Listing};
use manifold_protocol::{Era, Freshness, Kind, Raw};

use super::{Change, DUAL, Memory, now};

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
        self.change(server, [Change::Listing(Arc::clone(listing), now())]);
    }

    /// Says what is known of a server without asking it.
    pub fn saved(&self, server: &Server) -> Option<Saved> {
        let listing = self.listing(server);
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

/// Writes what a server offers as [`Memory::listing`] reads it.
pub(super) fn write(out: &mut dyn Write, listing: &Listing, at: u64) -> io::Result<()> {
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
    let label = raw.get(kind.label())?.to_text()?.into_owned();
    Some(Item { label, raw: raw.detached() })
}
