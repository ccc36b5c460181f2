//! The instances of a server in the operator's words: who uses each, and in which respects they differ.

use std::collections::BTreeSet;
use std::sync::Arc;

use manifold_admin as admin;
use manifold_config::{Config, ServerKey};

use super::{server, words};
use crate::audience::Audience;
use crate::fleet::{Fleet, Slot};
use crate::gateway::Gateway;
use crate::upstream::InstanceReport;

impl Fleet {
    /// Returns a server as an operator sees it.
    pub(crate) fn describe(&self, key: &ServerKey) -> Option<admin::Server> {
        self.describe_slots(&self.config(), &self.shown(key))
    }

    /// Returns every server: those of the config in its order, then those that only some clients have.
    pub(super) fn describe_all(&self, config: &Config) -> Vec<admin::Server> {
        let mut keys: Vec<ServerKey> = config.servers.iter().map(|server| server.key.clone()).collect();
        for slot in self.slots().iter() {
            if !keys.contains(&slot.server.key) {
                keys.push(slot.server.key.clone());
            }
        }
        keys.iter().filter_map(|key| self.describe_slots(config, &self.shown(key))).collect()
    }

    /// Returns the instances of a server that count: where clients have theirs, the one of the config only if it is used.
    pub(super) fn shown(&self, key: &ServerKey) -> Vec<Slot> {
        let slots = self.slots();
        let of_key = || slots.iter().filter(|slot| slot.server.key == *key);
        let has_others = of_key().any(|slot| !slot.is_defined());
        of_key().filter(|slot| !has_others || !slot.is_defined() || slot.is_live()).cloned().collect()
    }

    /// Tells those who watch how a server is now.
    pub(crate) fn server_changed(&self, key: &ServerKey) {
        // Where nobody looks there is nobody to be told.
        let _ = self.changed_servers().send(key.clone());
        self.feed().publish(|| {
            let server = Box::new(self.describe(key)?);
            Some(admin::Happening::Server { server })
        });
    }

    /// Returns a server by its instances: what is said of it as a whole is true of the one that does best.
    fn describe_slots(&self, config: &Config, slots: &[Slot]) -> Option<admin::Server> {
        let best = slots.iter().min_by_key(|slot| slot.upstream.status().phase.rank())?;
        let listing = || slots.iter().find_map(|slot| slot.upstream.listing());
        let listing = best.upstream.listing().or_else(listing);
        let lists = listing.as_deref().map(server::all_of);
        let tool_bytes = listing.as_deref().map(server::tool_bytes);
        let is_in_line = || {
            let gateways = self.gateways();
            gateways.iter().any(|gateway| gateway.discovery().is_underway(&best.server.key))
        };
        let whole = server::live(config, &best.server, best.upstream.as_ref(), lists, is_in_line);
        let reports: Vec<_> = slots.iter().map(|slot| (slot, slot.upstream.reports())).collect();
        let calls = server::calls(reports.iter().flat_map(|(_, reports)| reports));
        let instances = reports.into_iter().flat_map(|(slot, reports)| instances(slot, reports, slots));
        let instances = instances.collect();
        Some(admin::Server { instances, calls, tool_bytes, ..whole })
    }
}

fn instances(slot: &Slot, reports: Vec<InstanceReport>, all: &[Slot]) -> Vec<admin::Instance> {
    let reports = reports.into_iter().map(server::instance);
    let Some(started_with) = &slot.started_with else { return reports.collect() };
    let gateways = slot.users.gateways();
    let clients = gateways.iter().map(clients).sum();
    let owner = slot.instance.client().and_then(|_| gateways.first()?.only_client());
    let others = all.iter().filter_map(|other| other.started_with.as_ref());
    let differs: BTreeSet<String> = others.flat_map(|other| started_with.differs(other)).collect();
    let told = |report: admin::Instance| admin::Instance {
        key: Some(words::instance_key(started_with.hash())),
        client: report.client.or(owner.map(|client| client.0)),
        clients: Some(clients),
        differs: differs.iter().cloned().collect(),
        ..report
    };
    reports.map(told).collect()
}

/// Counts the clients that have said who they are and would use the instance, whether or not they have called.
fn clients(gateway: &Arc<Gateway>) -> usize {
    match gateway.audience() {
        _ if gateway.is_operators() => 0,
        Audience::One => usize::from(gateway.is_introduced()),
        Audience::Shared => gateway.sessions().len(),
    }
}
