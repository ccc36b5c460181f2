//! Finding one tool and what it takes, for front ends that must know before they can call it.

use std::sync::Arc;

use manifold_protocol::{Fault, Kind, List, Raw};

use super::Gateway;
use crate::catalog::{Catalog, ToolRoute};
use crate::principal::Principal;
use crate::router::{self, Found};
use crate::upstream::BoxFuture;

/// A tool that a server offers now.
pub struct KnownTool {
    pub exposed_name: String,
    /// What its arguments look like; `{}` where its server says nothing of them.
    pub input_schema: Raw,
    list: Arc<List>,
}

impl KnownTool {
    fn of(catalog: &Catalog, route: &ToolRoute) -> Self {
        let input_schema = route.input_schema.clone().unwrap_or_else(|| Raw::from_static("{}"));
        let list = Arc::clone(catalog.list(Kind::Tools));
        Self { exposed_name: catalog.exposed_tool(route).to_owned(), input_schema, list }
    }

    /// Returns the tool as clients see it in the list.
    pub fn definition(&self) -> Option<Raw> {
        let name = Raw::string(&self.exposed_name);
        self.list.items.elements()?.into_iter().find(|tool| tool.get("name").as_ref() == Some(&name))
    }
}

impl Gateway {
    /// Finds a tool by any name that a call may use. Servers are asked only where their lists are not known and the
    /// name may be theirs.
    pub fn look_up(self: &Arc<Self>, name: &str, who: &Principal) -> BoxFuture<Result<KnownTool, Fault>> {
        let (gateway, name, who) = (Arc::clone(self), name.to_owned(), who.clone());
        Box::pin(async move {
            if let Some(found) = gateway.find_known(&name, &who, false)? {
                return Ok(found);
            }
            gateway.ask_for(&name, &who).await;
            match gateway.find_known(&name, &who, true)? {
                Some(found) => Ok(found),
                None => Err(Fault::UnknownTool(name)),
            }
        })
    }

    /// Returns a tool as far as lists are known; `None` if servers are to be asked first.
    fn find_known(&self, name: &str, who: &Principal, asked: bool) -> Result<Option<KnownTool>, Fault> {
        let catalog = self.catalog.load();
        match router::find_tool(&catalog, who, name, asked) {
            Ok(Found::Tool(route)) => Ok(Some(KnownTool::of(&catalog, route))),
            Ok(Found::Unlisted { member, .. }) if asked => Err(router::why_unlisted(catalog.member(member))),
            Ok(Found::Unlisted { .. } | Found::AskFirst(_) | Found::AskAll) => Ok(None),
            Err(_) if !asked && self.catch_up(&catalog) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn ask_for(&self, name: &str, who: &Principal) {
        let members = {
            let catalog = self.catalog.load();
            match router::find_tool(&catalog, who, name, false) {
                Ok(Found::Unlisted { member, .. }) => vec![member],
                Ok(Found::AskFirst(members)) => members,
                Ok(Found::AskAll) => Vec::new(),
                Ok(Found::Tool(_)) | Err(_) => return,
            }
            .into_iter()
            .map(|at| Arc::clone(&catalog.member(at).upstream))
            .collect::<Vec<_>>()
        };
        if members.is_empty() {
            self.discovery.discover(self.undiscovered(), self.fleet.tasks()).await;
        }
        for upstream in members {
            upstream.discover().await;
        }
        self.catch_up(&self.catalog.load());
    }
}
