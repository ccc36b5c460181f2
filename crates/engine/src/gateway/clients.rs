//! Clients as they come, listen and go.

use std::sync::Arc;

use manifold_admin::ClientChange;
use manifold_protocol::{Call, Kind, Method};

use super::Gateway;
use crate::changes::{Client, ClientId};
use crate::exchange::Exchange;
use crate::outbox::Outbox;
use crate::principal::Principal;
use crate::upstream::BoxFuture;

impl Gateway {
    pub fn attach(&self, client: Arc<dyn Client>) -> ClientId {
        let id = self.clients.attach(client, None);
        self.tell_of_client(ClientChange::Came, id);
        id
    }

    /// Attaches one that only listens. What it is subscribed to counts for the client whose listening it is.
    pub fn attach_for(&self, owner: ClientId, client: Arc<dyn Client>) -> ClientId {
        self.clients.attach(client, Some(owner))
    }

    /// Forgets a client and ends the subscriptions and the server processes that were its alone.
    pub fn detach(self: &Arc<Self>, id: ClientId) {
        let entry = self.clients.session(id);
        self.fleet.client_left(id);
        let left = self.clients.detach(id);
        // After it is gone: whoever looks after the event does not find it.
        if let Some(entry) = entry {
            self.tell_of_entry(ClientChange::Left, &entry);
        }
        left.tasks.iter().for_each(|task| self.leave_task(task));
        self.end_subscriptions(left.uris);
    }

    /// Returns an id for a client that is known by a single call.
    pub fn passer_by(&self) -> ClientId {
        if self.is_operators() { ClientId::fresh_operator() } else { ClientId::fresh() }
    }

    /// Tells that a passer-by calls no more: server processes that were its alone end with its last call.
    pub fn passed_by(&self, id: ClientId) {
        self.fleet.client_left(id);
    }

    /// Lets a client hear of changes to these lists, from now on.
    pub fn watch(&self, id: ClientId, kinds: &[Kind]) {
        for kind in kinds {
            self.clients.served(Some(id), *kind);
        }
    }

    /// Lets a client hear of changes to all lists, which another gateway may have served it.
    pub fn may_have_looked(&self, id: ClientId) {
        self.clients.may_have_been_served(id);
    }

    /// Lets a client hear of tasks that are its principal's. Resolves to those that are followed.
    pub fn watch_tasks(
        self: &Arc<Self>,
        id: ClientId,
        who: &Principal,
        tasks: Vec<String>,
    ) -> BoxFuture<Vec<String>> {
        let told: Vec<_> = tasks
            .into_iter()
            .filter(|task| self.task_owners.permits(task, who))
            .filter_map(|task| {
                let (upstream, own) = self.follow_task(id, &task)?;
                let (exchange, answer) = Exchange::answered_to(id);
                let mut listen = Call::new(Method::Listen, None);
                listen.set_param("taskId", own);
                upstream.send(listen, exchange);
                Some((task, answer))
            })
            .collect();
        let gateway = Arc::clone(self);
        Box::pin(async move {
            let mut followed = Vec::new();
            for (task, answer) in told {
                if matches!(answer.await, Ok(Ok(_))) {
                    followed.push(task);
                } else {
                    gateway.unfollow_task(id, &task);
                }
            }
            followed
        })
    }

    /// Tells where all that is for its one client goes: servers that work for nobody else wait while it does not read.
    pub fn serve_only(&self, outbox: &Arc<Outbox>) {
        self.downstream.set_outbox(outbox);
    }
}
