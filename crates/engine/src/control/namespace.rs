//! Namespaces and their clients in the operator's words.

use std::sync::Arc;

use manifold_admin as admin;
use manifold_config::{Config, Namespace, Permissions};
use manifold_protocol::Kind;

use super::words::{self, millis};
use crate::catalog::Catalog;
use crate::changes::{ClientAbout, Entry};
use crate::gateway::Gateway;

/// Returns a namespace that nobody serves.
pub(super) fn configured(namespace: &Namespace) -> admin::Namespace {
    admin::Namespace {
        id: Some(namespace.id.clone()),
        name: namespace.name.clone(),
        description: namespace.description.clone(),
        enabled: namespace.enabled,
        servers: namespace.servers.iter().map(words::server_id).collect(),
        permissions: permissions(&namespace.permissions),
        ..admin::Namespace::default()
    }
}

/// Returns all namespaces, with what is known of those that are served.
pub(super) fn all(config: &Config, gateways: &[Arc<Gateway>]) -> Vec<admin::Namespace> {
    let served = |id: Option<&str>| gateways.iter().find(|one| one.namespace() == id);
    let mut all: Vec<admin::Namespace> = config
        .namespaces
        .iter()
        .map(|namespace| match served(Some(&namespace.id)) {
            Some(gateway) => live(configured(namespace), gateway),
            None => configured(namespace),
        })
        .collect();
    all.extend(served(None).map(|gateway| {
        let servers = config.servers.iter().map(|server| words::server_id(&server.key)).collect();
        live(admin::Namespace { enabled: true, servers, ..admin::Namespace::default() }, gateway)
    }));
    all
}

fn live(namespace: admin::Namespace, gateway: &Gateway) -> admin::Namespace {
    admin::Namespace {
        served: true,
        lists: Some(lists(&gateway.catalog())),
        clients: Some(gateway.sessions().len()),
        ..namespace
    }
}

/// Counts what the clients of a namespace see.
pub(crate) fn lists(catalog: &Catalog) -> admin::Lists {
    admin::Lists {
        tools: catalog.count(Kind::Tools),
        prompts: catalog.count(Kind::Prompts),
        resources: catalog.count(Kind::Resources),
        templates: catalog.count(Kind::Templates),
    }
}

pub(crate) fn client(gateway: &Gateway, entry: &Entry) -> admin::Client {
    let about = entry.client.about();
    admin::Client {
        id: entry.id.0,
        principal: about.principal,
        name: about.name.as_deref().map(ClientAbout::shown),
        version: about.version.as_deref().map(ClientAbout::shown),
        protocol: about.revision.map(admin::Protocol::of),
        transport: about.transport,
        namespace: gateway.namespace().map(str::to_owned),
        pid: about.pid,
        cwd: about.cwd,
        shim: about.shim,
        connected_ms: millis(entry.since.elapsed()),
        calls_in_flight: about.calls_in_flight.map(|calls| calls as u64),
    }
}

fn permissions(permissions: &Permissions) -> admin::PermissionSummary {
    fn count<'r>(rules: impl Iterator<Item = &'r bool>) -> admin::RuleCounts {
        rules.fold(admin::RuleCounts::default(), |counts, allowed| match allowed {
            true => admin::RuleCounts { allow: counts.allow + 1, ..counts },
            false => admin::RuleCounts { deny: counts.deny + 1, ..counts },
        })
    }
    admin::PermissionSummary {
        deny_by_default: permissions.deny_by_default,
        server_defaults: permissions.server_defaults.clone(),
        tools: count(permissions.rules.values()),
        prompts: count(permissions.prompts.values()),
        resources: count(permissions.resources.values()),
    }
}
