//! The checked configuration: what the rest of the program sees. A wrong one cannot be built outside this crate.

mod door;
mod server;
mod settings;
mod telemetry;
mod transport;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::file::join;
use crate::problem::Problem;
use crate::profile::Profile;
pub use door::{Auth, Grant, Introspection, NamedToken, SIGNATURES, TokenDigest, TokenOrigin};
pub use server::{EraSetting, Replicas, Server, ServerFault, ServerKey, ServerStart, Sharing};
pub use settings::{
    ClientCerts, ClientLimits, Cors, DaemonSettings, DashboardSettings, HttpSettings, Limits, LogFormat,
    LogLevel, LogSettings, Root, ScaleSettings, Settings, Tls,
};
pub use telemetry::{AuditTarget, CallAudit, METRICS_ADDRESS, RateRule, RateScope, TelemetrySettings};
pub use transport::{
    Builtin, DEFAULT_ACCOUNT, GrantSetting, InheritEnv, ProcessDialect, ProcessSpec, RemoteKind, RemoteSpec,
    ResourceSetting, SignIn, Transport,
};

/// One configuration, complete and checked.
#[derive(Debug, Clone)]
pub struct Config {
    pub profile: Profile,
    pub source: Source,
    pub settings: Settings,
    /// In the order of the file; `Server::key` is unique.
    pub servers: Vec<Server>,
    /// In the order of the file. A file without namespaces has none.
    pub namespaces: Vec<Namespace>,
    /// `defaultNamespaceId` or `defaultNamespace`, as written.
    pub default_namespace: Option<String>,
    /// Everything found wrong that did not stop us: warnings, and servers that cannot work.
    pub problems: Vec<Problem>,
    /// Why the file could not be used, where an empty configuration stands in for it (`stand_in`).
    pub unread: Option<String>,
}

/// Where a configuration came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// `None` for the embedded default.
    pub path: Option<PathBuf>,
    pub format: Format,
    /// Whose file it is, if it is another program's.
    pub client: Option<&'static str>,
    /// What it calls its servers there.
    pub root: Option<String>,
}

/// What stands for a program where a file is a map of servers and nothing else.
pub(crate) const BARE: &str = "bare";

/// The kinds of file we read, told apart by their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// No file: the built-in `time` server.
    Embedded,
    /// `schemas` (mcps-proxy).
    Schemas,
    /// `servers` and `namespaces` (mcp-studio, mcpmu).
    Servers,
    /// `mcpServers` (mcp-all-in-one, and every MCP client's own file).
    McpServers,
}

/// One toolset.
#[derive(Debug, Clone, PartialEq)]
pub struct Namespace {
    pub id: String,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    /// Members in the order of the namespace.
    pub servers: Vec<ServerKey>,
    /// The account of each of these servers, where it is another than the server's own.
    pub accounts: BTreeMap<String, String>,
    pub permissions: Permissions,
}

/// What a namespace allows of what its servers offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    pub deny_by_default: bool,
    /// Per server: `true` denies what no rule names.
    pub server_defaults: BTreeMap<String, bool>,
    /// `(server id, tool name)` → allowed.
    pub rules: BTreeMap<(String, String), bool>,
    /// `(server id, prompt name)` → allowed; `*` is every prompt.
    pub prompts: BTreeMap<(String, String), bool>,
    /// `(server id, URI or URI template)` → allowed; `*` is every resource.
    pub resources: BTreeMap<(String, String), bool>,
}

impl Config {
    /// Returns whose file it is and what is in it, in one line.
    pub fn summary(&self) -> String {
        match self.source.client {
            Some(client) => summary(client, self.servers.len()),
            None => {
                let servers = counted(self.servers.len(), "server");
                format!("{servers}, {}", counted(self.namespaces.len(), "namespace"))
            }
        }
    }

    /// Returns what was found wrong with one server.
    pub fn problems_of(&self, key: &ServerKey) -> impl Iterator<Item = &Problem> {
        let place = self.place_of(key);
        self.problems.iter().filter(move |problem| is_below(problem, &place))
    }

    /// Returns what was found wrong with the file beside its servers.
    pub fn problems_beside_servers(&self) -> impl Iterator<Item = &Problem> {
        let places: Vec<String> = self.servers.iter().map(|server| self.place_of(&server.key)).collect();
        self.problems.iter().filter(move |problem| !places.iter().any(|place| is_below(problem, place)))
    }

    fn place_of(&self, key: &ServerKey) -> String {
        let root = match (&self.source.root, self.source.format) {
            (Some(root), _) => root.clone(),
            (None, Format::Servers) => "servers".to_owned(),
            (None, _) => "mcpServers".to_owned(),
        };
        match &key.schema {
            Some(schema) => format!("schemas.{schema}.mcpServers.{}", key.id),
            None => join(&root, &key.id),
        }
    }
}

/// Returns in one line whose file it is, another program's, and how many servers are in it.
pub(crate) fn summary(client: &str, servers: usize) -> String {
    let servers = counted(servers, "server");
    match client {
        BARE => format!("{servers} by name, without a key around them"),
        client => format!("{client} config, {servers}"),
    }
}

fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

fn is_below(problem: &Problem, place: &str) -> bool {
    let below = problem.place.strip_prefix(place);
    below.is_some_and(|below| below.is_empty() || below.starts_with(['.', '[']))
}
