//! Whether a namespace permits a server's tool, prompt or resource: the one place that is asked, for lists and calls of
//! every kind alike (T7). Rules match parsed pairs, never joined names.

mod decision;
mod pattern;
mod reason;
mod spelling;

use std::collections::BTreeMap;

use manifold_config::{Permissions, Server};
use manifold_protocol::Kind;

use crate::catalog::Template;
pub(crate) use decision::{Decision, Decisions, HiddenFrom, PolicyClass, decide, refusal};
pub(crate) use reason::{decided, reason};

/// Stands for every resource of a server.
const ALL: &str = "*";

/// Returns whether an item of a server, by the server's own name or URI for it, may be seen and used.
pub(crate) fn permits(permissions: &Permissions, server: &Server, kind: Kind, label: &str) -> bool {
    ruled(permissions, server, kind, label).unwrap_or_else(|| permits_unnamed(permissions, server))
}

/// Returns whether what no rule names is permitted: other kinds too, such as methods of extensions.
pub(crate) fn permits_unnamed(permissions: &Permissions, server: &Server) -> bool {
    !permissions.server_defaults.get(&server.key.id).copied().unwrap_or(permissions.deny_by_default)
}

/// Returns whether a tool may be called that nobody can look up. Its server may read names without regard to case, so
/// none that is denied passes in another case.
pub(crate) fn permits_unlisted_tool(permissions: &Permissions, server: &Server, tool: &str) -> bool {
    let lower = tool.to_lowercase();
    let rules = of_server(&permissions.rules, server);
    let rules = rules.map(|(name, allowed)| (name.to_lowercase(), allowed));
    permits(permissions, server, Kind::Tools, tool)
        && pattern::most_telling(rules, &lower).is_none_or(|(_, allowed)| allowed)
        && !server.denied_tools.iter().any(|name| pattern::matches(&name.to_lowercase(), &lower))
}

/// Returns whether a server has tools that are named to be denied: it may read names as it likes, so only one that it lists
/// can be told from those (B5).
pub(crate) fn denies_tools(permissions: &Permissions, server: &Server) -> bool {
    !server.denied_tools.is_empty() || of_server(&permissions.rules, server).any(|(_, allowed)| !allowed)
}

/// Returns whether a URI that a client made up may be judged by the rules at all. Where there are rules for resources, one
/// that readers could take for another is nobody's (B1, T7).
pub(crate) fn can_be_judged(permissions: &Permissions, uri: &str) -> bool {
    let is_ruled = permissions.deny_by_default
        || !permissions.resources.is_empty()
        || permissions.server_defaults.values().any(|denies| *denies);
    !is_ruled || !spelling::is_ambiguous(uri)
}

/// Returns what the rules say that name an item, if any does.
pub(crate) fn ruled(permissions: &Permissions, server: &Server, kind: Kind, label: &str) -> Option<bool> {
    match kind {
        Kind::Tools if is_among_denied(server, label) => Some(false),
        Kind::Tools if !is_among_allowed(server, label) => Some(false),
        Kind::Tools => named(&permissions.rules, server, label).map(|(_, allowed)| allowed),
        Kind::Prompts => named(&permissions.prompts, server, label).map(|(_, allowed)| allowed),
        Kind::Resources | Kind::Templates => {
            let rules: Vec<_> = of_server(&permissions.resources, server).collect();
            if rules.is_empty() {
                return None;
            }
            // Another spelling of a URI must not be worth more than the plain one.
            let as_spelt = by_uri(&rules, label, str::to_owned);
            let plain = by_uri(&rules, &spelling::plain(label), spelling::plain);
            match (as_spelt, plain) {
                (Some(true), Some(true)) => Some(true),
                (Some(false), _) | (_, Some(false)) => Some(false),
                (None, _) | (_, None) => None,
            }
        }
    }
}

/// Returns whether a tool is among those of a server that names them one by one, or the server names none.
fn is_among_allowed(server: &Server, tool: &str) -> bool {
    let names = server.allowed_tools.as_ref();
    names.is_none_or(|names| names.iter().any(|name| pattern::matches(name, tool)))
}

/// Returns whether a server's own entry denies a tool.
fn is_among_denied(server: &Server, tool: &str) -> bool {
    server.denied_tools.iter().any(|name| pattern::matches(name, tool))
}

type Rules = BTreeMap<(String, String), bool>;

/// Returns the rule that names an item, else the most telling of those with a pattern for it, and what it says.
fn named<'r>(rules: &'r Rules, server: &Server, label: &str) -> Option<(&'r str, bool)> {
    let named = rules.get_key_value(&(server.key.id.clone(), label.to_owned()));
    let named = named.map(|((_, name), allowed)| (name.as_str(), *allowed));
    named.or_else(|| pattern::most_telling(of_server(rules, server), label))
}

fn of_server<'r>(rules: &'r Rules, server: &Server) -> impl Iterator<Item = (&'r str, bool)> {
    let id = server.key.id.clone();
    let all = rules.range((id.clone(), String::new())..);
    all.take_while(move |((server, _), _)| *server == id)
        .map(|((_, label), allowed)| (label.as_str(), *allowed))
}

/// Returns what the most telling rule says of a URI: the one that is it, else the one template of those it has the shape
/// of that says most, else the one for all.
fn by_uri(rules: &[(&str, bool)], uri: &str, spell: impl Fn(&str) -> String) -> Option<bool> {
    let mut best: Option<(usize, bool)> = None;
    for (label, allowed) in rules {
        let label = spell(label);
        let weight = if label == uri {
            usize::MAX
        } else if label == ALL {
            0
        } else {
            let template = Template::parse(&label);
            if !label.contains('{') || !template.matches(uri) {
                continue;
            }
            1 + template.weight()
        };
        // Of two that say as much, the one that denies counts.
        if best.is_none_or(|(most, before)| weight > most || (weight == most && before && !allowed)) {
            best = Some((weight, *allowed));
        }
    }
    best.map(|(_, allowed)| allowed)
}

#[cfg(test)]
mod tests;
