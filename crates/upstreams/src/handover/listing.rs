//! What a server offers, on its way to the next program: its lists need not be read again.

use manifold_engine::Listing;
use manifold_protocol::{Freshness, Raw, Scope};
use serde::{Deserialize, Serialize};

use super::encoding::Json;
use crate::cache;

/// For how long a list holds, and for whom.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SavedFreshness {
    ttl_ms: u64,
    is_public: bool,
}

/// Writes down what was read of the server itself; nothing where it was not.
pub(crate) fn write_listing(listing: &Listing) -> Option<(Json, Vec<SavedFreshness>)> {
    if listing.is_saved() {
        return None;
    }
    let mut text = Vec::new();
    cache::write_listing(&mut text, listing, 0).ok()?;
    let freshness = listing
        .freshness
        .iter()
        .map(|one| SavedFreshness { ttl_ms: one.ttl_ms, is_public: one.scope == Scope::Public });
    Some((Json(Raw::parse(text).ok()?), freshness.collect()))
}

pub(crate) fn read_listing(saved: &Json, freshness: &[SavedFreshness]) -> Option<Listing> {
    let mut listing = cache::read_listing(&saved.0)?;
    for (known, saved) in listing.freshness.iter_mut().zip(freshness) {
        let scope = if saved.is_public { Scope::Public } else { Scope::Private };
        *known = Freshness { ttl_ms: saved.ttl_ms, scope };
    }
    // It was read while the server ran as it does now.
    Some(Listing { saved_at: None, ..listing })
}
