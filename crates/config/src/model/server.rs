//! One server, and what may be wrong with it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::settings::Root;
use super::transport::Transport;

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
    pub shared: Sharing,
    /// In which respects clients may differ and share it all the same (`shareAcross`).
    pub share_across: Vec<String>,
    /// The variables its definition names, set or not.
    pub variables: BTreeSet<String>,
    pub max_concurrency: usize,
    /// How many of several gateways that share a store run it.
    pub replicas: Replicas,
    /// Whether it is told the trace that a call belongs to.
    pub trace: bool,
    /// Empty: those of the settings.
    pub roots: Vec<Root>,
    /// Tools refused in every namespace (`deniedTools`).
    pub denied_tools: Vec<String>,
    /// The only tools there are in any namespace (`allowedTools`); `None`: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Why this server cannot work, if it cannot. It is marked and the others run.
    pub fault: Option<ServerFault>,
}

/// Which clients share one process of a server. Where there is no daemon, only `PerClient` makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Not said: those who are in the same folder.
    Default,
    /// `true`: all, whatever their folder.
    Everybody,
    /// `false`: each has its own.
    PerClient,
    /// `"project"`: those of one project.
    PerProject,
}

/// Which of several gateways run a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// Whichever has its lease; the others reach it there.
    One,
    /// Each has its own.
    Each,
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

/// Why a configured server cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFault {
    /// A `${VAR}` without a value and without a default.
    MissingVariable {
        variable: String,
        /// It stands in a remote server's address or headers: the credential of decision 16.
        credential: bool,
    },
    /// A `${secret:NAME}` that is not stored, or that cannot be read.
    MissingSecret { what: String, hint: String },
    /// The program is not on `PATH`, or not there, or not executable.
    NoSuchProgram { command: String, hint: String },
    /// The entry itself is wrong (both `command` and `url`, neither, a bad URL).
    BadEntry { why: String },
    /// Its file of variables is not there, or is none.
    EnvFile { why: String },
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
            Self::MissingSecret { what, hint } => format!("{what}; {hint}"),
            Self::NoSuchProgram { command, hint } => format!("no such program `{command}`; {hint}"),
            Self::BadEntry { why } | Self::EnvFile { why } => why.clone(),
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
