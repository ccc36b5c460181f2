//! What servers say of themselves and to everybody: changes, notifications, questions outside any call.

use std::sync::{Arc, PoisonError};

use manifold_config::{Config, Server, ServerKey};
use manifold_protocol::{Call, Fault, Kind, Method, Raw, RawObject, notification};

use super::listings::may_discover;
use super::view::view;
use super::{Gateway, Opening};
use crate::catalog::{Catalog, Member, View};
use crate::changes::Level;
use crate::exchange::Exchange;

impl Gateway {
    pub(crate) fn has(&self, server: &ServerKey) -> bool {
        self.catalog.load().view.members.iter().any(|member| member.key == *server)
    }

    /// Takes over changed listings.
    pub(crate) fn refresh(&self) {
        self.replace(|old| Arc::clone(&old.view));
    }

    /// Takes over a changed config.
    pub(crate) fn rebuild(&self) {
        let before = self.catalog.load_full();
        self.replace(|_| Arc::new(view(&self.fleet, &self.opening, &self.manager)));
        let is_new = |member: &&Member| {
            !before.view.members.iter().any(|old| Arc::ptr_eq(&old.upstream, &member.upstream))
        };
        // Nobody would ask for the lists of a server nobody has heard of.
        if self.catalog.load().view.members.iter().filter(is_new).any(may_discover) {
            Kind::ALL.into_iter().for_each(|kind| self.clients.bump(kind));
        }
    }

    pub(super) fn replace(&self, view: impl FnOnce(&Catalog) -> Arc<View>) {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.catalog.load_full();
        let new = Arc::new(Catalog::build(view(&old)));
        self.catalog.store(Arc::clone(&new));
        for kind in Kind::ALL {
            if old.list(kind).items != new.list(kind).items {
                self.clients.bump(kind);
            }
        }
    }

    /// Passes a server's notification on to the clients it concerns.
    pub(crate) fn notice(&self, server: &ServerKey, method: &str, params: Option<Raw>) {
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
        let Some(params) = params else { return };
        let Some(original) = params.get("uri").and_then(|uri| Some(uri.to_text()?.into_owned())) else {
            return;
        };
        let catalog = self.catalog.load();
        let member = catalog.view.members.iter().position(|member| member.key == *server);
        let exposed = member.and_then(|at| catalog.exposed_uri(at, &original));
        let exposed = exposed.unwrap_or_else(|| original.as_str().into());
        let params = if exposed == original {
            params
        } else {
            let mut object = params.object().unwrap_or_default();
            object.set("uri", Raw::string(&exposed));
            object.into_raw()
        };
        let entries = self.clients.all();
        let alone = entries.len() == 1;
        for entry in entries.iter().filter(|entry| alone || entry.subscribes(&exposed)) {
            entry.client.notify(method, Some(params.clone()));
        }
    }

    pub(super) fn notice_task(&self, server: &ServerKey, params: Option<Raw>) {
        let Some(params) = params else { return };
        let own = params.get("taskId");
        let own = own.as_ref().and_then(|id| id.to_text());
        let Some(exposed) = own.and_then(|own| self.exposed_task(server, &own)) else { return };
        let mut object = params.object().unwrap_or_default();
        object.set("taskId", Raw::string(&exposed));
        let params = object.into_raw();
        for entry in self.clients.all().iter().filter(|entry| entry.follows(&exposed)) {
            entry.client.notify(notification::TASKS, Some(params.clone()));
        }
    }

    /// Brings a question asked outside any call to the client, where there is exactly one (decision 29).
    pub(crate) fn ask(&self, server: &ServerKey, call: Call, exchange: Exchange) {
        let config = self.fleet.config();
        let has_roots = |one: &Server| one.key == *server && !one.roots.is_empty();
        let own_roots = call.method == Method::ListRoots && config.servers.iter().any(has_roots);
        match self.clients.only() {
            Some(entry) if !own_roots => entry.client.ask(call, exchange),
            _ => answer_from_config(Some(&config), Some(server), &call, exchange),
        }
    }

    /// Answers a question that has no client to go to.
    pub(crate) fn answer_alone(
        config: Option<Arc<Config>>,
        server: &ServerKey,
        call: Call,
        exchange: Exchange,
    ) {
        answer_from_config(config.as_deref(), Some(server), &call, exchange);
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
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

pub(super) fn answer_from_config(
    config: Option<&Config>,
    server: Option<&ServerKey>,
    call: &Call,
    exchange: Exchange,
) {
    let roots = config.map(|config| {
        let own = config.servers.iter().find(|candidate| Some(&candidate.key) == server);
        let own = own.map(|server| server.roots.clone()).filter(|roots| !roots.is_empty());
        own.unwrap_or_else(|| config.settings.roots.clone())
    });
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
