//! What the protocol's extensions add: tasks that go on after their call was answered, and methods that only the
//! server that declares them understands.

use std::sync::Arc;

use manifold_config::{ServerKey, Sharing};
use manifold_protocol::{Answer, Call, Fault, Mark, Method, Raw, extension};

use super::task_owners::TaskOwners;
use super::{Gateway, standing};
use crate::catalog::{Catalog, Member};
use crate::changes::{ClientId, Topic};
use crate::exchange::{AnswerStep, Exchange};
use crate::principal::Principal;
use crate::upstream::Phase;

/// Stands between a server's exposed id, which never holds it, and its own id of a task.
const TASK_SEPARATOR: char = '.';

impl Gateway {
    /// Lets a client hear of a task under an id that leads back here.
    pub(super) fn naming_tasks(&self, member: &Member, exchange: Exchange) -> Exchange {
        // The replica that asks has names of its own for them.
        if self.opening().alone.is_some() {
            return exchange;
        }
        let (prefix, owners) = (member.exposed_id.clone(), Arc::clone(&self.task_owners));
        let is_shared = member.server.as_ref().is_none_or(|server| server.shared != Sharing::PerClient);
        let step = AnswerStep::NameTask { server: prefix.clone(), is_shared };
        exchange.then_step(step, move |reply, outer| {
            let named = reply.map(|answer| name_task(&prefix, &owners, outer.principal(), is_shared, answer));
            outer.finish(named);
        })
    }

    /// Sends a request about a task to the server it runs on.
    pub(super) fn task(&self, mut call: Call, mut exchange: Exchange) {
        // Who never heard of tasks cannot have been given one.
        if !may_be_task(&call) {
            let required = Raw::from_static(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
            return exchange.fail(Fault::MissingCapability { required });
        }
        let Some(id) = call.text_param("taskId") else {
            return exchange.fail(Fault::InvalidParams("`taskId` must be the id of a task".to_owned()));
        };
        let catalog = self.catalog.load();
        let is_theirs = self.task_owners.permits(&id, exchange.principal());
        let Some((at, own)) = self.task_owner(&catalog, &id).filter(|_| is_theirs) else {
            return exchange.fail(Fault::InvalidParams(format!("there is no task '{id}'")));
        };
        let member = catalog.member(at);
        call.set_param("taskId", Raw::string(own));
        exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
        if self.opening().alone.is_some() {
            return member.upstream.send(call, exchange);
        }
        let prefix = member.exposed_id.clone();
        let step = AnswerStep::ExposeTask { server: prefix.clone() };
        let exchange = exchange.then_step(step, move |reply, outer| {
            outer.finish(reply.map(|answer| answer.map(|result| expose_task(&prefix, result))));
        });
        member.upstream.send(call, exchange);
    }

    /// Notes that a client wants to hear of a task. Returns the server that must be told.
    pub(super) fn follow_task(&self, client: ClientId, id: &str) -> Option<(Arc<dyn crate::Upstream>, Raw)> {
        let catalog = self.catalog.load();
        let (at, own) = self.task_owner(&catalog, id)?;
        let member = catalog.member(at);
        standing(member).tasks.insert(own.to_owned());
        if self.clients.subscribe(client, Topic::Task, id).is_err() {
            self.leave_task(id);
            return None;
        }
        Some((Arc::clone(&member.upstream), Raw::string(own)))
    }

    /// Takes back that a client wants to hear of a task.
    pub(super) fn unfollow_task(&self, client: ClientId, id: &str) {
        self.clients.unsubscribe(client, Topic::Task, id);
        self.leave_task(id);
    }

    /// Lets a task stand no longer unless some client follows it; its server then listens for what still stands.
    pub(super) fn leave_task(&self, id: &str) {
        let catalog = self.catalog.load();
        let Some((at, own)) = self.task_owner(&catalog, id) else { return };
        let member = catalog.member(at);
        // Namespaces that share a server share what it is asked for.
        let follows = |gateway: &Arc<Gateway>| gateway.follows(&member.key, own);
        if member.users.gateways().iter().any(follows) || !standing(member).tasks.remove(own) {
            return;
        }
        if member.upstream.status().phase == Phase::Ready {
            member.upstream.send(Call::new(Method::Listen, None), Exchange::detached());
        }
    }

    /// Returns whether a client of this namespace wants to hear of a server's task.
    fn follows(&self, server: &ServerKey, own: &str) -> bool {
        let Some(exposed) = self.exposed_task(server, own) else { return false };
        self.clients.has_subscribers(Topic::Task, &exposed)
    }

    /// Returns the id under which clients know a server's task.
    pub(super) fn exposed_task(&self, server: &ServerKey, own: &str) -> Option<String> {
        let catalog = self.catalog.load();
        let member = catalog.view.members.iter().find(|member| member.key == *server)?;
        Some(match self.opening().alone {
            Some(_) => own.to_owned(),
            None => exposed_id(&member.exposed_id, own),
        })
    }

    /// Returns the server that a task runs on, and its own id of it.
    pub(super) fn task_owner<'i>(&self, catalog: &Catalog, id: &'i str) -> Option<(usize, &'i str)> {
        match &self.opening().alone {
            Some(key) => {
                let at = catalog.view.members.iter().position(|member| member.key == *key)?;
                Some((at, id))
            }
            None => task_owner(catalog, id),
        }
    }

    /// Passes a method we have no decision for to the one server that declares extensions to the protocol.
    pub(super) fn extension(self: &Arc<Self>, mut call: Call, mut exchange: Exchange, asked: bool) {
        let catalog = self.catalog.load();
        match able(&catalog, &call) {
            (Some(at), None) => {
                let member = catalog.member(at);
                exchange.set_target_of(&mut call, Arc::clone(&member.target), member);
                member.upstream.send(call, exchange);
            }
            (None, _) if !asked && self.may_have_extensions(&catalog, &call) => {
                self.with_listings(exchange, move |gateway, exchange| {
                    gateway.extension(call, exchange, true)
                });
            }
            _ => exchange.fail(Fault::UnknownMethod(call.method.as_str().to_owned())),
        }
    }

    /// Servers are started to find out only for a client that may speak of extensions at all.
    pub(super) fn may_have_extensions(&self, catalog: &Catalog, call: &Call) -> bool {
        call.caller.as_ref().is_some_and(|caller| caller.retries)
            && catalog.view.members.iter().any(|member| member.upstream.listing().is_none())
    }
}

/// Returns who could answer a method that we have no decision for, and whoever else could.
pub(super) fn able(catalog: &Catalog, call: &Call) -> (Option<usize>, Option<usize>) {
    let mut able = (0..catalog.view.members.len())
        .filter(|at| declares_extension(catalog.member(*at), call) && permits_extension(catalog, *at, call));
    (able.next(), able.next())
}

/// Returns whether a member declares an extension that a call could belong to.
fn declares_extension(member: &Member, call: &Call) -> bool {
    let Some(listing) = member.upstream.listing() else { return false };
    let declared = listing.capabilities.as_ref().and_then(|capabilities| capabilities.get("extensions"));
    let Some(declared) = declared.and_then(|extensions| extensions.object()) else { return false };
    if call.method.as_str().starts_with("skills/") || call.method.as_str() == "resources/directory/read" {
        return declared.contains(extension::SKILLS);
    }
    // Those we know have their methods in our table.
    declared.keys().any(|key| ![extension::TASKS, extension::SKILLS, extension::UI].contains(&&*key))
}

/// Returns whether policy lets a call of an extension through: it must permit what no rule names, and the resource where
/// the call names one.
fn permits_extension(catalog: &Catalog, member: usize, call: &Call) -> bool {
    catalog.permits_unnamed(member)
        && call.text_param("uri").is_none_or(|uri| catalog.permits_uri(member, &uri))
}

fn task_owner<'i>(catalog: &Catalog, id: &'i str) -> Option<(usize, &'i str)> {
    let (server, own) = id.split_once(TASK_SEPARATOR)?;
    let at = catalog.view.members.iter().position(|member| member.exposed_id == server)?;
    Some((at, own))
}

fn exposed_id(prefix: &str, own: &str) -> String {
    format!("{prefix}{TASK_SEPARATOR}{own}")
}

/// Lets a task that was begun be known by its exposed id, and notes whose it is.
pub(super) fn name_task(
    prefix: &str,
    owners: &TaskOwners,
    principal: &Principal,
    is_shared: bool,
    answer: Answer,
) -> Answer {
    let exposed = |result: Raw| {
        let task = expose_task(prefix, result);
        if let Some(id) = task.get("taskId").as_ref().and_then(Raw::to_text) {
            owners.note(&id, principal, is_shared);
        }
        task
    };
    match answer.mark() {
        Mark::Extension => answer.map(exposed),
        Mark::None | Mark::Complete | Mark::InputRequired => answer,
    }
}

/// Puts the exposed id in the place of the server's own.
pub(super) fn expose_task(prefix: &str, task: Raw) -> Raw {
    let renamed = || {
        let own = task.get("taskId")?;
        let exposed = exposed_id(prefix, &own.to_text()?);
        let mut object = task.object()?;
        object.set("taskId", Raw::string(&exposed));
        Some(object.into_raw())
    };
    renamed().unwrap_or(task)
}

/// Says which answers are about a task, for those who only know the bytes.
pub(super) fn may_be_task(call: &Call) -> bool {
    call.caller.as_ref().is_some_and(|caller| caller.takes_tasks())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_known_by_its_server_and_its_own_id() {
        let task = Raw::from_static(r#"{"resultType":"task","taskId":"a.b","status":"working"}"#);
        let exposed = expose_task("one", task);
        assert_eq!(exposed.as_str(), r#"{"resultType":"task","taskId":"one.a.b","status":"working"}"#);
        let odd = Raw::from_static(r#"{"status":"working"}"#);
        assert_eq!(expose_task("one", odd.clone()), odd);
    }
}
