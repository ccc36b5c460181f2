//! The rules of the namespaces, as the config has them.

use std::collections::BTreeMap;

use manifold_admin::{ItemKind, NamespacePermissions, PermissionRule};
use manifold_config::{Config, Namespace};

use super::Control;

impl Control {
    /// Returns what each namespace lets its clients use.
    pub fn permissions(&self) -> Vec<NamespacePermissions> {
        let Ok(fleet) = self.fleet() else { return Vec::new() };
        configured_permissions(&fleet.config())
    }
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
