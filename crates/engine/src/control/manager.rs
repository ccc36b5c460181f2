//! What the manager tools reach: a model sees and orders the servers of its own namespace, and nothing else
//! (S0-12, S1-16).

use std::sync::{Arc, Weak};

use manifold_protocol::Fault;

use super::rows::{NamespaceTable, ReloadRow, ServerRow};
use super::{Reloader, namespace};
use crate::gateway::Gateway;
use crate::upstream::{LoggedLine, Order, Upstream};

/// The hands of the manager tools of one namespace.
#[derive(Clone)]
pub struct NamespaceControl {
    gateway: Weak<Gateway>,
    reloader: Arc<dyn Reloader>,
}

impl NamespaceControl {
    pub(crate) fn new(gateway: Weak<Gateway>, reloader: Arc<dyn Reloader>) -> Self {
        Self { gateway, reloader }
    }

    pub fn servers(&self) -> Vec<ServerRow> {
        let Some(gateway) = self.gateway.upgrade() else { return Vec::new() };
        gateway.servers().into_iter().map(ServerRow::from).collect()
    }

    /// Returns what is wrong with the config beside its servers: why there are none, why a newer one is not in force, and
    /// what of this one is not as it should be.
    pub fn trouble(&self) -> Option<String> {
        let gateway = self.gateway.upgrade()?;
        let config = gateway.config();
        let told = gateway.trouble();
        // Of a config that could not be read they have been told just now.
        let also = config.problems_beside_servers().filter(|_| config.unread.is_none());
        let lines: Vec<String> =
            told.into_iter().chain(also.map(|problem| format!("In the config: {problem}"))).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Carries out an order on a server named by its id or its exposed id.
    pub async fn order(&self, id: &str, order: Order) -> Result<(), Fault> {
        self.upstream(id)?.order(order).await
    }

    pub fn logs(&self, id: &str, lines: usize) -> Result<Vec<String>, Fault> {
        let said = |line: LoggedLine| match line.client {
            Some(client) => format!("[client {}] {}", client.0, line.line),
            None => line.line,
        };
        Ok(self.upstream(id)?.logs(lines).into_iter().map(said).collect())
    }

    pub async fn reload(&self) -> Result<ReloadRow, String> {
        self.reloader.reload().await.map(ReloadRow::from)
    }

    pub fn namespaces(&self) -> Option<NamespaceTable> {
        let gateway = self.gateway.upgrade()?;
        let opening = gateway.opening();
        let namespaces = gateway.config().namespaces.iter().map(namespace::configured).collect();
        Some(NamespaceTable::of(namespaces, opening.namespace.clone(), opening.selection))
    }

    fn upstream(&self, id: &str) -> Result<Arc<dyn Upstream>, Fault> {
        let unknown = || Fault::UnknownServer { server: id.to_owned(), tool: String::new() };
        let gateway = self.gateway.upgrade().ok_or_else(unknown)?;
        let catalog = gateway.catalog();
        let mut members = catalog.view.members.iter().filter(|member| member.server.is_some());
        let found = members.find(|member| member.key.id == id || member.exposed_id == id);
        found.map(|member| Arc::clone(&member.upstream)).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests;
