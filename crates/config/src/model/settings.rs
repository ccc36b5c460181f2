//! Everything beside servers and namespaces.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::door::{Auth, NamedToken};
use super::telemetry::{CallAudit, RateRule, TelemetrySettings};
use crate::profile::{ErrorCodes, PromptPrefix, StartPolicy, ValidateArguments};
use crate::secret::Secret;

/// Everything beside servers and namespaces, with the profile's defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub separator: String,
    pub prefix_descriptions: bool,
    pub prefix_prompts: PromptPrefix,
    pub manager_tools_stdio: bool,
    pub manager_tools_http: bool,
    pub start: StartPolicy,
    pub validate_arguments: ValidateArguments,
    pub call_timeout: Duration,
    pub error_codes: ErrorCodes,
    pub server_name: String,
    /// `None`: the version of the build.
    pub server_version: Option<String>,
    pub max_name_length: usize,
    pub limits: Limits,
    /// How many calls there may be in some time, in the order of the file.
    pub rates: Vec<RateRule>,
    pub telemetry: TelemetrySettings,
    /// Who is told of every call.
    pub audit: Option<CallAudit>,
    pub drain_timeout: Duration,
    /// Take over changes of the file as they happen.
    pub watch_config: bool,
    pub daemon: DaemonSettings,
    /// Other keys for actions of the terminal interface.
    pub tui_keys: BTreeMap<String, String>,
    pub dashboard: DashboardSettings,
    pub scale: ScaleSettings,
    pub roots: Vec<Root>,
    pub http: HttpSettings,
    pub logging: LogSettings,
    /// `cli.stdio.timeout`, if set.
    pub stdio_timeout: Option<Duration>,
}

/// Whether clients on stdio share one daemon, and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonSettings {
    pub enabled: bool,
    /// How long it stays after its last client, and a server after its last user.
    pub linger: Duration,
    /// Serve over HTTP too, with the same servers.
    pub http: bool,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self { enabled: true, linger: Duration::from_secs(60), http: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub request_bytes: usize,
    pub message_bytes: usize,
    /// What all messages under way may take up; `None`: a share of the machine's memory.
    pub held_bytes: Option<usize>,
    pub clients: ClientLimits,
}

/// What clients may have open at once over HTTP. A client is a session; where there is none, a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Sessions of all clients together, where they share one token or none.
    pub sessions: usize,
    /// Sessions with the same token and from the same address, where tokens differ.
    pub sessions_per_address: usize,
    /// Streams a client only listens on; the answer to a call is none.
    pub streams: usize,
    /// Calls in flight of a client.
    pub calls: usize,
    /// Calls of a client that wait for it to come back with answers.
    pub parked: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { sessions: 20_000, sessions_per_address: 1_000, streams: 64, calls: 1_024, parked: 256 }
    }
}

/// One root offered to servers that ask outside any call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub uri: String,
    pub name: Option<String>,
}

/// The `server` section.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    pub host: String,
    pub port: u16,
    pub token: Option<Secret>,
    /// In the order of the file.
    pub tokens: Vec<NamedToken>,
    pub auth: Option<Auth>,
    /// Our address as clients write it, without a slash at its end.
    pub public_url: Option<String>,
    pub allowed_hosts: Vec<String>,
    pub cors: Option<Cors>,
    pub tls: Option<Tls>,
    /// A version header that differs from its request is logged and let pass.
    pub lenient_headers: bool,
}

/// `dashboard`: the page on the port of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DashboardSettings {
    pub enabled: bool,
    /// Whether it only looks.
    pub view_only: bool,
}

/// `scale`: what several gateways have in common that serve the same clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScaleSettings {
    pub state_key_file: Option<PathBuf>,
    /// It may have a password in it.
    pub state: Option<Secret>,
    pub state_password_file: Option<PathBuf>,
    /// Tells apart several clusters of replicas that share one store.
    pub cluster: Option<String>,
    pub replica: Option<String>,
    pub address: Option<String>,
    /// How long requests are still taken on once we are about to end, for a balancer to notice.
    pub drain_delay: Duration,
}

/// `server.cors`, present only when enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    pub origins: Vec<String>,
    pub methods: Vec<String>,
    pub allowed_headers: Vec<String>,
    pub credentials: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub clients: Option<ClientCerts>,
}

/// Whose certificates let clients in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCerts {
    pub ca: PathBuf,
    /// Nobody comes in without one.
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    pub level: LogLevel,
    pub format: LogFormat,
    /// `logging.console: false` silences stderr.
    pub console: bool,
    pub file: Option<PathBuf>,
    pub max_size_bytes: u64,
    pub max_files: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}
