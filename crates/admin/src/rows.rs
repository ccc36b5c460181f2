//! What the command line writes with `--json`: a row for each thing, made of what the gateway says of it. Members that
//! scripts rely on are always there, `null` where nothing is known; others are left out.

mod entries;
mod reports;
mod setup;
mod tokens;

use serde::{Deserialize, Serialize};

use crate::command::CommandError;
use crate::error::{Error, Problem};
use crate::item::ListedItem;
use crate::snapshot::Snapshot;
use crate::snapshot::client::Client;
use crate::snapshot::namespace::Namespace;
use crate::snapshot::server::{Instance, Server, Target};
use crate::snapshot::sign_in::SignIn;
use crate::words::{ClientTransport, Era, Kind, Start, State};
pub use entries::{EntriesChanged, FoundEntry, ImportReport, SkippedEntry, UnreadFile};
pub use reports::{
    ConfigReport, DaemonHttp, DaemonInstance, DaemonOrdered, DaemonServer, DaemonStatus, Disconnected,
    NamespaceDetail, NoDaemon, RunningDaemon, ShownConfig,
};
pub use setup::{
    CopiedCredential, DoctorCheck, DoctorReport, DoctorStatus, FailedClient, InitReport, InstalledRow,
    LeftFile, LoginReport, LogoutReport, RegistryRow, RegistryWay, SecretChanged, SecretRow, SecretsReport,
    StoreCopied, StoreRekeyed, UndoReport, UndoRow,
};
pub use tokens::{TokenChanged, TokenRow};

/// A line of `list --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ServerRow {
    pub id: String,
    /// The schema that owns it, in a file of schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub state: State,
    pub kind: Kind,
    /// How many it offers, or offered when it last ran; 0 if that is not known.
    pub tools: usize,
    /// Whether it is known what it offers.
    pub listed: bool,
    /// How many clients would use it.
    pub clients: usize,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How one is signed in to it; none where nobody signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignIn>,
}

/// `get NAME --json`, and what `start`, `stop`, `restart` and `wait` write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ServerDetail {
    #[serde(flatten)]
    pub row: ServerRow,
    pub name: String,
    /// Why it is in this state; `null` for one that simply works.
    pub why: Option<String>,
    /// The program that is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The origin that is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub enabled: bool,
    pub start: Start,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    pub instances: Vec<Instance>,
    /// Of all instances.
    pub pids: Vec<u32>,
    pub restarts: u64,
    pub calls: u64,
    pub errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_bytes: Option<usize>,
    /// What went wrong last, also if it has recovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Error>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Who said so: `daemon`, `http`, `own`, or `files` where nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

/// `status --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct StatusReport {
    /// `null`: what is built in.
    pub config: Option<String>,
    pub problems: Vec<Problem>,
    /// `null`: nothing runs.
    pub running: Option<Running>,
    pub servers: Vec<ServerRow>,
}

/// The gateway that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Running {
    pub pid: u32,
    /// `daemon` or `http`.
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_ms: Option<u64>,
}

/// A line of `tools --json`, `resources --json` and `prompts --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ItemRow {
    pub name: String,
    pub server: String,
    pub original: String,
    pub description: Option<String>,
    pub bytes: usize,
}

/// A line of `clients --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClientRow {
    pub id: u64,
    pub name: Option<String>,
    pub version: Option<String>,
    pub era: Option<Era>,
    pub transport: Option<ClientTransport>,
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// RFC 3339, in UTC.
    pub since: String,
}

/// A line of `ns --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NamespaceRow {
    /// `null`: all servers, where no namespace is chosen.
    pub id: Option<String>,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    pub served: bool,
    pub servers: Vec<String>,
    pub tools: Option<usize>,
    pub clients: Option<usize>,
}

/// What a verb that failed writes to its standard error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ErrorLine {
    pub error: ErrorRow,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorRow {
    /// A word of the control API's, or one of the command line's own such as `not-running`.
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl ServerRow {
    /// Makes the row of a server; its clients are those of its instances.
    pub fn of(server: &Server) -> Self {
        let tools = server.lists.map(|lists| lists.tools).or(server.saved.and_then(|saved| saved.tools));
        let wrong = wrong(server);
        Self {
            id: server.key.id.clone(),
            schema: server.key.schema.clone(),
            state: server.state,
            kind: server.kind,
            tools: tools.unwrap_or(0),
            listed: tools.is_some(),
            clients: of_instances(server).unwrap_or(0),
            error: wrong.map(|error| error.text.clone()),
            hint: wrong.and_then(|error| error.hint.clone()),
            sign_in: server.sign_in.clone(),
        }
    }
}

impl Snapshot {
    /// Makes the rows of all servers. Where instances do not count their clients, those of the namespaces that show the
    /// server are counted.
    pub fn server_rows(&self) -> Vec<ServerRow> {
        self.servers.iter().map(|server| self.server_row(server)).collect()
    }

    /// Makes the row of one of its servers.
    pub fn server_row(&self, server: &Server) -> ServerRow {
        let row = ServerRow::of(server);
        match of_instances(server) {
            Some(_) => row,
            None => ServerRow { clients: self.clients_of(server), ..row },
        }
    }

    /// Makes all there is to say of one of its servers.
    pub fn server_detail(&self, server: &Server) -> ServerDetail {
        ServerDetail { row: self.server_row(server), ..ServerDetail::of(server) }
    }

    fn clients_of(&self, server: &Server) -> usize {
        let shows = |id: &Option<String>| {
            self.namespaces.iter().any(|one| one.id == *id && one.servers.contains(&server.key))
        };
        self.clients.iter().filter(|client| shows(&client.namespace)).count()
    }
}

impl ServerDetail {
    pub fn of(server: &Server) -> Self {
        let (command, url) = match &server.target {
            Target::Program { command, .. } => (Some(command.clone()), None),
            Target::Address { origin } => (None, Some(origin.clone())),
            Target::Builtin { .. } | Target::Other => (None, None),
        };
        let calls = server.calls.unwrap_or_default();
        let instances = &server.instances;
        let memory: Vec<u64> = instances.iter().filter_map(|one| one.memory_bytes).collect();
        Self {
            row: ServerRow::of(server),
            name: server.name.clone(),
            why: why(server),
            command,
            url,
            enabled: server.enabled,
            start: server.start,
            since_ms: server.since_ms,
            pids: pids(server),
            restarts: instances.iter().filter_map(|one| one.restarts).sum(),
            calls: calls.total.unwrap_or(0),
            errors: calls.failed.unwrap_or(0),
            p50_us: calls.p50_us,
            p95_us: calls.p95_us,
            memory_bytes: (!memory.is_empty()).then(|| memory.iter().sum()),
            tool_bytes: server.tool_bytes,
            last_error: instances.iter().filter_map(|one| one.last_error.clone()).min_by_key(|e| e.ago_ms),
            problems: server.problems.clone(),
            instances: instances.clone(),
            answered_by: None,
        }
    }
}

impl ClientRow {
    /// Makes the row of a client that came at `since`.
    pub fn of(client: &Client, since: String) -> Self {
        Self {
            id: client.id,
            name: client.name.clone(),
            version: client.version.clone(),
            era: client.protocol.as_ref().and_then(|protocol| protocol.era),
            transport: client.transport,
            namespace: client.namespace.clone(),
            pid: client.pid,
            since,
        }
    }
}

impl NamespaceRow {
    pub fn of(namespace: &Namespace) -> Self {
        Self {
            id: namespace.id.clone(),
            name: namespace.name.clone(),
            description: namespace.description.clone(),
            enabled: namespace.enabled,
            served: namespace.served,
            servers: namespace.servers.iter().map(ToString::to_string).collect(),
            tools: namespace.lists.map(|lists| lists.tools),
            clients: namespace.clients,
        }
    }
}

impl From<ListedItem> for ItemRow {
    fn from(item: ListedItem) -> Self {
        let ListedItem { name, server, original, description, bytes, item: _ } = item;
        Self { name, server, original, description, bytes }
    }
}

impl From<&CommandError> for ErrorLine {
    fn from(error: &CommandError) -> Self {
        let error = ErrorRow {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            hint: error.hint.clone(),
            server: error.server.as_ref().map(ToString::to_string),
        };
        Self { error }
    }
}

/// Returns what is wrong with a server now; what went wrong before it recovered does not count.
fn wrong(server: &Server) -> Option<&Error> {
    // Nobody misses what is not to be used.
    let is_used = server.state != State::Disabled;
    server.fault.as_ref().or(server.error.as_ref()).filter(|_| is_used)
}

/// Returns how many clients use a server's instances, if those count them.
fn of_instances(server: &Server) -> Option<usize> {
    let counts = |one: &Instance| one.clients.or(one.client.map(|_| 1));
    server.instances.iter().filter_map(counts).fold(None, |sum, count| Some(sum.unwrap_or(0) + count))
}

fn pids(server: &Server) -> Vec<u32> {
    let mut pids: Vec<u32> = Vec::new();
    let of_instances = server.instances.iter().flat_map(|one| one.pid.iter().chain(&one.pids));
    for pid in of_instances.chain(&server.pid) {
        if !pids.contains(pid) {
            pids.push(*pid);
        }
    }
    pids
}

fn why(server: &Server) -> Option<String> {
    if let Some(error) = wrong(server) {
        return Some(error.text.clone());
    }
    let why = match server.state {
        State::Idle if server.start == Start::Manual => "it is started by order only",
        State::Idle => "the first call starts it",
        State::Starting => "it is being started",
        State::Ready if server.unresponsive => "it runs and gives no sign of life",
        State::Stopped => "an operator stopped it",
        State::Disabled => "the config says that it is not to be used",
        State::NeedsLogin => "it wants to know who asks, and nobody has signed in",
        State::Failed => "it does not work",
        State::Ready | State::Other => return None,
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests;
