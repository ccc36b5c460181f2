//! What a reload must touch.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::model::{Config, ProcessSpec, RemoteSpec, Server, ServerKey, Transport};

/// The difference between two configurations. Servers named nowhere keep running untouched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    pub added: Vec<ServerKey>,
    pub removed: Vec<ServerKey>,
    /// These need a new connection.
    pub changed: Vec<ServerKey>,
    /// Same connection, other name, other denied tools or other namespaces.
    pub relabelled: Vec<ServerKey>,
    /// The servers both have stand in another order, which decides who keeps a name on a clash.
    pub reordered: bool,
    pub settings_changed: bool,
    pub namespaces_changed: bool,
}

impl Difference {
    /// Tells whether nothing changed at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two configurations.
pub fn diff(old: &Config, new: &Config) -> Difference {
    let before: HashMap<&ServerKey, &Server> =
        old.servers.iter().map(|server| (&server.key, server)).collect();
    let after: HashMap<&ServerKey, &Server> =
        new.servers.iter().map(|server| (&server.key, server)).collect();
    let mut difference = Difference {
        removed: keys_missing_in(old, &after),
        added: keys_missing_in(new, &before),
        reordered: kept(old, &after).ne(kept(new, &before)),
        settings_changed: old.settings != new.settings || old.profile != new.profile,
        namespaces_changed: old.namespaces != new.namespaces
            || old.default_namespace != new.default_namespace,
        ..Difference::default()
    };
    for server in &new.servers {
        let Some(previous) = before.get(&server.key) else { continue };
        if !same_connection(previous, server) {
            difference.changed.push(server.key.clone());
        } else if *previous != server || memberships(old, &server.key) != memberships(new, &server.key) {
            difference.relabelled.push(server.key.clone());
        }
    }
    difference
}

/// Compares what a running connection depends on: everything but labels and permissions.
pub fn same_connection(old: &Server, new: &Server) -> bool {
    let relabelled = Server {
        exposed_id: new.exposed_id.clone(),
        display_name: new.display_name.clone(),
        denied_tools: new.denied_tools.clone(),
        allowed_tools: new.allowed_tools.clone(),
        ..old.clone()
    };
    relabelled == *new
}

/// Compares what a running connection depends on beside what it was started with: two that were started alike may go on
/// as one where this holds too.
pub fn same_but_for_start(old: &Server, new: &Server) -> bool {
    let transport = match (&old.transport, &new.transport) {
        (Transport::Process(old), Transport::Process(new)) => Transport::Process(ProcessSpec {
            command: new.command.clone(),
            args: new.args.clone(),
            cwd: new.cwd.clone(),
            in_client_folder: new.in_client_folder,
            env: new.env.clone(),
            environment: new.environment.clone(),
            withheld: new.withheld.clone(),
            ..old.clone()
        }),
        (Transport::Remote(old), Transport::Remote(new)) => Transport::Remote(RemoteSpec {
            url: new.url.clone(),
            headers: new.headers.clone(),
            sign_in: new.sign_in.clone(),
            ..old.clone()
        }),
        (old, _) => old.clone(),
    };
    same_connection(&Server { transport, variables: new.variables.clone(), ..old.clone() }, new)
}

fn memberships<'a>(config: &'a Config, key: &ServerKey) -> BTreeSet<&'a str> {
    let member_of = config.namespaces.iter().filter(|namespace| namespace.servers.contains(key));
    member_of.map(|namespace| namespace.id.as_str()).collect()
}

fn keys_missing_in(config: &Config, other: &HashMap<&ServerKey, &Server>) -> Vec<ServerKey> {
    let missing = config.servers.iter().filter(|server| !other.contains_key(&server.key));
    missing.map(|server| server.key.clone()).collect()
}

fn kept<'a>(
    config: &'a Config,
    other: &'a HashMap<&ServerKey, &Server>,
) -> impl Iterator<Item = &'a ServerKey> {
    config.servers.iter().map(|server| &server.key).filter(|key| other.contains_key(key))
}
