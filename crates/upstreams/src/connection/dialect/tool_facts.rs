//! What a server's list of tools says that matters to their calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use manifold_engine::Item;
use manifold_protocol::Era;
use manifold_protocol::dialect::modern::headers::{self, Mirror};
use tokio::sync::Notify;
use tracing::warn;

use crate::connection::Connection;

/// What of a server's tools matters to their calls, where anything does.
#[derive(Default)]
pub(in crate::connection) struct KnownTools {
    pub(super) facts: ArcSwapOption<ToolFacts>,
    learnt: Notify,
}

#[derive(Default)]
pub(crate) struct ToolFacts {
    /// Arguments that are said in headers too, by tool.
    mirrors: HashMap<String, Vec<Mirror>>,
    /// Tools of a server with sessions that only run as tasks.
    pub(super) tasked: HashSet<String>,
}

impl ToolFacts {
    pub(crate) fn mirrors(&self, tool: &str) -> &[Mirror] {
        self.mirrors.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Connection {
    /// Learns from the tools just listed; those that cannot be called are left out.
    pub(crate) fn learn(&self, tools: &mut Vec<Item>) {
        let mut known = ToolFacts::default();
        if self.dialect().has_headers() {
            tools.retain(|tool| match tool.raw.get("inputSchema").map(|schema| headers::mirrors(&schema)) {
                None => true,
                Some(Ok(mirrors)) => {
                    if !mirrors.is_empty() {
                        known.mirrors.insert(tool.label.clone(), mirrors);
                    }
                    true
                }
                Some(Err(why)) => {
                    warn!(server = self.id(), tool = %tool.label, "the tool is left out: {why}");
                    false
                }
            });
        } else if self.dialect().era() == Era::Legacy {
            let required = |tool: &&Item| {
                tool.raw
                    .path(&["execution", "taskSupport"])
                    .is_some_and(|support| support.to_text().as_deref() == Some("required"))
            };
            known.tasked = tools.iter().filter(required).map(|tool| tool.label.clone()).collect();
            if known.tasked.is_empty() {
                return self.lists.tools.facts.store(None);
            }
        }
        self.lists.tools.facts.store(Some(Arc::new(known)));
        self.lists.tools.learnt.notify_waiters();
    }

    /// Returns what is known of the tools if they have been listed.
    pub(crate) fn known_now(&self) -> Option<Arc<ToolFacts>> {
        self.lists.tools.facts.load_full()
    }

    /// Returns what is known of the tools once they have been listed.
    pub(crate) async fn known(&self) -> Arc<ToolFacts> {
        loop {
            let learnt = self.lists.tools.learnt.notified();
            if let Some(known) = self.known_now() {
                return known;
            }
            learnt.await;
        }
    }
}
