//! The checked configuration: what the rest of the program sees. A wrong one cannot be built outside this crate.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::file::join;
use crate::problem::Problem;
use crate::profile::{ErrorCodes, Profile, PromptPrefix, StartPolicy, ValidateArguments};
use crate::secret::Secret;

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
    pub drain_timeout: Duration,
    /// Take over changes of the file as they happen.
    pub watch_config: bool,
    pub roots: Vec<Root>,
    pub http: HttpSettings,
    pub logging: LogSettings,
    /// `cli.stdio.timeout`, if set.
    pub stdio_timeout: Option<Duration>,
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
    pub allowed_hosts: Vec<String>,
    pub cors: Option<Cors>,
    pub tls: Option<Tls>,
    /// A version header that differs from its request is logged and let pass.
    pub lenient_headers: bool,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Names one server for good: its id, and the schema that owns it in a `schemas` file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerKey {
    /// The owning schema; `None` where servers are shared between namespaces.
    pub schema: Option<String>,
    /// The key as written in the file.
    pub id: String,
}

/// One server as configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub key: ServerKey,
    /// The id made safe for names: `[A-Za-z0-9_-]`, never a `.`; unique within its namespaces.
    pub exposed_id: String,
    /// `name` if set, else the key's id.
    pub display_name: String,
    pub enabled: bool,
    pub transport: Transport,
    pub start: ServerStart,
    /// The server's own `timeout` (or `tool_timeout_sec`).
    pub call_timeout: Option<Duration>,
    pub start_timeout: Duration,
    pub idle_timeout: Option<Duration>,
    pub era: EraSetting,
    pub shared: bool,
    pub max_concurrency: usize,
    /// Empty: those of the settings.
    pub roots: Vec<Root>,
    /// Tools refused in every namespace (`deniedTools`).
    pub denied_tools: Vec<String>,
    /// The only tools there are in any namespace (`allowedTools`); `None`: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Why this server cannot work, if it cannot. It is marked and the others run.
    pub fault: Option<ServerFault>,
}

/// When a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStart {
    /// With the first client request, in the background.
    Eager,
    /// With the first call or list that needs it.
    Lazy,
    /// Only by a manager tool (`eager: false, lazy: false`).
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraSetting {
    Auto,
    Legacy,
    Modern,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    Builtin(Builtin),
    Process(ProcessSpec),
    Remote(RemoteSpec),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    Time,
}

/// A local program speaking on its standard streams.
#[derive(Clone, PartialEq)]
pub struct ProcessSpec {
    pub dialect: ProcessDialect,
    /// After expansion of `~` and variables, before any search on `PATH`.
    pub command: String,
    pub args: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// The server's own variables, values expanded.
    pub env: BTreeMap<String, Secret>,
    pub inherit_env: InheritEnv,
    /// Start again when it exits (`restart`, default true) after at least this long.
    pub restart: bool,
    pub restart_delay: Option<Duration>,
    /// What the server and all it starts may use together; zero is no limit.
    pub memory_limit_mib: u32,
    pub process_limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessDialect {
    Mcp,
    LiteMcp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InheritEnv {
    All,
    None,
    Only(Vec<String>),
}

/// A server at an address.
#[derive(Clone, PartialEq)]
pub struct RemoteSpec {
    pub kind: RemoteKind,
    pub url: String,
    /// In the order of the file, values expanded.
    pub headers: Vec<(String, Secret)>,
    /// Names of the variables that headers or url refer to, for the message of a 401 (decision 16).
    pub credential_variables: Vec<String>,
    pub retries: u32,
    pub retry_delay: Duration,
    pub reconnect_interval: Duration,
    pub max_retries: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Not said: Streamable HTTP, then the old SSE transport.
    Auto,
    StreamableHttp,
    Sse,
    LiteMcp,
}

/// Why a configured server cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFault {
    /// A `${VAR}` without a value and without a default.
    MissingVariable {
        variable: String,
        /// It stands in a remote server's address or headers: the credential of decision 16.
        credential: bool,
    },
    /// The program is not on `PATH`, or not there, or not executable.
    NoSuchProgram { command: String, hint: String },
    /// The entry itself is wrong (both `command` and `url`, neither, a bad URL).
    BadEntry { why: String },
    /// It waits for an answer that only an editor asks for (`${input:…}`).
    Unasked { input: String, variable: String },
    /// It would start this gateway again, with this very config.
    Itself,
}

impl ServerFault {
    /// Returns what is wrong and what to do about it, without the name of the server.
    pub fn message(&self) -> String {
        match self {
            Self::MissingVariable { variable, .. } => match variable.strip_prefix(crate::expand::FILE) {
                Some(file) => format!("the file {file} cannot be read; create it"),
                None => format!("the variable {variable} is not set; set it or give it a default"),
            },
            Self::NoSuchProgram { command, hint } => format!("no such program `{command}`; {hint}"),
            Self::BadEntry { why } => why.clone(),
            Self::Unasked { input, variable } => format!(
                "`${{input:{input}}}` can only be asked for by an editor; set the variable {variable} instead"
            ),
            Self::Itself => {
                "this is Manifold itself, with this same config; remove the entry: it belongs in your client's config"
                    .to_owned()
            }
        }
    }
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

/// Arguments may hold what variables stood for, so they are only counted.
impl fmt::Debug for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessSpec")
            .field("dialect", &self.dialect)
            .field("command", &self.command)
            .field("args", &format_args!("[{} args]", self.args.len()))
            .field("cwd", &self.cwd)
            .field("env", &self.env)
            .field("inherit_env", &self.inherit_env)
            .field("restart", &self.restart)
            .field("restart_delay", &self.restart_delay)
            .field("memory_limit_mib", &self.memory_limit_mib)
            .field("process_limit", &self.process_limit)
            .finish()
    }
}

/// Keys stand in paths, queries and user parts too, so of the address only the origin is shown.
impl fmt::Debug for RemoteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSpec")
            .field("kind", &self.kind)
            .field("url", &format_args!("{}/***", self.origin()))
            .field("headers", &self.headers)
            .field("credential_variables", &self.credential_variables)
            .field("retries", &self.retries)
            .field("retry_delay", &self.retry_delay)
            .field("reconnect_interval", &self.reconnect_interval)
            .field("max_retries", &self.max_retries)
            .finish()
    }
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

impl RemoteSpec {
    /// Returns scheme, host and port: what may be shown of the address.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}")
    }
}
