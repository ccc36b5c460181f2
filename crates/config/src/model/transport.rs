//! How a server is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;

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
    /// The definition has no `cwd`: this is the folder of the client it is started for.
    pub in_client_folder: bool,
    /// The server's own variables, values expanded.
    pub env: BTreeMap<String, Secret>,
    /// All it is started with, where that is a client's; `None`: what of our own process `inherit_env` leaves, and `env`.
    pub environment: Option<BTreeMap<String, Secret>>,
    pub inherit_env: InheritEnv,
    /// Those of our variables that hold secrets of our own; they are not inherited unless the definition names them.
    pub withheld: BTreeSet<String>,
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
    /// Not said, for a client of the daemon: what the definition names.
    Named,
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
    /// How to sign in; `None`: never.
    pub sign_in: Option<Box<SignIn>>,
    pub retries: u32,
    pub retry_delay: Duration,
    pub reconnect_interval: Duration,
    pub max_retries: u32,
}

/// What is configured of signing in to a server (`oauth`). What is not said here is the server's to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// Which of several accounts: `default` unless one is named.
    pub account: String,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// In PEM.
    pub private_key: Option<Secret>,
    pub client_name: Option<String>,
    pub client_metadata_url: Option<String>,
    pub issuer: Option<String>,
    /// Where the metadata of the authorization server is, if not where it belongs.
    pub metadata_url: Option<String>,
    pub resource: ResourceSetting,
    pub scopes: Vec<String>,
    pub params: BTreeMap<String, String>,
    pub callback_port: Option<u16>,
    pub callback_url: Option<String>,
    /// PKCE is used though the authorization server does not list it.
    pub assume_pkce: bool,
    /// The authorization server may be inside the network.
    pub allow_private: bool,
    /// Where nobody says where to sign in, it is at the usual places of the server itself.
    pub assume_endpoints: bool,
    /// A name under which several servers share one sign-in.
    pub credential: Option<String>,
    pub grant: GrantSetting,
}

/// The account where none is named.
pub const DEFAULT_ACCOUNT: &str = "default";

/// What a token is asked for (RFC 8707).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ResourceSetting {
    #[default]
    AsTheServerSays,
    Given(String),
    Unsaid,
}

/// By which flow one signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrantSetting {
    #[default]
    Code,
    ClientCredentials,
    Device,
}

impl Default for SignIn {
    fn default() -> Self {
        Self {
            account: DEFAULT_ACCOUNT.to_owned(),
            client_id: None,
            client_secret: None,
            private_key: None,
            client_name: None,
            client_metadata_url: None,
            issuer: None,
            metadata_url: None,
            resource: ResourceSetting::default(),
            scopes: Vec::new(),
            params: BTreeMap::new(),
            callback_port: None,
            callback_url: None,
            assume_pkce: false,
            allow_private: false,
            assume_endpoints: false,
            credential: None,
            grant: GrantSetting::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// Not said: Streamable HTTP, then the old SSE transport.
    Auto,
    StreamableHttp,
    Sse,
    LiteMcp,
}

impl RemoteSpec {
    /// Returns scheme, host and port: what may be shown of the address.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}")
    }

    /// Tells whether a header of the file says who asks: then nobody signs in.
    pub fn has_authorization(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Arguments may hold what variables stood for, so they are only counted.
impl fmt::Debug for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessSpec")
            .field("dialect", &self.dialect)
            .field("command", &self.command)
            .field("args", &format_args!("[{} args]", self.args.len()))
            .field("cwd", &self.cwd)
            .field("in_client_folder", &self.in_client_folder)
            .field("env", &self.env)
            .field("environment", &self.environment.as_ref().map(|all| all.keys().collect::<Vec<_>>()))
            .field("inherit_env", &self.inherit_env)
            .field("withheld", &self.withheld)
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
            .field("sign_in", &self.sign_in)
            .field("retries", &self.retries)
            .field("retry_delay", &self.retry_delay)
            .field("reconnect_interval", &self.reconnect_interval)
            .field("max_retries", &self.max_retries)
            .finish()
    }
}
