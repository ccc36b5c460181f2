//! The rules of the namespaces, as the config has them.

use std::collections::BTreeMap;

use manifold_admin::{ItemKind, NamespacePermissions, PermissionRule, ToolPermission};
use manifold_config::{Config, Namespace, ServerKey};
use manifold_protocol::Kind;

use super::Control;
use crate::fleet::Fleet;
use crate::policy;

impl Control {
    /// Returns what each namespace lets its clients use.
    pub fn permissions(&self) -> Vec<NamespacePermissions> {
        let Ok(fleet) = self.fleet() else { return Vec::new() };
        configured_permissions(&fleet.config())
    }

    /// Returns the same of one namespace, and what it comes to for each tool that is known of its servers.
    pub fn permissions_of(&self, namespace: &str) -> Option<NamespacePermissions> {
        let fleet = self.fleet().ok()?;
        let config = fleet.config();
        let namespace = config.namespaces.iter().find(|one| one.id == namespace)?;
        let tools = namespace.servers.iter().flat_map(|key| known_tools(&fleet, namespace, key)).collect();
        Some(NamespacePermissions { tools, ..permissions(namespace) })
    }
}

/// Judges what a server offers, or did when it was last asked.
fn known_tools(fleet: &Fleet, namespace: &Namespace, key: &ServerKey) -> Vec<ToolPermission> {
    let slots = fleet.shown(key);
    let known = slots.iter().find_map(|slot| Some((&slot.server, slot.upstream.listing()?)));
    let Some((server, listing)) = known else { return Vec::new() };
    let tools = listing.items(Kind::Tools).iter();
    tools.map(|tool| policy::decided(&namespace.permissions, server, &tool.label)).collect()
}

/// Returns the same of a config of which nothing runs.
pub fn configured_permissions(config: &Config) -> Vec<NamespacePermissions> {
    config.namespaces.iter().map(permissions).collect()
}

fn permissions(namespace: &Namespace) -> NamespacePermissions {
    let permissions = &namespace.permissions;
    let rules = [
        (ItemKind::Tool, &permissions.rules),
        (ItemKind::Prompt, &permissions.prompts),
        (ItemKind::Resource, &permissions.resources),
    ];
    NamespacePermissions {
        namespace: namespace.id.clone(),
        deny_by_default: permissions.deny_by_default,
        server_defaults: permissions.server_defaults.clone(),
        rules: rules.into_iter().flat_map(|(item, rules)| of_kind(item, rules)).collect(),
        tools: Vec::new(),
    }
}

fn of_kind(item: ItemKind, rules: &BTreeMap<(String, String), bool>) -> impl Iterator<Item = PermissionRule> {
    rules.iter().map(move |((server, name), allow)| PermissionRule {
        server: server.clone(),
        item,
        name: name.clone(),
        allow: *allow,
    })
}
