//! What happens, one thing at a time and numbered.

mod cursor;

use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;
use crate::command::ReloadReport;
use crate::log::LogLine;
use crate::snapshot::client::Client;
use crate::snapshot::server::{Lists, Server, ServerId};
use crate::traffic::Recording;
pub use cursor::{Cursor, NoCursor};

/// One event. Its `seq` is greater than that of every earlier event of the same run; where numbers are left out, nothing
/// is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    pub seq: u64,
    #[serde(flatten)]
    pub happening: Happening,
}

/// What a stream of events says: where it begins, and from there on what happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum StreamItem {
    /// The event `cursor`: everything up to there is known to whoever has read the snapshot after it.
    Cursor {
        at: Cursor,
    },
    Event(Event),
}

/// What happened. `kind` is the word; a reader passes over kinds that it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Happening {
    /// A server's state, or what it offers, is another: this is how it is now.
    Server {
        server: Box<Server>,
    },
    /// What the clients of a namespace see is another. `None`: the one of all servers.
    Catalog {
        namespace: Option<String>,
        lists: Lists,
    },
    Client {
        change: ClientChange,
        client: Box<Client>,
    },
    Config {
        change: ConfigChange,
    },
    Call {
        call: CallStage,
    },
    /// A server has written a line beside the protocol.
    Log {
        line: LogLine,
    },
    /// An operator has changed something.
    Audit {
        line: Box<AuditLine>,
    },
    /// The daemon is about to end or to be replaced: `stopping`, `restarting` or `upgrading`.
    Daemon {
        change: String,
    },
    /// A recording was begun, or has ended: of itself, if it says what was wrong.
    Recording {
        change: RecordingChange,
        recording: Box<Recording>,
    },
    /// Events are missing here: what is known must be read anew.
    Reset,
    #[default]
    #[serde(other)]
    Other,
}

impl Happening {
    /// Returns the word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Server { .. } => "server",
            Self::Catalog { .. } => "catalog",
            Self::Client { .. } => "client",
            Self::Config { .. } => "config",
            Self::Call { .. } => "call",
            Self::Log { .. } => "log",
            Self::Audit { .. } => "audit",
            Self::Daemon { .. } => "daemon",
            Self::Recording { .. } => "recording",
            Self::Reset => "reset",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClientChange {
    Came,
    /// It has said who it is.
    Changed,
    Left,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ConfigChange {
    /// A new config is in force. What it removed is gone, what it added follows by events of its own.
    Reloaded { report: ReloadReport },
    /// The file is not taken over; the old config stays in force.
    Refused { why: String },
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecordingChange {
    Started,
    Stopped,
    #[default]
    #[serde(other)]
    Other,
}

/// The two ends of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub enum CallStage {
    Began(CallBegan),
    Ended(CallEnded),
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CallBegan {
    /// The same on both hops.
    pub number: u64,
    pub method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CallEnded {
    #[serde(flatten)]
    pub call: CallBegan,
    pub outcome: CallOutcome,
    pub took_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallOutcome {
    Ok,
    /// The tool answered `isError`.
    ToolError,
    /// The server answered with an error of its own.
    ServerError,
    /// The gateway answered with an error.
    Fault,
    TimedOut,
    Cancelled,
    #[default]
    #[serde(other)]
    Other,
}
