//! What an operator may see and do through the manager tools: configured servers by name, nothing else.

use std::sync::{Arc, Weak};
use std::time::Duration;

use manifold_config::{Config, ProcessDialect, RemoteKind, Transport};
use manifold_protocol::{Fault, Kind};
use serde::Serialize;

use crate::catalog::{Catalog, Member};
use crate::changes::ClientId;
use crate::discovery::Discovery;
use crate::gateway::Gateway;
use crate::upstream::{BoxFuture, Item, Order, Phase, Status, Upstream};

/// Reads the config file anew and takes it over.
pub trait Reloader: Send + Sync {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>>;
}

/// What a reload changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReloadReport {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub restarted: Vec<String>,
    pub unchanged: usize,
    pub problems: Vec<String>,
}

/// One line of `servers_list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerRow {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `running` or `stopped`.
    pub status: &'static str,
    /// The finer word: `idle`, `starting`, `ready`, `failed` or `stopped`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<String>,
    pub tool_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is wrong with it in the config.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Where clients have a process each (`shared: false`), those there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceRow>,
}

/// One client's own process of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRow {
    /// Tells clients apart, and means nothing else.
    pub client: u64,
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `namespaces_list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceTable {
    pub active_namespace_id: Option<String>,
    pub selection: &'static str,
    pub namespaces: Vec<NamespaceRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRow {
    pub id: String,
    pub name: String,
    pub description: String,
    pub active: bool,
    pub server_count: usize,
    pub server_ids: Vec<String>,
}

/// The manager's hands. It reaches the servers of its own namespace only (S0-12, S1-16).
#[derive(Clone)]
pub struct Control {
    gateway: Weak<Gateway>,
    reloader: Arc<dyn Reloader>,
}

impl Control {
    pub(crate) fn new(gateway: Weak<Gateway>, reloader: Arc<dyn Reloader>) -> Self {
        Self { gateway, reloader }
    }

    pub fn servers(&self) -> Vec<ServerRow> {
        let Some(gateway) = self.gateway.upgrade() else { return Vec::new() };
        gateway.servers()
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
        Ok(self.upstream(id)?.logs(lines))
    }

    pub async fn reload(&self) -> Result<ReloadReport, String> {
        self.reloader.reload().await
    }

    pub fn namespaces(&self) -> Option<NamespaceTable> {
        let gateway = self.gateway.upgrade()?;
        let active = gateway.opening().namespace.clone();
        let config = gateway.config();
        let namespaces = config
            .namespaces
            .iter()
            .map(|namespace| NamespaceRow {
                id: namespace.id.clone(),
                name: namespace.name.clone(),
                description: namespace.description.clone(),
                active: active.as_ref() == Some(&namespace.id),
                server_count: namespace.servers.len(),
                server_ids: namespace.servers.iter().map(|key| key.id.clone()).collect(),
            })
            .collect();
        let selection = gateway.opening().selection;
        Some(NamespaceTable { active_namespace_id: active, selection, namespaces })
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

/// Returns one row for each server of a namespace.
pub(crate) fn rows(catalog: &Catalog, discovery: &Discovery, config: &Config) -> Vec<ServerRow> {
    let members = catalog.view.members.iter().enumerate();
    let rows = members.filter_map(|(at, member)| {
        let problems = config.problems_of(&member.key).map(ToString::to_string).collect();
        Some(ServerRow { problems, ..row_of(catalog, discovery, at, member)? })
    });
    rows.collect()
}

fn row_of(catalog: &Catalog, discovery: &Discovery, at: usize, member: &Member) -> Option<ServerRow> {
    let permitted = |tool: &&Item| catalog.permits(at, Kind::Tools, &tool.label);
    let tools = member.upstream.listing().map_or(0, |list| list.tools.iter().filter(permitted).count());
    let mut row = row(member.server.as_deref()?, member.upstream.as_ref(), tools);
    // One that stands in line for its start is as good as started (D3).
    if row.state == "idle" && discovery.is_underway(&member.key) {
        row.state = "starting";
    }
    Some(row)
}

fn row(server: &manifold_config::Server, upstream: &dyn Upstream, tool_count: usize) -> ServerRow {
    let status = upstream.status();
    let running = status.phase == Phase::Ready;
    let (state, error) = match &status.phase {
        Phase::Ready if upstream.is_unresponsive() => {
            ("unresponsive", Some("it gives no sign of life; restart it if it does not recover".to_owned()))
        }
        phase => state(phase),
    };
    let (command, url) = match &server.transport {
        Transport::Process(process) => (Some(process.command.clone()), None),
        // The rest of the address may hold secrets, and a model reads this.
        Transport::Remote(remote) => (None, Some(remote.origin())),
        Transport::Builtin(_) => (None, None),
    };
    ServerRow {
        id: server.key.id.clone(),
        name: server.display_name.clone(),
        kind: kind(&server.transport),
        enabled: server.enabled,
        command,
        url,
        status: if running { "running" } else { "stopped" },
        state,
        pid: status.pid,
        uptime: running.then(|| uptime(status.since.elapsed())),
        tool_count,
        error,
        problems: Vec::new(),
        instances: upstream.instances().into_iter().map(instance).collect(),
    }
}

fn instance((client, status): (ClientId, Status)) -> InstanceRow {
    let (state, error) = state(&status.phase);
    let uptime = (status.phase == Phase::Ready).then(|| uptime(status.since.elapsed()));
    InstanceRow { client: client.0, state, pid: status.pid, uptime, error }
}

/// Returns the word for a phase, and what went wrong in it.
fn state(phase: &Phase) -> (&'static str, Option<String>) {
    match phase {
        Phase::Idle => ("idle", None),
        Phase::Starting => ("starting", None),
        Phase::Ready => ("ready", None),
        Phase::Failed(fault) => ("failed", Some(fault.message())),
        Phase::Stopped => ("stopped", None),
    }
}

fn kind(transport: &Transport) -> &'static str {
    match transport {
        Transport::Builtin(_) => "builtin",
        Transport::Process(process) => match process.dialect {
            ProcessDialect::Mcp => "stdio",
            ProcessDialect::LiteMcp => "litemcp",
        },
        Transport::Remote(remote) => match remote.kind {
            RemoteKind::Auto | RemoteKind::StreamableHttp => "http",
            RemoteKind::Sse => "sse",
            RemoteKind::LiteMcp => "litemcp",
        },
    }
}

/// Writes a duration as `1h2m3s`.
fn uptime(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests;
