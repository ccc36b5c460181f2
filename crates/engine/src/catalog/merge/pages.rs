//! The pages of tools (`ui://`), each at an address that is its server's alone.

use std::sync::Arc;

use foldhash::HashMap;
use manifold_protocol::{Kind, Raw, RawObject};

use super::{Merge, items};
use crate::catalog::{ItemRoute, Member};
use crate::policy::Decisions;
use crate::upstream::Listing;

/// The scheme of pages (MCP Apps): hosts know them by it.
const PAGE: &str = "ui://";

/// Where a tool named its page before there was a place for it.
const OLD_PAGE: &str = "ui/resourceUri";

impl Merge<'_> {
    /// Notes whose page a tool shows (MCP Apps). A second server's page of the same address gets one of its own; its
    /// scheme must stay.
    pub(super) fn page(&mut self, at: usize, tool: &mut RawObject) {
        let Some(mut meta) = tool.get("_meta").and_then(|meta| meta.object()) else { return };
        let nested = meta.get("ui").and_then(|ui| ui.object());
        let address = nested.as_ref().and_then(|ui| ui.get("resourceUri")).or_else(|| meta.get(OLD_PAGE));
        let Some(address) = address.as_ref().and_then(|uri| uri.to_text()) else { return };
        let is_permitted = if address.starts_with(PAGE) {
            self.catalog.permits_page(at, &address)
        } else {
            self.catalog.permits(at, Kind::Resources, &address)
        };
        if !is_permitted {
            return;
        }
        let route =
            ItemRoute { member: at, original: address.clone().into_owned(), decisions: Decisions::ALLOW };
        let shown = || self.catalog.pages.get(&*address).map(|page| page.member);
        let owner = self.pages.get(&*address).copied().or_else(shown);
        if owner.is_none_or(|owner| owner == at) {
            self.catalog.pages.insert(address.into_owned(), route);
            return;
        }
        let Some(exposed) = own_page(&self.view.members[at], &address) else { return };
        if let Some(mut ui) = nested.filter(|ui| ui.contains("resourceUri")) {
            ui.set("resourceUri", Raw::string(&exposed));
            meta.set("ui", ui.into_raw());
        }
        if meta.contains(OLD_PAGE) {
            meta.set(OLD_PAGE, Raw::string(&exposed));
        }
        tool.set("_meta", meta.into_raw());
        self.catalog.pages.insert(exposed, route);
    }
}

/// Returns the address of a page that another server has the same of; `None` where it is no page.
pub(super) fn own_page(member: &Member, address: &str) -> Option<String> {
    let rest = address.strip_prefix(PAGE)?;
    Some(format!("{PAGE}{}+{rest}", member.exposed_id.replace('_', "-")))
}

pub(super) fn listed_pages(listings: &[Option<Arc<Listing>>]) -> HashMap<String, usize> {
    let mut pages = HashMap::default();
    for (at, _, item) in items(listings, Kind::Resources).filter(|(_, _, item)| item.label.starts_with(PAGE))
    {
        pages.entry(item.label.clone()).or_insert(at);
    }
    pages
}
