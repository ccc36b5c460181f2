//! The tools, as the clients of a namespace see them.

use manifold_admin::{FailedServer, ListedItem};
use serde_json::value::RawValue;

/// The list and how current it is.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) items: Vec<Tool>,
    pub(crate) starting: Vec<String>,
    pub(crate) failed: Vec<FailedServer>,
    pub(crate) load: Load,
    /// Something has changed since it was read.
    pub(crate) is_stale: bool,
}

/// How far a list is that was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Load {
    #[default]
    NotAsked,
    Asked,
    There,
    Failed(String),
}

#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) listed: ListedItem,
    /// What a filter is looked for in.
    haystack: String,
}

/// What is read anew.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) items: Vec<ListedItem>,
    pub(crate) starting: Vec<String>,
    pub(crate) failed: Vec<FailedServer>,
}

impl Tools {
    pub(crate) fn take(&mut self, listing: Listing) {
        self.items = listing.items.into_iter().map(Tool::new).collect();
        (self.starting, self.failed) = (listing.starting, listing.failed);
        // One that still starts will say when it is there.
        (self.load, self.is_stale) = (Load::There, false);
    }

    /// Takes over the definition of one.
    pub(crate) fn define(&mut self, name: &str, item: Box<RawValue>) {
        if let Some(tool) = self.items.iter_mut().find(|tool| tool.listed.name == name) {
            tool.listed.item = Some(item);
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.items.iter().find(|tool| tool.listed.name == name)
    }

    /// Returns those of one server, the longest first.
    pub(crate) fn of(&self, server: &str) -> Vec<&Tool> {
        let mut tools: Vec<&Tool> = self.items.iter().filter(|tool| tool.listed.server == server).collect();
        tools.sort_by(|a, b| b.listed.bytes.cmp(&a.listed.bytes).then(a.listed.name.cmp(&b.listed.name)));
        tools
    }
}

impl Tool {
    fn new(listed: ListedItem) -> Self {
        let haystack = format!(
            "{} {} {}",
            listed.name,
            listed.server,
            listed.description.as_deref().unwrap_or_default()
        );
        Self { listed, haystack: haystack.to_lowercase() }
    }

    /// Returns whether a filter, in small letters, is in it.
    pub(crate) fn has(&self, filter: &str) -> bool {
        self.haystack.contains(filter)
    }
}
