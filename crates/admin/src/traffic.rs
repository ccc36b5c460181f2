//! What goes over both hops of the gateway, message by message, and the files it is kept in.

mod filter;
mod replay;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub use filter::{Filter, FilterError, Matcher};
pub use replay::{
    CallDifference, RecordedCall, RecordingDetail, RecordingDiff, ReplayReport, ReplayedCall,
    ResultDifference, ToolChange,
};

/// One message, or one thing that happened to a server, as the gateway saw it. Secrets are taken out before one is made.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// Its place in this run; where numbers are left out, frames were lost or did not fit the filter.
    pub n: u64,
    /// Nanoseconds since the gateway began.
    pub t: u64,
    pub hop: Hop,
    pub dir: Direction,
    pub kind: FrameKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<FrameClient>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The server's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Which of its instances, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// How often it had been started then: an answer of an earlier start comes late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// As it is called on this hop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// As it stands on this hop, a string with its quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<RawValue>>,
    /// Our number of the call, the same on both hops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The operation it belongs to, where one takes several requests: retries, a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// How it ended; only in the frame that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<FrameStatus>,
    /// The code of an error, or of an HTTP answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The message without its line end or HTTP head.
    pub bytes: u64,
    /// Nanoseconds since the request on this hop; only in the frame that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// The message, where it is JSON and whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    /// What there is of it otherwise: its beginning, or what is no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same, where it is no text either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// How many bytes of it are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<u64>,
    /// Something was taken out of it.
    #[serde(skip_serializing_if = "is_false")]
    pub redacted: bool,
}

/// Which connection of the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Hop {
    /// Between a client and the gateway.
    Client,
    /// Between the gateway and a server.
    Server,
    #[default]
    #[serde(other)]
    Other,
}

impl Hop {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Other => "other",
        }
    }
}

/// Which way, as the gateway sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    In,
    Out,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    Request,
    Response,
    Error,
    Notification,
    /// A line that a server wrote beside the protocol.
    Stderr,
    /// An HTTP answer with a status and no message.
    Http,
    /// A server was started, or died.
    Life,
    #[default]
    #[serde(other)]
    Other,
}

impl FrameKind {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Error => "error",
            Self::Notification => "notification",
            Self::Stderr => "stderr",
            Self::Http => "http",
            Self::Life => "life",
            Self::Other => "other",
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FrameStatus {
    Ok,
    /// An error, or a result of a tool that says `isError`.
    Error,
    Cancelled,
    Timeout,
    /// An answer nobody waited for any more.
    Late,
    #[default]
    #[serde(other)]
    Other,
}

impl FrameStatus {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Late => "late",
            Self::Other => "other",
        }
    }
}

/// Whose message it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FrameClient {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a stream of traffic says.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TrafficItem {
    /// So many frames are missing here, because the reader was behind.
    Gap {
        gap: u64,
    },
    Frame(Box<Frame>),
}

// Written out, as a derived one would take bodies apart to find out what it is, and could not put them together again.
impl<'de> Deserialize<'de> for TrafficItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Gap {
            gap: u64,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(Gap { gap }) = serde_json::from_str(text.get()) {
            return Ok(Self::Gap { gap });
        }
        serde_json::from_str(text.get()).map(Self::Frame).map_err(D::Error::custom)
    }
}

/// A recording: one that runs, or a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Recording {
    pub name: String,
    /// The file being written, or the newest of it.
    pub file: String,
    pub is_running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// RFC 3339, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    pub frames: u64,
    /// Frames that could not be written in time.
    pub lost: u64,
    pub bytes: u64,
    /// Why it ended by itself, or what is wrong with the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Asks for a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RecordingStart {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}
