//! What one namespace offers, as an immutable snapshot: the lists as clients see them and the way back to each
//! owner. Built anew when a listing changes, read without a lock.

mod items;
mod merge;
mod naming;
mod permits;
mod rendered_list;
mod routes;
mod template;
mod view;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use foldhash::HashMap;
use manifold_config::{Permissions, PromptPrefix, Server, ServerKey, ValidateArguments};
use manifold_protocol::{Kind, List, Raw, RawObject};

use crate::audience::Users;
use crate::exchange::Target;
use crate::policy::HiddenFrom;
use crate::upstream::{Listing, Standing, Upstream};

pub(crate) use items::CatalogItem;
pub use naming::{Naming, may_be_hashed, readings};
use rendered_list::ItemList;
use routes::TemplateRoute;
pub(crate) use routes::ToolRoute;
pub(crate) use routes::{ItemRoute, ResourceOwner};
pub(crate) use template::Template;
use view::Views;
pub(crate) use view::{ClientProfile, ViewKey};

/// The servers of a namespace and the rules they are shown by.
pub(crate) struct View {
    /// In config order; the manager, where listed, comes last.
    pub(crate) members: Vec<Member>,
    pub(crate) naming: Naming,
    pub(crate) prefix_prompts: PromptPrefix,
    pub(crate) validate: ValidateArguments,
    pub(crate) permissions: Permissions,
    /// In profiles with own codes, an unknown server has a fault of its own.
    pub(crate) names_unknown_servers: bool,
}

/// One server as a namespace shows it.
pub(crate) struct Member {
    pub(crate) key: ServerKey,
    pub(crate) exposed_id: String,
    /// The text before a tool's description, brackets included.
    pub(crate) description_prefix: Option<String>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) standing: Arc<Mutex<Standing>>,
    /// The gateways that use the same instance.
    pub(crate) users: Arc<Users>,
    pub(crate) target: Arc<Target>,
    /// The definition; the manager has none.
    pub(crate) server: Option<Arc<Server>>,
}

/// The merged offer of a namespace.
pub(crate) struct Catalog {
    pub(crate) view: Arc<View>,
    lists: [ItemList; 4],
    /// Who is not shown all of them.
    hidden_from: HiddenFrom,
    tools: HashMap<String, ToolRoute>,
    /// Original name → exposed name, where only one server has it.
    bare_tools: HashMap<String, Option<String>>,
    prompts: HashMap<String, ItemRoute>,
    bare_prompts: HashMap<String, Option<String>>,
    resources: HashMap<String, ItemRoute>,
    templates: Vec<TemplateRoute>,
    pub(crate) instructions: Option<String>,
    /// Extensions to the protocol that servers declare; of two that declare one, the first in the config counts.
    pub(crate) extensions: RawObject,
    /// Pages of MCP Apps by address: tools name them, lists need not.
    pages: HashMap<String, ItemRoute>,
    /// The schemes that each member's resources and templates have, in lower case.
    schemes: Vec<HashSet<String>>,
    /// What it was built from, member by member.
    listings: Vec<Option<Arc<Listing>>>,
    views: Views,
}

impl Member {
    /// Returns whether it hears which trace a call belongs to. Our own tools need not.
    pub(crate) fn is_told_traces(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.trace)
    }
}

impl Catalog {
    /// Returns whether no member has published a newer listing than the one shown here.
    pub(crate) fn is_current(&self) -> bool {
        let newest = self.view.members.iter().map(|member| member.upstream.listing());
        newest.zip(&self.listings).all(|(newest, shown)| match (&newest, shown) {
            (Some(newest), Some(shown)) => Arc::ptr_eq(newest, shown),
            (None, None) => true,
            _ => false,
        })
    }

    /// Returns how many entries a list has.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Tools => self.tools.len(),
            Kind::Resources => self.resources.len(),
            Kind::Templates => self.templates.len(),
            Kind::Prompts => self.prompts.len(),
        }
    }

    pub(crate) fn list(&self, kind: Kind) -> &Arc<List> {
        &self.lists[kind as usize].whole
    }

    /// Returns a list as a client of the older revisions sees it.
    #[cfg(test)]
    pub(crate) fn shown(&self, kind: Kind) -> Raw {
        manifold_protocol::Answer::List(Arc::clone(self.list(kind))).plain()
    }

    pub(crate) fn member(&self, index: usize) -> &Member {
        &self.view.members[index]
    }

    pub(crate) fn tool(&self, exposed_name: &str) -> Option<&ToolRoute> {
        self.tools.get(exposed_name)
    }

    /// Returns the name that a route of this catalog is advertised under.
    pub(crate) fn exposed_tool(&self, route: &ToolRoute) -> &str {
        let found = self.tools.iter().find(|(_, one)| std::ptr::eq(*one, route));
        found.map_or("", |(name, _)| name.as_str())
    }

    /// Returns a tool by its own name where only one server has it (MCP Apps call so).
    pub(crate) fn bare_tool(&self, original_name: &str) -> Option<&ToolRoute> {
        self.tools.get(self.bare_tools.get(original_name)?.as_ref()?)
    }

    /// Returns whether a server that is not listed yet may have a tool of this name, and nobody else has.
    pub(crate) fn may_have_more(&self, original_name: &str) -> bool {
        let unlisted = |member: &Member| member.server.is_some() && member.upstream.listing().is_none();
        !self.bare_tools.contains_key(original_name) && self.view.members.iter().any(unlisted)
    }

    /// Returns the route of a known server's tool, whatever name it is advertised under.
    pub(crate) fn tool_of(&self, member: usize, original_name: &str) -> Option<&ToolRoute> {
        let wanted = Raw::string(original_name);
        self.tools.values().find(|route| route.member == member && route.original == wanted)
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<ItemRoute> {
        self.prompts.get(name).or_else(|| self.prompts.get(self.bare_prompts.get(name)?.as_ref()?)).cloned()
    }

    /// Returns who owns a URI: listed, else shaped like a listed template, else anyone with resources of its scheme
    /// (L16). What policy hides is nobody's.
    pub(crate) fn resource(&self, uri: &str) -> ResourceOwner {
        if let Some(route) = self.resources.get(uri) {
            return ResourceOwner::One(route.clone());
        }
        if let Some(route) = self.pages.get(uri) {
            return ResourceOwner::One(route.clone());
        }
        if let Some(found) = self.templates.iter().find(|candidate| candidate.exposed == uri) {
            return ResourceOwner::One(found.route.clone());
        }
        let original = |found: &TemplateRoute| uri.strip_prefix(found.prefix()).unwrap_or(uri).to_owned();
        let by_shape = self
            .templates
            .iter()
            .filter(|candidate| candidate.template.matches(uri))
            .filter(|found| self.permits_uri(found.route.member, &original(found)))
            .max_by_key(|candidate| candidate.template.weight());
        if let Some(found) = by_shape {
            return ResourceOwner::One(ItemRoute { original: original(found), ..found.route.clone() });
        }
        let Some(scheme) = scheme(uri) else { return ResourceOwner::Perhaps(Vec::new()) };
        let able = |member: &Member| {
            member.server.as_ref().is_some_and(|server| server.enabled && server.fault.is_none())
                && member.upstream.listing().is_some_and(|listing| listing.declares("resources"))
        };
        let claims = |at: &usize| {
            self.schemes[*at].contains(&scheme) && able(self.member(*at)) && self.permits_uri(*at, uri)
        };
        ResourceOwner::Perhaps((0..self.view.members.len()).filter(claims).collect())
    }

    /// Returns the URI under which a client knows a server's resource.
    pub(crate) fn exposed_uri(&self, member: usize, original: &str) -> Option<Cow<'_, str>> {
        // Almost always unchanged: look there before searching.
        let listed = match self.resources.get_key_value(original) {
            Some((uri, route)) if route.member == member => return Some(uri.into()),
            Some(_) => self
                .resources
                .iter()
                .find(|(_, route)| route.member == member && route.original == original)
                .map(|(uri, _)| uri.into()),
            None => None,
        };
        listed.or_else(|| {
            let renamed =
                self.templates.iter().filter(|one| one.route.member == member && !one.prefix().is_empty());
            let mut exposed = renamed.map(|one| (one, format!("{}{original}", one.prefix())));
            exposed.find(|(one, uri)| one.template.matches(uri)).map(|(_, uri)| uri.into())
        })
    }
}

/// Returns the scheme of a URI or a template, in lower case.
fn scheme(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_one.then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
impl Catalog {
    /// Decides about one item as no config can yet.
    pub(crate) fn rule(&mut self, kind: Kind, exposed: &str, decisions: crate::policy::Decisions) {
        let items = self.list(kind).items.elements().unwrap();
        let label = |item: &Raw| item.get(kind.label()).unwrap().to_text().unwrap().into_owned();
        let index = items.iter().position(|item| label(item) == exposed).unwrap();
        self.lists[kind as usize].rule(index, decisions);
        self.hidden_from = self.hidden_from.and(decisions.hidden_from());
        match kind {
            Kind::Tools => self.tools.get_mut(exposed).unwrap().decisions = decisions,
            Kind::Prompts => self.prompts.get_mut(exposed).unwrap().decisions = decisions,
            Kind::Resources => self.resources.get_mut(exposed).unwrap().decisions = decisions,
            Kind::Templates => {
                let mut templates = self.templates.iter_mut();
                templates.find(|one| one.exposed == exposed).unwrap().route.decisions = decisions;
            }
        }
    }
}

#[cfg(test)]
mod tests;
