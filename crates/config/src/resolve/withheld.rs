//! Variables that hold our own secrets: what lets in at our door, and what we show elsewhere. No server inherits them.

use std::collections::BTreeSet;

use crate::client_environment::is_base_variable;
use crate::file::{Node, Object, Value};

/// Where servers are listed.
const SERVERS: [&str; 2] = ["servers", "mcpServers"];

/// Returns the variables that such settings name.
pub(crate) fn withheld(document: &Object) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(door) = document.object("server") {
        note(&mut names, door.members.get("token"));
        for token in door.object("tokens").into_iter().flat_map(|tokens| tokens.members.values()) {
            let named = token.object().and_then(|token| token.members.get("env"));
            if let Some(Value::Text(text)) = named.map(|node| &node.value) {
                names.insert(text.value.clone());
            }
        }
        let asked = door.object("auth").and_then(|auth| auth.object("introspection"));
        note(&mut names, asked.and_then(|asked| asked.members.get("clientSecret")));
    }
    SERVERS.iter().filter_map(|root| document.object(root)).for_each(|all| of_servers(&mut names, all));
    let schemas = document.object("schemas").into_iter().flat_map(|schemas| schemas.members.values());
    let schemas = schemas.filter_map(|schema| schema.object()?.object("mcpServers"));
    schemas.for_each(|all| of_servers(&mut names, all));
    // Whoever makes a secret of what every program needs does not mean that none shall have it.
    names.retain(|name| !name.is_empty() && name != "PATH" && !is_base_variable(name));
    names
}

fn of_servers(names: &mut BTreeSet<String>, servers: &Object) {
    for oauth in servers.members.values().filter_map(|server| server.object()?.object("oauth")) {
        note(names, oauth.members.get("clientSecret"));
        note(names, oauth.members.get("client_secret"));
        // The name of a file is no secret, and what it is put together from is needed elsewhere.
        let key = oauth.members.get("privateKey");
        note(
            names,
            key.filter(|key| matches!(&key.value, Value::Text(text) if text.value.contains("-----BEGIN"))),
        );
    }
}

fn note(names: &mut BTreeSet<String>, node: Option<&Node>) {
    if let Some(node) = node {
        node.each_text("", &mut |text, _, _| names.extend(text.names.iter().cloned()));
    }
}
