//! What credentials of the door name of the rest of the file.

use super::settings::{SCOPES, TOKENS};
use crate::file::{Object, Value, join};
use crate::model::Namespace;
use crate::problem::Problems;

/// The one that is selected, or all servers, goes by this name as well.
const SELECTED: &str = "default";

/// Tells of tokens and scopes that give no namespace, or one that is not there.
pub(super) fn warn_of_namespaces(document: &Object, namespaces: &[Namespace], problems: &mut Problems) {
    let Some(door) = document.object("server") else { return };
    let scopes = door.object("auth").and_then(|auth| auth.object("scopes"));
    for (place, grants) in [(TOKENS, door.object("tokens")), (SCOPES, scopes)] {
        for (name, node) in grants.into_iter().flat_map(|grants| &grants.members) {
            let Some(named) = node.object().and_then(|grant| grant.members.get("namespaces")) else {
                continue;
            };
            let Value::List(items) = &named.value else { continue };
            let place = join(&join(place, name), "namespaces");
            if items.is_empty() {
                let hint = "name some, or remove the list to give all";
                problems.warn(named.line, &place, "is empty, so it lets in nowhere", Some(hint.to_owned()));
            }
            for item in items {
                let Value::Text(text) = &item.value else { continue };
                let is_there = |namespace: &Namespace| namespace.id == text.value;
                if text.value != SELECTED && !namespaces.iter().any(is_there) {
                    let what = format!("there is no namespace `{}`", text.raw.escape_debug());
                    problems.warn(item.line, &place, what, Some("name one that is there".to_owned()));
                }
            }
        }
    }
}
