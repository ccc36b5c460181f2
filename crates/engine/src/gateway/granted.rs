//! What a credential grants, held against a call. A list that a client was shown is no promise: each call is judged.

use std::sync::Arc;

use manifold_protocol::{Call, Fault, Method, Raw};

use super::Gateway;
use crate::catalog::Catalog;
use crate::principal::{Access, Grants, Requester, Wish};
use crate::router::{self, Found};

impl Gateway {
    /// Returns the scopes that a call needs where its requester lacks one, as far as that can be told without asking any
    /// server: a transport that can say so before it answers asks this first.
    pub fn missing_scopes(
        &self,
        who: &Requester,
        method: &Method,
        params: Option<&Raw>,
    ) -> Option<Vec<Arc<str>>> {
        let grants = who.grants()?;
        let wish = match method {
            // Who listens for changes of resources wants to know of them what a read would tell.
            Method::Listen if names_resources(params) => Wish::Other,
            method => self.wish(method)?,
        };
        let catalog = self.catalog.load();
        let named = params.filter(|_| *method == Method::ToolsCall).and_then(|params| params.get("name"));
        let named = named.as_ref().and_then(|name| name.to_text());
        let access = match &named {
            None => grants.access(self.namespace(), wish),
            Some(name) => {
                let exposed = match router::find_tool(&catalog, &who.principal, name, true) {
                    Ok(Found::Tool(route)) => catalog.exposed_tool(route),
                    _ => name,
                };
                grants.access(self.namespace(), Wish::Tool(exposed))
            }
        };
        match access {
            Access::NeedsScope(scopes) => Some(scopes),
            Access::Granted | Access::Hidden => None,
        }
    }

    /// Returns what becomes of a requester's wish here.
    pub fn access(&self, who: &Requester, wish: Wish<'_>) -> Access {
        who.grants().map_or(Access::Granted, |grants| grants.access(self.namespace(), wish))
    }

    /// Refuses a call that its requester's grants do not cover. Tools are judged where they are found.
    pub(super) fn check_grants(&self, grants: &Grants, call: &Call) -> Result<(), Fault> {
        let Some(wish) = self.wish(&call.method) else { return Ok(()) };
        match grants.access(self.namespace(), wish) {
            Access::Granted => Ok(()),
            Access::NeedsScope(scopes) => Err(needs(&scopes)),
            Access::Hidden => Err(hidden(call)),
        }
    }

    /// Lets a tool be found that was granted; one whose name is not known for sure is asked for first.
    pub(super) fn granted_tool<'c>(
        &self,
        catalog: &Catalog,
        (name, found): (&str, Found<'c>),
        grants: &Grants,
        asked: bool,
    ) -> Result<Found<'c>, Fault> {
        match found {
            Found::Tool(route) => {
                let exposed = catalog.exposed_tool(route);
                match grants.access(self.namespace(), Wish::Tool(exposed)) {
                    Access::Granted => Ok(Found::Tool(route)),
                    Access::NeedsScope(scopes) => Err(needs(&scopes)),
                    Access::Hidden => Err(router::not_there(catalog, name)),
                }
            }
            Found::Unlisted { member, .. } if asked => Err(router::why_unlisted(catalog.member(member))),
            Found::Unlisted { member, .. } => Ok(Found::AskFirst(vec![member])),
            ask => Ok(ask),
        }
    }

    /// Returns what a method needs to be granted beside a namespace; `None`: nothing, or what is judged elsewhere.
    fn wish(&self, method: &Method) -> Option<Wish<'static>> {
        match method {
            Method::PromptsGet
            | Method::ResourcesRead
            | Method::ResourcesSubscribe
            | Method::Complete
            | Method::SkillsList
            | Method::SkillsGet
            | Method::DirectoryRead
            | Method::Other(_) => Some(Wish::Other),
            // Lists show what there is for whoever asks; tools and tasks are judged where they are found.
            _ => Some(Wish::Enter),
        }
    }
}

/// Returns whether the filter of a listener names resources.
fn names_resources(params: Option<&Raw>) -> bool {
    let named = params.and_then(|params| params.path(&["notifications", "resourceSubscriptions"]));
    named.and_then(|named| named.elements()).is_some_and(|named| !named.is_empty())
}

fn needs(scopes: &[Arc<str>]) -> Fault {
    Fault::NeedsScope { scopes: scopes.iter().map(|scope| scope.to_string()).collect() }
}

/// Answers as if nobody had it.
fn hidden(call: &Call) -> Fault {
    let text = |name: &str| call.text_param(name).unwrap_or_default();
    match call.method {
        Method::PromptsGet => Fault::UnknownPrompt(text("name")),
        Method::ResourcesRead | Method::ResourcesSubscribe => Fault::UnknownResource(text("uri")),
        Method::ToolsCall => Fault::UnknownTool(text("name")),
        _ => Fault::UnknownMethod(call.method.as_str().to_owned()),
    }
}
