//! Finding what an operator names, and saying why it is not there. Clients get a plain "unknown"; an operator may know the
//! rule.

use std::sync::Arc;

use manifold_admin::{CommandError, ErrorCode};
use manifold_config::distance;
use manifold_protocol::{Fault, Kind, Raw};

use super::Gateway;
use crate::catalog::Catalog;
use crate::control::words;
use crate::principal::Principal;
use crate::router;
use crate::upstream::{Order, Phase};

/// How many of those that are alike are named.
const MAX_ALIKE: usize = 3;
/// How many candidates are named.
const MAX_CANDIDATES: usize = 20;

/// A tool or prompt that an operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundItem {
    /// As clients call it.
    pub name: String,
    /// The id of the server it belongs to.
    pub server: String,
    /// As the server itself calls it.
    pub original: String,
    /// As clients see it in the list.
    pub definition: Raw,
}

/// Why there is nothing of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    Unknown {
        /// Names that are like it.
        did_you_mean: Vec<String>,
    },
    /// Several servers have one of that name: these.
    Ambiguous { candidates: Vec<String> },
    /// It is there, and a rule of the config forbids it.
    Denied { rule: String },
    /// The server it would be of does not work.
    Unavailable(Fault),
}

impl NotFound {
    /// Returns it as the answer to an operator who asked for `name`.
    pub fn into_error(self, kind: Kind, name: &str) -> CommandError {
        let kind = word(kind);
        match self {
            Self::Unknown { did_you_mean } => CommandError {
                hint: (!did_you_mean.is_empty())
                    .then(|| format!("did you mean {}?", quoted(&did_you_mean, " or "))),
                ..CommandError::new(ErrorCode::UnknownItem, format!("there is no {kind} '{name}'"))
            },
            Self::Ambiguous { candidates } => CommandError {
                hint: Some(format!("say which: {}", quoted(&candidates, ", "))),
                ..CommandError::new(
                    ErrorCode::AmbiguousItem,
                    format!("several servers have a {kind} '{name}'"),
                )
            },
            Self::Denied { rule } => {
                CommandError::new(ErrorCode::Denied, format!("{kind} '{name}' may not be used: {rule}"))
            }
            Self::Unavailable(fault) => words::command_error(&fault),
        }
    }
}

impl Gateway {
    /// Finds a tool by any name that an operator may use: as clients see it, `server.tool`, `server/tool`, or the server's
    /// own name where only one has it (decision 6). Servers are asked only where the name may be theirs.
    pub async fn find_tool_for_operator(self: &Arc<Self>, name: &str) -> Result<FoundItem, NotFound> {
        self.find_for_operator(Kind::Tools, name).await
    }

    /// Finds a prompt in the same way.
    pub async fn find_prompt_for_operator(self: &Arc<Self>, name: &str) -> Result<FoundItem, NotFound> {
        self.find_for_operator(Kind::Prompts, name).await
    }

    /// Returns the rule by which an item cannot be seen, by any name that an operator may use, if one forbids it.
    pub fn why_denied(&self, kind: Kind, name: &str) -> Option<String> {
        let catalog = self.catalog.load();
        let namespace = self.namespace();
        let mut named = catalog.read_as_operator(name);
        // What nobody has is unknown, and no rule is to blame.
        named.retain(|(at, rest)| catalog.may_have(*at, kind, rest));
        let by_reading =
            || named.iter().find_map(|(at, rest)| catalog.why_denied(namespace, *at, kind, rest));
        let by_label = || {
            (0..catalog.view.members.len()).find_map(|at| {
                let hidden = catalog.hidden_by_name(at, kind, name);
                hidden.iter().find_map(|label| catalog.why_denied(namespace, at, kind, label))
            })
        };
        match kind {
            Kind::Tools | Kind::Prompts => by_label().or_else(by_reading),
            Kind::Resources | Kind::Templates => by_label(),
        }
        .or_else(|| self.why_not_shown(name))
    }

    async fn find_for_operator(self: &Arc<Self>, kind: Kind, name: &str) -> Result<FoundItem, NotFound> {
        let known = find(&self.catalog.load(), kind, name);
        if let Some(found) = known {
            return found;
        }
        self.ask_as_operator(name).await;
        self.found_or_why(kind, name)
    }

    /// Returns what is known by a name, or why there is nothing of it.
    pub(super) fn found_or_why(&self, kind: Kind, name: &str) -> Result<FoundItem, NotFound> {
        if let Some(found) = find(&self.catalog.load(), kind, name) {
            return found;
        }
        if let Some(rule) = self.why_denied(kind, name) {
            return Err(NotFound::Denied { rule });
        }
        let catalog = self.catalog.load();
        for (at, _) in catalog.read_as_operator(name) {
            let member = catalog.member(at);
            if member.upstream.listing().is_none() {
                return Err(NotFound::Unavailable(router::why_unlisted(member)));
            }
        }
        let items: Vec<_> = catalog.items(kind, &Principal::Local).collect();
        let names = items.iter().map(|item| (item.exposed.as_str(), item.original));
        Err(NotFound::Unknown { did_you_mean: alike(name, names) })
    }

    /// Learns what the servers offer whose item a name may be: those it begins with, else all.
    pub(super) async fn ask_as_operator(self: &Arc<Self>, name: &str) {
        let meant = {
            let catalog = self.catalog.load();
            let named = catalog.read_as_operator(name);
            named.into_iter().map(|(at, _)| catalog.member(at).key.clone()).collect::<Vec<_>>()
        };
        if meant.is_empty() {
            return self.learn_all().await;
        }
        let has_failed = |phase: &Phase| matches!(phase, Phase::Failed(_));
        let may_start = self.members(|member| {
            let server = member.server.as_deref();
            meant.contains(&member.key)
                && member.upstream.listing().is_none()
                && server.is_some_and(|server| server.enabled && server.fault.is_none())
        });
        for (_, upstream) in &may_start {
            // A call starts a server that has failed, so that what was mended works at once.
            if has_failed(&upstream.status().phase) {
                let _ = upstream.order(Order::Start).await;
            }
        }
        let unknown = may_start.into_iter().filter(|(_, upstream)| {
            let phase = upstream.status().phase;
            phase != Phase::Stopped && !has_failed(&phase)
        });
        self.discovery.settle(unknown.collect(), self.fleet.tasks()).await;
        self.catch_up(&self.catalog.load());
    }

    /// Says that a name begins with a server of the config that is not shown here.
    fn why_not_shown(&self, name: &str) -> Option<String> {
        let namespace = self.namespace()?;
        let config = self.fleet.config();
        let rest = |id: &str| {
            let rest = name.strip_prefix(id)?;
            ["__", ".", "/", "-"].into_iter().any(|separator| rest.starts_with(separator)).then_some(())
        };
        let is_meant = |id: &str| rest(id).is_some() && !self.shows(id);
        let server = config.servers.iter().find(|server| is_meant(&server.key.id))?;
        Some(format!("namespace '{namespace}' does not show server '{}' (`serverIds`)", server.key.id))
    }
}

/// Finds an item among those that are known; `None` if servers may have to be asked first.
fn find(catalog: &Catalog, kind: Kind, name: &str) -> Option<Result<FoundItem, NotFound>> {
    let found = |item: &crate::catalog::CatalogItem<'_>| {
        Some(Ok(FoundItem {
            name: item.exposed.clone(),
            server: catalog.member(item.member).key.id.clone(),
            original: item.original.to_owned(),
            definition: item.raw.detached(),
        }))
    };
    if let Some(item) = catalog.item_named(kind, name, &Principal::Local) {
        return found(&item);
    }
    let items: Vec<_> = catalog.items(kind, &Principal::Local).collect();
    for (member, rest) in catalog.read_as_operator(name) {
        if let Some(item) = items.iter().find(|item| item.member == member && item.original == rest) {
            return found(item);
        }
    }
    let bare: Vec<_> = items.iter().filter(|item| item.original == name).collect();
    match bare.as_slice() {
        [] => None,
        [only] => found(only),
        several => {
            let candidates = several.iter().map(|item| item.exposed.clone()).take(MAX_CANDIDATES).collect();
            Some(Err(NotFound::Ambiguous { candidates }))
        }
    }
}

/// Returns the names that are most like one, the nearest first; each goes with another that it may be known by.
fn alike<'a>(name: &str, names: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let nearest = |(shown, own): (&'a str, &'a str)| {
        let near = [distance(name, shown), distance(name, own)].into_iter().flatten().min()?;
        Some((near, shown))
    };
    let mut near: Vec<(usize, &str)> = names.filter_map(nearest).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, shown)| shown.to_owned()).take(MAX_ALIKE).collect()
}

/// Returns a hint that names the ids most like one, if there are any.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = alike(name, known.map(|id| (id, id)));
    (!near.is_empty()).then(|| format!("did you mean {}?", quoted(&near, " or ")))
}

fn quoted(names: &[String], between: &str) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(between)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Tools => "tool",
        Kind::Prompts => "prompt",
        Kind::Resources => "resource",
        Kind::Templates => "resource template",
    }
}
