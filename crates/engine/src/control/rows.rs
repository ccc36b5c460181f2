//! What the manager tools show a model: the operator's words of one namespace, in the shapes that S1 gives them.

use std::time::Duration;

use manifold_admin as admin;
use serde::Serialize;

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
    /// The finer word: `idle`, `starting`, `ready`, `unresponsive`, `failed` or `stopped`.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime: Option<String>,
    pub tool_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How one is signed in to it; none where nobody signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<admin::SignIn>,
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

/// `config_reload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReloadRow {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub restarted: Vec<String>,
    pub unchanged: usize,
    pub problems: Vec<String>,
}

impl From<admin::Server> for ServerRow {
    fn from(server: admin::Server) -> Self {
        let running = server.state == admin::State::Ready;
        let (command, url) = match server.target {
            admin::Target::Program { command, .. } => (Some(command), None),
            admin::Target::Address { origin } => (None, Some(origin)),
            admin::Target::Builtin { .. } | admin::Target::Other => (None, None),
        };
        Self {
            id: server.key.id,
            name: server.name,
            kind: server.kind.as_str(),
            enabled: server.enabled,
            command,
            url,
            status: if running { "running" } else { "stopped" },
            state: if server.unresponsive { "unresponsive" } else { state(server.state) },
            pid: server.pid,
            uptime: server.since_ms.filter(|_| running).map(uptime),
            tool_count: server.lists.map_or(0, |lists| lists.tools),
            error: server.error.map(admin::Error::told),
            sign_in: server.sign_in.filter(|sign_in| sign_in.state != "unknown"),
            problems: server.problems.iter().map(ToString::to_string).collect(),
            instances: server.instances.into_iter().filter_map(instance).collect(),
        }
    }
}

fn instance(instance: admin::Instance) -> Option<InstanceRow> {
    let is_ready = instance.state == admin::State::Ready;
    Some(InstanceRow {
        client: instance.client?,
        state: state(instance.state),
        pid: instance.pid,
        uptime: is_ready.then(|| uptime(instance.since_ms)),
        error: instance.error.filter(|_| !is_ready).map(|error| error.text),
    })
}

/// Returns the word a model knows for a state.
fn state(state: admin::State) -> &'static str {
    match state {
        admin::State::Disabled => admin::State::Stopped.as_str(),
        admin::State::NeedsLogin => admin::State::Failed.as_str(),
        state => state.as_str(),
    }
}

impl NamespaceTable {
    /// Lists namespaces and marks the one that is served here.
    pub(super) fn of(
        namespaces: Vec<admin::Namespace>,
        active: Option<String>,
        selection: &'static str,
    ) -> Self {
        let row = |namespace: admin::Namespace| {
            Some(NamespaceRow {
                active: active == namespace.id,
                id: namespace.id?,
                name: namespace.name,
                description: namespace.description,
                server_count: namespace.servers.len(),
                server_ids: ids(namespace.servers),
            })
        };
        let namespaces = namespaces.into_iter().filter_map(row).collect();
        Self { active_namespace_id: active, selection, namespaces }
    }
}

impl From<admin::ReloadReport> for ReloadRow {
    fn from(report: admin::ReloadReport) -> Self {
        Self {
            added: ids(report.added),
            removed: ids(report.removed),
            restarted: ids(report.restarted),
            unchanged: report.unchanged,
            problems: report.problems.iter().map(ToString::to_string).collect(),
        }
    }
}

fn ids(servers: Vec<admin::ServerId>) -> Vec<String> {
    servers.into_iter().map(|server| server.id).collect()
}

/// Writes a duration as `1h2m3s`.
fn uptime(millis: u64) -> String {
    let seconds = Duration::from_millis(millis).as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_read_as_people_write_them() {
        let shown = [0, 59, 60, 3599, 3600, 90061].map(|seconds| uptime(seconds * 1000));
        assert_eq!(shown, ["0s", "59s", "1m0s", "59m59s", "1h0m0s", "25h1m1s"]);
    }
}
