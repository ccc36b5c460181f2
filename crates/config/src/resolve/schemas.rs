//! The `schemas` format (mcps-proxy): every schema owns its servers.

use super::{Context, namespaces, server};
use crate::fields::Fields;
use crate::file::Value;
use crate::identity::ExposedIds;
use crate::keys::table::SCHEMA;
use crate::model::{Namespace, Server, ServerKey};

/// Reads every schema as a namespace with servers of its own. Disabled ones are kept, so that they can be named.
pub(super) fn resolve(top: Fields<'_>, context: &mut Context<'_>) -> (Vec<Server>, Vec<Namespace>) {
    let (mut servers, mut found) = (Vec::new(), Vec::new());
    if let Some(node) = top.present("namespaces") {
        let hint = "a schema owns its servers".to_owned();
        context.problems.warn(node.line, "namespaces", "is not used beside `schemas`", Some(hint));
    }
    for (name, node) in top.object("schemas").into_iter().flat_map(|schemas| &schemas.members) {
        let Value::Object(object) = &node.value else { continue };
        let schema = Fields::new(object, &SCHEMA);
        let mut namespace = namespaces::described(schema, name);
        let first = servers.len();
        // The same id in two schemas is two servers, so names only clash within one.
        let mut exposed = ExposedIds::new(&context.settings.server_name);
        for (id, node) in schema.object("mcpServers").into_iter().flat_map(|servers| &servers.members) {
            let entry = server::Entry {
                key: ServerKey { schema: Some(name.clone()), id: id.clone() },
                node,
                place: format!("schemas.{name}.mcpServers.{id}"),
                in_use: namespace.enabled,
            };
            servers.push(server::resolve(entry, &mut exposed, context));
        }
        namespace.servers = servers[first..].iter().map(|server: &Server| server.key.clone()).collect();
        namespaces::check_server_defaults(schema, &namespace, &format!("schemas.{name}"), context.problems);
        found.push(namespace);
    }
    (servers, found)
}
