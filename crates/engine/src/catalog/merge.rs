//! Building a catalog: many listings into one, with every clash settled the same way each time.

mod pages;

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;
use manifold_config::PromptPrefix;
use manifold_protocol::{Freshness, Kind, Raw, RawObject, extension, raw, tools};
use tracing::warn;

use super::rendered_list::{ItemList, Origin, RenderedList};
use super::{Catalog, ItemRoute, Member, Template, TemplateRoute, ToolRoute, View, Views, scheme};
use crate::arguments::Arguments;
use crate::exchange::Target;
use crate::policy::HiddenFrom;
use crate::upstream::{Item, Listing};
use pages::{listed_pages, own_page};

impl Catalog {
    /// Builds the snapshot from what is known of each member now.
    pub(crate) fn build(view: Arc<View>) -> Self {
        let listings: Vec<Option<Arc<Listing>>> =
            view.members.iter().map(|member| member.upstream.listing()).collect();
        let mut merge =
            Merge { view: &view, catalog: Self::empty(Arc::clone(&view)), pages: listed_pages(&listings) };
        // Manager names win (decision 8): their owner goes first, and is shown last.
        let manager = view.members.iter().position(|member| member.server.is_none());
        let tools = merge.tools(&listings, manager);
        let prompts = merge.prompts(&listings);
        let resources = merge.resources(&listings, Kind::Resources);
        let templates = merge.resources(&listings, Kind::Templates);
        let mut catalog = merge.catalog;
        catalog.lists = [
            (Kind::Tools, tools),
            (Kind::Resources, resources),
            (Kind::Templates, templates),
            (Kind::Prompts, prompts),
        ]
        .map(|(kind, shown)| shown.finish(freshness(kind, &view, &listings)));
        catalog.hidden_from = hidden_from(&catalog.lists);
        catalog.instructions = instructions(&view, &listings);
        catalog.extensions = extensions(&catalog, &listings);
        catalog.schemes = listings.iter().map(|listing| schemes(listing.as_deref())).collect();
        catalog.listings = listings;
        catalog
    }

    fn empty(view: Arc<View>) -> Self {
        Self {
            view,
            lists: Kind::ALL.map(|kind| RenderedList::new(kind).finish(Freshness::default())),
            hidden_from: HiddenFrom::default(),
            tools: HashMap::default(),
            bare_tools: HashMap::default(),
            prompts: HashMap::default(),
            bare_prompts: HashMap::default(),
            resources: HashMap::default(),
            templates: Vec::new(),
            instructions: None,
            extensions: RawObject::default(),
            pages: HashMap::default(),
            schemes: Vec::new(),
            listings: Vec::new(),
            views: Views::default(),
        }
    }
}

struct Merge<'v> {
    view: &'v View,
    catalog: Catalog,
    /// Who lists a page under an address of its own, the first in config order.
    pages: HashMap<String, usize>,
}

impl Merge<'_> {
    fn tools(&mut self, listings: &[Option<Arc<Listing>>], manager: Option<usize>) -> RenderedList {
        let mut shown = RenderedList::new(Kind::Tools);
        shown.expect(listings.iter().flatten().flat_map(|listing| &listing.tools).map(|item| &item.raw));
        let mut managers = Vec::new();
        let order = manager.into_iter().chain((0..listings.len()).filter(|at| Some(*at) != manager));
        for at in order {
            let Some(listing) = &listings[at] else { continue };
            for (index, item) in listing.tools.iter().enumerate() {
                let origin = self.origin(at, index, Kind::Tools, item);
                if origin.decisions.hides_from_all() {
                    continue;
                }
                let Some(raw) = self.tool(origin, item) else { continue };
                if Some(at) == manager { managers.push((raw, origin)) } else { shown.push(&raw, origin) }
            }
        }
        managers.iter().for_each(|(raw, origin)| shown.push(raw, *origin));
        shown
    }

    fn origin(&self, member: usize, index: usize, kind: Kind, item: &Item) -> Origin {
        Origin { member, index, decisions: self.catalog.decisions(member, kind, &item.label) }
    }

    fn tool(&mut self, Origin { member: at, decisions, .. }: Origin, item: &Item) -> Option<Raw> {
        let member = &self.view.members[at];
        let exposed = self.free_tool_name(member, item)?;
        let mut object = item.raw.object()?;
        let (input_schema, is_loose) = (object.get("inputSchema"), tools::is_loose(&object));
        object.set("name", Raw::string(&exposed));
        if let Some(prefix) = &member.description_prefix {
            let is_said = |text: &Raw| text.kind() == raw::Kind::String && text.as_bytes() != br#""""#;
            let prefixed = match object.get("description").filter(is_said) {
                Some(text) => text.prefixed(&format!("{prefix} ")),
                None => Raw::string(prefix),
            };
            object.set("description", prefixed);
        }
        self.page(at, &mut object);
        let route = ToolRoute {
            member: at,
            original: Raw::string(&item.label),
            target: Arc::new(Target { tool: Some(item.label.clone()), ..(*member.target).clone() }),
            decisions,
            arguments: Arguments::of(self.view.validate, input_schema.as_ref()),
            input_schema,
            is_loose,
        };
        self.catalog
            .bare_tools
            .entry(item.label.clone())
            .and_modify(|only| *only = None)
            .or_insert_with(|| Some(exposed.clone()));
        self.catalog.tools.insert(exposed, route);
        Some(object.into_raw())
    }

    /// Settles the name of a tool (decision 8): the first in config order keeps the plain one.
    fn free_tool_name(&self, member: &Member, item: &Item) -> Option<String> {
        let naming = &self.view.naming;
        if member.server.is_none() {
            return Some(format!("{}{}", member.exposed_id, item.label));
        }
        let plain = naming.expose(&member.exposed_id, &member.key.id, &item.label);
        let Some(route) = self.catalog.tools.get(&plain) else { return Some(plain) };
        let holder = &self.view.members[route.member].key.id;
        let hashed = naming.hashed(&plain, &member.key.id, &item.label);
        let is_same = *holder == member.key.id && route.original == Raw::string(&item.label);
        if is_same || self.catalog.tools.contains_key(&hashed) {
            warn!(server = %member.key.id, tool = %item.label, "the server lists this tool twice; the first counts");
            return None;
        }
        warn!(
            first = %holder, second = %member.key.id, tool = %item.label, name = %plain, renamed = %hashed,
            "two servers claim one tool name; the first in the config keeps it"
        );
        Some(hashed)
    }

    fn prompts(&mut self, listings: &[Option<Arc<Listing>>]) -> RenderedList {
        let mut shown = RenderedList::new(Kind::Prompts);
        let mut seen = HashSet::new();
        for (at, index, item) in items(listings, Kind::Prompts) {
            let origin = self.origin(at, index, Kind::Prompts, item);
            if origin.decisions.hides_from_all() || !seen.insert((at, &item.label)) {
                continue;
            }
            let member = &self.view.members[at];
            let naming = &self.view.naming;
            let full = naming.expose(&member.exposed_id, &member.key.id, &item.label);
            let candidates = match self.view.prefix_prompts {
                PromptPrefix::Always => vec![full.clone()],
                PromptPrefix::OnClash => vec![item.label.clone(), full.clone()],
                PromptPrefix::Never => vec![item.label.clone()],
            };
            let hashed = naming.hashed(&full, &member.key.id, &item.label);
            let exposed = candidates
                .into_iter()
                .find(|name| !self.catalog.prompts.contains_key(name))
                .unwrap_or(hashed);
            let Some(mut object) = item.raw.object() else { continue };
            if exposed != item.label {
                object.set("name", Raw::string(&exposed));
            }
            self.catalog
                .bare_prompts
                .entry(item.label.clone())
                .and_modify(|only| *only = None)
                .or_insert_with(|| Some(exposed.clone()));
            self.catalog.prompts.insert(exposed, route(origin, item));
            shown.push(&object.into_raw(), origin);
        }
        shown
    }

    /// Resources and their templates: locators, so they stay as given unless two servers claim one (decision 22).
    fn resources(&mut self, listings: &[Option<Arc<Listing>>], kind: Kind) -> RenderedList {
        let mut shown = RenderedList::new(kind);
        for (at, index, item) in items(listings, kind) {
            let origin = self.origin(at, index, kind, item);
            if origin.decisions.hides_from_all() {
                continue;
            }
            let member = &self.view.members[at];
            let taken = self.owner_of(kind, &item.label);
            if taken == Some(at) {
                continue;
            }
            let route = route(origin, item);
            if taken.is_none() {
                self.keep(kind, item.label.clone(), route);
                shown.push(&item.raw, origin);
                continue;
            }
            // `alpha+file:///x`: still a URI, and no payload that quotes the original changes its meaning.
            let page = (kind == Kind::Resources).then(|| own_page(member, &item.label)).flatten();
            let exposed =
                page.unwrap_or_else(|| format!("{}+{}", member.exposed_id.replace('_', "-"), item.label));
            if self.owner_of(kind, &exposed).is_some() {
                continue;
            }
            let Some(mut object) = item.raw.object() else { continue };
            object.set(kind.label(), Raw::string(&exposed));
            self.keep(kind, exposed, route);
            shown.push(&object.into_raw(), origin);
        }
        shown
    }

    fn owner_of(&self, kind: Kind, label: &str) -> Option<usize> {
        match kind {
            Kind::Templates => {
                let mut templates = self.catalog.templates.iter();
                templates.find(|candidate| candidate.exposed == label).map(|found| found.route.member)
            }
            _ => self.catalog.resources.get(label).map(|route| route.member),
        }
    }

    fn keep(&mut self, kind: Kind, exposed: String, route: ItemRoute) {
        match kind {
            Kind::Templates => {
                let template = Template::parse(&exposed);
                self.catalog.templates.push(TemplateRoute { template, exposed, route });
            }
            _ => {
                self.catalog.resources.insert(exposed, route);
            }
        }
    }
}

fn items(listings: &[Option<Arc<Listing>>], kind: Kind) -> impl Iterator<Item = (usize, usize, &Item)> {
    listings.iter().enumerate().flat_map(move |(at, listing)| {
        listing.iter().flat_map(move |l| l.items(kind).iter().enumerate().map(move |(i, item)| (at, i, item)))
    })
}

fn route(origin: Origin, item: &Item) -> ItemRoute {
    ItemRoute { member: origin.member, original: item.label.clone(), decisions: origin.decisions }
}

fn hidden_from(lists: &[ItemList]) -> HiddenFrom {
    lists.iter().fold(HiddenFrom::default(), |all, list| all.and(list.hidden_from))
}

/// Returns for how long the merged list holds: as long as its least certain part, and not at all while a part is
/// missing.
fn freshness(kind: Kind, view: &View, listings: &[Option<Arc<Listing>>]) -> Freshness {
    let servers = view.members.iter().zip(listings).filter(|(member, _)| member.server.is_some());
    let parts = servers.map(|(_, listing)| listing.as_ref().map(|known| known.freshness[kind as usize]));
    parts.map(Option::unwrap_or_default).reduce(Freshness::and).unwrap_or_default()
}

/// Returns the schemes a server has resources of. Those of skills need not be listed.
fn schemes(listing: Option<&Listing>) -> HashSet<String> {
    let Some(listing) = listing else { return HashSet::new() };
    let extensions = listing.capabilities.as_ref().and_then(|capabilities| capabilities.get("extensions"));
    let skills = extensions.is_some_and(|extensions| extensions.get(extension::SKILLS).is_some());
    let listed = listing.resources.iter().chain(&listing.templates).filter_map(|item| scheme(&item.label));
    listed.chain(skills.then(|| "skill".to_owned())).collect()
}

fn extensions(catalog: &Catalog, listings: &[Option<Arc<Listing>>]) -> RawObject {
    let mut all = RawObject::default();
    for (at, listing) in listings.iter().enumerate() {
        let declared = listing.as_ref().and_then(|listing| listing.capabilities.as_ref()?.get("extensions"));
        let Some(declared) = declared.and_then(|extensions| extensions.object()) else { continue };
        // Tasks and pages come with tools, which have rules of their own.
        let is_permitted =
            |key: &str| [extension::TASKS, extension::UI].contains(&key) || catalog.permits_unnamed(at);
        let is_object = |value: &Raw| value.kind() == raw::Kind::Object;
        for (key, value) in declared.iter().filter(|(key, value)| is_object(value) && is_permitted(key)) {
            if !all.contains(&key) {
                all.set(&key, value);
            }
        }
    }
    all
}

/// Merges what servers say of themselves, each under its name.
fn instructions(view: &View, listings: &[Option<Arc<Listing>>]) -> Option<String> {
    let parts: Vec<String> = view
        .members
        .iter()
        .zip(listings)
        .filter_map(|(member, listing)| {
            let text = listing.as_ref()?.instructions.as_deref()?.trim();
            (!text.is_empty()).then(|| format!("# {}\n{text}", member.exposed_id))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
