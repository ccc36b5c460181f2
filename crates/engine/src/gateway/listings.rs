//! What is known of the servers' lists, and when a server is asked for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_config::{ServerKey, ServerStart};
use manifold_protocol::{Caller, Kind, List, Raw};
use tokio::time::{sleep_until, timeout};
use tracing::info;

use super::Gateway;
use super::pace::Turn;
use crate::catalog::{Catalog, ClientProfile, Member, ViewKey};
use crate::cpu_time;
use crate::discovery::TOGETHER;
use crate::exchange::Exchange;
use crate::policy::PolicyClass;
use crate::principal::{Grants, Principal};
use crate::upstream::{Phase, Upstream, with_roots};

/// What the lists of servers are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be shown. When we are leaving it is answered with what is known: it is worth no start that ends with us (D2).
    List,
    /// To find out whose something is.
    Call,
}

impl Gateway {
    /// Runs `answer` once every server that may be asked has been, or patience is over.
    pub(super) fn with_listings(
        self: &Arc<Self>,
        exchange: Exchange,
        answer: impl FnOnce(&Arc<Self>, Exchange) + Send + 'static,
    ) {
        self.with_listings_for(Purpose::Call, exchange, answer);
    }

    /// Does the same for what is to be answered.
    pub(super) fn with_listings_for(
        self: &Arc<Self>,
        purpose: Purpose,
        exchange: Exchange,
        answer: impl FnOnce(&Arc<Self>, Exchange) + Send + 'static,
    ) {
        let catalog = self.catalog.load();
        // Mostly all is known, and one look at each server tells so.
        if catalog.view.members.iter().all(is_known) {
            self.catch_up(&catalog);
            return answer(self, exchange);
        }
        drop(catalog);
        self.ask_and_answer(purpose, exchange, answer);
    }

    /// Asks the servers of which too little is known before it answers.
    fn ask_and_answer(
        self: &Arc<Self>,
        purpose: Purpose,
        exchange: Exchange,
        answer: impl FnOnce(&Arc<Self>, Exchange) + Send + 'static,
    ) {
        self.refresh_stale();
        let unknown = self.undiscovered();
        if unknown.is_empty() {
            self.catch_up(&self.catalog.load());
            return answer(self, exchange);
        }
        let gateway = Arc::clone(self);
        self.fleet.tasks().spawn(async move {
            match purpose {
                Purpose::List => {
                    gateway.leaving.run_until_cancelled(gateway.learn(unknown)).await;
                }
                Purpose::Call => gateway.learn(unknown).await,
            }
            gateway.catch_up(&gateway.catalog.load());
            let starting = gateway.still_starting();
            if !starting.is_empty() {
                info!(servers = %starting.join(", "), "the list is incomplete: still starting");
            }
            answer(&gateway, exchange);
        });
    }

    /// Asks servers what they offer, as long as patience lasts.
    async fn learn(&self, unknown: Vec<(ServerKey, Arc<dyn Upstream>)>) {
        let gathering = self.discovery.gather();
        let discovered = self.discovery.discover(unknown, self.fleet.tasks());
        tokio::pin!(discovered);
        let all = timeout(TOGETHER, &mut discovered).await;
        drop(gathering);
        if all.is_err() {
            // What the quick ones have told is news for others, who do not wait for the slow.
            self.catch_up(&self.catalog.load());
            discovered.await;
        }
    }

    /// Returns a list as this caller sees it. Servers that work for one client alone were told what it can do, and
    /// withhold nothing.
    pub(super) fn shown_to(
        &self,
        (who, grants): (&Principal, Option<Arc<Grants>>),
        caller: Option<&Caller>,
        kind: Kind,
    ) -> Arc<List> {
        let key = ViewKey {
            class: PolicyClass::of(who),
            grants: grants.as_ref().map(|grants| (grants, self.namespace())),
            capabilities: caller.map(|caller| &caller.capabilities),
            profile: ClientProfile::default(),
        };
        let told = |capabilities: &Raw| with_roots(capabilities, &self.fleet.config().settings);
        self.catalog.load().list_for(kind, key, told)
    }

    /// Returns the servers that are being started and of which nothing is known yet.
    pub(super) fn still_starting(&self) -> Vec<String> {
        let is_starting = |member: &Member| {
            may_discover(member)
                && (self.discovery.is_underway(&member.key)
                    || member.upstream.status().phase == Phase::Starting)
        };
        self.members(is_starting).into_iter().map(|(key, _)| key.id).collect()
    }

    /// Adds to what a client is told of the servers which of them are not listed yet (D3).
    pub(super) fn with_starting(&self, instructions: Option<String>) -> Option<String> {
        let starting = self.still_starting();
        if starting.is_empty() {
            return instructions;
        }
        let note = format!(
            "Still starting, so that what they offer is not listed yet: {}. Changes of the lists are announced.",
            starting.join(", ")
        );
        Some(instructions.map_or_else(|| note.clone(), |text| format!("{text}\n\n{note}")))
    }

    /// Takes over the listing a server has published, unless a list that waits for it is about to.
    pub(crate) fn listing_changed(self: &Arc<Self>) {
        if self.discovery.is_gathering() {
            return;
        }
        match self.pace.next() {
            Turn::Now => self.take_in(),
            Turn::Awaited => {}
            Turn::At(due) => {
                let (me, dropped) = (Arc::downgrade(self), self.dropped.clone());
                self.fleet.tasks().spawn_background(async move {
                    if dropped.run_until_cancelled(sleep_until(due)).await.is_some()
                        && let Some(gateway) = me.upgrade()
                    {
                        gateway.take_in();
                    }
                });
            }
        }
    }

    fn take_in(&self) {
        self.pace.begun();
        let before = cpu_time::of_this_thread();
        self.refresh();
        self.pace.took(cpu_time::of_this_thread().saturating_sub(before));
    }

    /// Takes over listings newer than those a caller has `seen`, and says whether there were any: a server publishes
    /// its listing a moment before the catalog shows it, and nobody may be told in between that it has nothing.
    pub(super) fn catch_up(&self, seen: &Catalog) -> bool {
        let behind = !seen.is_current();
        // Another call may have taken them over since.
        if behind {
            self.replace_if(|now| !now.is_current(), |old| Arc::clone(&old.view));
        }
        behind
    }

    /// Starts what is to run from the beginning, once there is a client.
    pub(crate) fn start_eager(&self) {
        if !self.introduced.load(Ordering::Relaxed) {
            return;
        }
        let is_eager = |member: &Member| {
            let listing = member.upstream.listing();
            let start = member.server.as_ref().map(|server| server.start);
            may_start(member)
                && (self.opening().eager || start == Some(ServerStart::Eager))
                && listing.is_none_or(|listing| listing.is_saved())
        };
        let eager = self.members(is_eager);
        if !eager.is_empty() {
            info!(servers = eager.len(), "starting eager servers");
            self.discover_behind(eager);
        }
    }

    /// Asks servers again whose lists are known from long ago; nobody waits, and what is new is announced.
    pub(super) fn refresh_stale(&self) {
        let is_stale = |member: &Member| {
            may_start(member) && member.upstream.listing().is_some_and(|listing| listing.is_stale())
        };
        let stale = self.members(is_stale);
        if !stale.is_empty() {
            self.discover_behind(stale);
        }
    }

    pub(super) fn discover_behind(&self, servers: Vec<(ServerKey, Arc<dyn Upstream>)>) {
        let (discovery, tasks) = (Arc::clone(&self.discovery), self.fleet.tasks().clone());
        let leaving = self.leaving.clone();
        self.fleet.tasks().spawn(async move {
            leaving.run_until_cancelled(discovery.discover(servers, &tasks)).await;
        });
    }

    /// Returns the servers of which nothing is known and that may be started to learn it.
    pub(super) fn undiscovered(&self) -> Vec<(ServerKey, Arc<dyn Upstream>)> {
        self.members(may_discover)
    }

    pub(super) fn members(&self, wanted: impl Fn(&Member) -> bool) -> Vec<(ServerKey, Arc<dyn Upstream>)> {
        let catalog = self.catalog.load();
        let members = catalog.view.members.iter().filter(|member| wanted(member));
        members.map(|member| (member.key.clone(), Arc::clone(&member.upstream))).collect()
    }
}

/// Returns whether what a server offers is known well enough to ask nobody.
fn is_known(member: &Member) -> bool {
    member.server.is_none() || member.upstream.listing().is_some_and(|listing| !listing.is_stale())
}

/// Returns whether a list may start this server to learn what it offers. One that has failed is tried again by itself, and
/// no list waits for it (D4).
pub(super) fn may_discover(member: &Member) -> bool {
    may_start(member)
        && member.upstream.listing().is_none()
        && !matches!(member.upstream.status().phase, Phase::Failed(_))
}

fn may_start(member: &Member) -> bool {
    let Some(server) = &member.server else { return false };
    server.enabled
        && server.fault.is_none()
        && server.start != ServerStart::Manual
        && member.upstream.status().phase != Phase::Stopped
}
