//! A server: what is configured, and how its instances are doing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Problem};
use crate::snapshot::sign_in::SignIn;
use crate::words::{Era, Kind, Start, State};

/// Names one server for good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ServerId {
    /// The schema that owns it, in a file of schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub id: String,
}

/// Writes it as operators name a server: `id`, or `schema/id`.
impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}/{}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

/// Reads what operators write: what stands before the first `/` is the schema.
impl From<&str> for ServerId {
    fn from(text: &str) -> Self {
        match text.split_once('/') {
            Some((schema, id)) => Self { schema: Some(schema.to_owned()), id: id.to_owned() },
            None => Self { schema: None, id: text.to_owned() },
        }
    }
}

/// One server of the config. What is said of it as a whole is what is true of the instance that does best.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Server {
    #[serde(flatten)]
    pub key: ServerId,
    pub name: String,
    /// The id that its tools are prefixed with.
    pub exposed_id: String,
    pub kind: Kind,
    pub target: Target,
    pub enabled: bool,
    pub start: Start,
    pub sharing: Sharing,
    /// Names of the variables it is given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Names of the headers it is sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    pub state: State,
    /// It runs and yet gives no sign of life.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unresponsive: bool,
    /// For how long it has been in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What is wrong now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// Why it cannot work as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Error>,
    /// What is wrong with its entry in the config.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// How much it offers, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<Lists>,
    /// How long the definitions of its tools are together, as it gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_bytes: Option<usize>,
    /// What is known of it from an earlier run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// How one is signed in to it; none where nobody signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignIn>,
    /// Where nothing runs there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// What is started or reached, as far as it may be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Target {
    /// A program; its arguments may hold secrets, so they are only counted.
    Program {
        command: String,
        arguments: usize,
    },
    /// Scheme, host and port: the rest of an address may hold secrets.
    Address {
        origin: String,
    },
    Builtin {
        name: String,
    },
    #[default]
    #[serde(other)]
    Other,
}

/// Who shares one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// All clients.
    Shared,
    /// Nobody: each client has its own.
    PerClient,
    #[default]
    #[serde(other)]
    Other,
}

/// How many of each there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Lists {
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    pub templates: usize,
}

/// What an earlier run has learnt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Saved {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// How long ago its lists were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
}

/// Calls, as far as they are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Calls {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// How long half of them take at the most, and nineteen of twenty; of those that were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<u64>,
}

/// One process or session of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Instance {
    /// Tells instances apart that were started with something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whose own it is; `None`: everybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u64>,
    /// How many clients would use it, whether or not they have called; where clients have servers by what they resolve to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<usize>,
    /// In which respects it differs from the server's other instances: names of variables, `PATH`, `cwd`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    pub state: State,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unresponsive: bool,
    pub since_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// All processes it consists of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// What they hold in memory together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// How often it has come up again after the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u64>,
    /// Starts in a row that came to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    /// When it is started again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// What went wrong last, also if it has recovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Error>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
}

/// What a peer speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Protocol {
    /// As the peer wrote it.
    pub revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
}

impl Protocol {
    /// The first revision in which every request says all.
    const FIRST_MODERN: &str = "2026-07-28";

    /// Returns what a revision means. One that is no date belongs to no era.
    pub fn of(revision: impl Into<String>) -> Self {
        let revision = revision.into();
        let is_date = revision.len() == 10 && revision.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let era = is_date.then(|| match revision.as_str() < Self::FIRST_MODERN {
            true => Era::Legacy,
            false => Era::Modern,
        });
        Self { revision, era }
    }
}
