//! What servers say of themselves and to everybody: changes, notifications, questions outside any call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manifold_config::{Root, Server, ServerKey, Settings};
use manifold_protocol::{Call, Fault, Kind, Method, Raw, RawObject, Reply, notification};
use tokio::sync::oneshot;

use super::listings::may_discover;
use super::view::{Asking, view};
use super::{Gateway, Opening};
use crate::audience::Audience;
use crate::catalog::{Catalog, Member, View};
use crate::changes::{ClientId, Entry, Level, Topic};
use crate::exchange::Exchange;
use crate::fleet::Outgrown;
use crate::sync::Lock as _;

impl Gateway {
    /// Takes over changed listings.
    pub(crate) fn refresh(&self) {
        self.replace(|old| Arc::clone(&old.view));
    }

    /// Takes over a changed config.
    pub(crate) fn rebuild(&self) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let before = self.catalog.load_full();
        // Before the catalog is built: what is known of servers that are new here is looked up, and shown with them.
        let resolution = self.resolution.load();
        let asking = Asking {
            opening: self.opening(),
            resolution: resolution.as_deref(),
            manager: &self.manager,
            downstream: &self.downstream,
        };
        let view = Arc::new(view(&self.fleet, asking, Outgrown::Replaced));
        self.replace(|_| view);
        let is_new = |member: &&Member| {
            !before.view.members.iter().any(|old| Arc::ptr_eq(&old.upstream, &member.upstream))
        };
        // Nobody would ask for the lists of a server nobody has heard of.
        if self.catalog.load().view.members.iter().filter(is_new).any(may_discover) {
            Kind::ALL.into_iter().for_each(|kind| self.clients.bump(kind));
        }
    }

    pub(super) fn replace(&self, view: impl FnOnce(&Catalog) -> Arc<View>) {
        self.replace_if(|_| true, view);
    }

    /// Does so if the catalog in force, once nobody else replaces it, is one to be replaced.
    pub(super) fn replace_if(
        &self,
        is_wanted: impl FnOnce(&Catalog) -> bool,
        view: impl FnOnce(&Catalog) -> Arc<View>,
    ) {
        let _building = self.building.locked();
        let old = self.catalog.load_full();
        if !is_wanted(&old) {
            return;
        }
        let new = Arc::new(Catalog::build(view(&old)));
        self.catalog.store(Arc::clone(&new));
        let mut is_changed = false;
        for kind in Kind::ALL {
            if old.list(kind).items != new.list(kind).items {
                self.clients.bump(kind);
                is_changed = true;
            }
        }
        if is_changed {
            self.tell_of_catalog(&new);
        }
    }

    /// Passes a server's notification on to the clients it concerns; `is_ours`: nobody else uses the server.
    pub(crate) fn notice(&self, server: &ServerKey, is_ours: bool, method: &str, params: Option<Raw>) {
        if method == notification::TASKS {
            return self.notice_task(server, params);
        }
        // The server's own word counts, even where its list turns out the same.
        if let Some(kinds) = changed_kinds(method) {
            return kinds.iter().for_each(|kind| self.clients.bump(*kind));
        }
        if method != notification::RESOURCE_UPDATED {
            let level =
                (method == notification::MESSAGE).then(|| Level::of_message(params.as_ref())).flatten();
            let concerned = level.map_or_else(|| self.clients.all(), |level| self.clients.wanting(level));
            for entry in concerned {
                entry.client.notify(method, params.clone());
            }
            return;
        }
        let Some((exposed, params)) = self.expose_update(server, params) else { return };
        let concerned = match self.clients.only().filter(|_| is_ours) {
            Some(only) => vec![only],
            None => self.clients.subscribers(Topic::Resource, &exposed),
        };
        for entry in concerned {
            entry.client.notify(method, Some(params.clone()));
        }
    }

    /// Puts the exposed address in the place of the server's own, and returns both.
    fn expose_update(&self, server: &ServerKey, params: Option<Raw>) -> Option<(String, Raw)> {
        let params = params?;
        let original = params.get("uri").and_then(|uri| Some(uri.to_text()?.into_owned()))?;
        let catalog = self.catalog.load();
        let member = catalog.view.members.iter().position(|member| member.key == *server);
        // Another namespace may be subscribed to what this one hides.
        if member.is_some_and(|at| !catalog.permits(at, Kind::Resources, &original)) {
            return None;
        }
        let exposed = member.and_then(|at| catalog.exposed_uri(at, &original));
        let exposed = exposed.map_or_else(|| original.clone(), |exposed| exposed.to_string());
        if exposed == original {
            return Some((exposed, params));
        }
        let mut object = params.object().unwrap_or_default();
        object.set("uri", Raw::string(&exposed));
        Some((exposed, object.into_raw()))
    }

    /// Passes on what belongs to one client. Returns whether it is one of this namespace.
    pub(crate) fn tell(
        &self,
        server: &ServerKey,
        client: ClientId,
        method: &str,
        params: Option<Raw>,
    ) -> bool {
        let Some(entry) = self.clients.get(client) else { return false };
        let (is_wanted, params) = match method {
            notification::RESOURCE_UPDATED => match self.expose_update(server, params) {
                Some((exposed, params)) => {
                    (self.clients.subscribes(client, Topic::Resource, &exposed), Some(params))
                }
                None => (false, None),
            },
            notification::TASKS => match self.expose_news_of_task(server, params) {
                Some((exposed, params)) => {
                    (self.clients.subscribes(client, Topic::Task, &exposed), Some(params))
                }
                None => (false, None),
            },
            notification::MESSAGE => {
                let level = Level::of_message(params.as_ref());
                (level.is_none_or(|level| self.clients.is_wanted_by(client, level)), params)
            }
            _ => (true, params),
        };
        if is_wanted {
            entry.client.notify(method, params);
        }
        true
    }

    pub(crate) fn knows(&self, client: ClientId) -> bool {
        self.clients.get(client).is_some()
    }

    pub(crate) fn has_clients(&self) -> bool {
        !self.clients.is_empty()
    }

    /// Returns the client of this namespace where there is exactly one.
    pub(crate) fn only_client(&self) -> Option<ClientId> {
        self.clients.only().map(|entry| entry.id)
    }

    fn notice_task(&self, server: &ServerKey, params: Option<Raw>) {
        let Some((exposed, params)) = self.expose_news_of_task(server, params) else { return };
        for entry in self.clients.subscribers(Topic::Task, &exposed) {
            entry.client.notify(notification::TASKS, Some(params.clone()));
        }
    }

    /// Puts the exposed id of a task in the place of the server's own, and returns both.
    fn expose_news_of_task(&self, server: &ServerKey, params: Option<Raw>) -> Option<(String, Raw)> {
        let params = params?;
        let own = params.get("taskId");
        let own = own.as_ref().and_then(|id| id.to_text());
        let exposed = own.and_then(|own| self.exposed_task(server, &own))?;
        let mut object = params.object().unwrap_or_default();
        object.set("taskId", Raw::string(&exposed));
        Some((exposed, object.into_raw()))
    }

    /// Brings a question asked outside any call to the client, where there is exactly one (decision 29) and nobody
    /// else made the last call, which the question may belong to.
    pub(crate) fn ask(&self, server: &Server, last_caller: Option<ClientId>, call: Call, exchange: Exchange) {
        let only = self.clients.only();
        let only = only.filter(|entry| last_caller.is_none_or(|last| last == entry.id));
        self.ask_entry(server, only.as_deref(), call, exchange);
    }

    /// Brings a question to this client, as far as the config has no answer of its own.
    pub(crate) fn ask_client(&self, server: &Server, client: ClientId, call: Call, exchange: Exchange) {
        self.ask_entry(server, self.clients.get(client).as_deref(), call, exchange);
    }

    /// Asks for roots the one client whose gateway this is.
    pub(crate) fn ask_for_roots(&self, call: &Call) -> Option<oneshot::Receiver<Reply>> {
        let only = self.clients.only().filter(|_| self.audience() == Audience::One)?;
        let (exchange, answer) = Exchange::answered_to(only.id);
        only.client.ask(call.clone(), exchange);
        Some(answer)
    }

    fn ask_entry(&self, server: &Server, entry: Option<&Entry>, call: Call, exchange: Exchange) {
        let own_roots = call.method == Method::ListRoots && !server.roots.is_empty();
        match entry {
            Some(entry) if !own_roots => entry.client.ask(call, exchange),
            _ => {
                let config = self.fleet.config();
                answer_from_config(Some(roots_of(Some(server), &config.settings)), &call, exchange);
            }
        }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    pub(crate) fn opening(&self) -> &Opening {
        self.reopened.get().unwrap_or(&self.opening)
    }
}

fn changed_kinds(method: &str) -> Option<&'static [Kind]> {
    match method {
        notification::TOOLS_CHANGED => Some(&[Kind::Tools]),
        notification::RESOURCES_CHANGED => Some(&[Kind::Resources, Kind::Templates]),
        notification::PROMPTS_CHANGED => Some(&[Kind::Prompts]),
        _ => None,
    }
}

/// Returns the roots that the config has for a server.
pub(crate) fn roots_of<'c>(server: Option<&'c Server>, settings: &'c Settings) -> &'c [Root] {
    let own = server.map(|server| server.roots.as_slice()).filter(|roots| !roots.is_empty());
    own.unwrap_or(&settings.roots)
}

/// Answers a question that no client can: with roots where there is a config, all else is declined.
pub(crate) fn answer_from_config(roots: Option<&[Root]>, call: &Call, exchange: Exchange) {
    match roots {
        Some(roots) if call.method == Method::ListRoots => {
            let roots: Vec<Raw> = roots
                .iter()
                .map(|root| {
                    let mut object = RawObject::default();
                    object.set("uri", Raw::string(&root.uri));
                    if let Some(name) = &root.name {
                        object.set("name", Raw::string(name));
                    }
                    object.into_raw()
                })
                .collect();
            let mut result = RawObject::default();
            result.set("roots", Raw::array(&roots));
            exchange.finish(Ok(result.into_raw()));
        }
        _ => exchange.fail(Fault::ClientCannot { what: format!("`{}`", call.method) }),
    }
}
