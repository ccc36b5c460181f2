//! The lines of a `.mfr` file: a header, then frames and gaps, then a footer where the recording was ended in good order.

use manifold_admin::TrafficItem;
use serde::{Deserialize, Serialize};

/// What files of recordings end with.
pub const EXTENSION: &str = "mfr";

pub(crate) const FORMAT: &str = "manifold-recording";
pub(crate) const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The version of the program that wrote it.
    pub manifold: String,
    pub name: String,
    /// RFC 3339, in UTC: the moment of the first frame, more or less.
    pub started: String,
    /// From 1; a long recording goes on in another file.
    pub part: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_revision: Option<String>,
    pub servers: Vec<HeaderServer>,
    /// What was taken out before anything was written.
    pub redaction: Vec<String>,
}

/// A server that was there when the recording began. Of its command there is the name of the program and no more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeaderServer {
    pub id: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
}

/// The last line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Footer {
    pub frames: u64,
    /// Frames that could not be written in time.
    pub lost: u64,
    /// RFC 3339, in UTC.
    pub ended: String,
    pub why: EndedBy,
}

/// Why nothing follows in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Somebody ended it.
    Stopped,
    /// The gateway ended, or was restarted.
    GatewayEnded,
    /// It goes on in the next file.
    Continued,
    /// It could not be written as fast as messages came, and would have had holes.
    Overrun,
    /// What came could not be written at all: the disk is full, say.
    Unwritable,
    #[default]
    #[serde(other)]
    Other,
}

impl EndedBy {
    /// Returns what was wrong, if something was.
    pub fn problem(self) -> Option<&'static str> {
        match self {
            Self::Stopped | Self::Continued | Self::Other => None,
            Self::GatewayEnded => Some("it ended with the gateway, which was stopped or restarted"),
            Self::Overrun => Some("it ended by itself: more came than could be written, so frames were lost"),
            Self::Unwritable => Some("it ended by itself, as it could not be written"),
        }
    }
}

impl Header {
    pub fn new(name: &str, manifold: &str, started: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            manifold: manifold.to_owned(),
            name: name.to_owned(),
            started: started.to_owned(),
            part: 1,
            ..Self::default()
        }
    }
}

/// How a footer stands in its line, so that it is no frame.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FooterLine {
    pub(crate) footer: Footer,
}

/// A line after the first.
#[derive(Debug)]
pub(crate) enum Line {
    Item(TrafficItem),
    Footer(Footer),
}

/// Reads a line after the first; `None` if it is none.
pub(crate) fn line(text: &[u8]) -> Option<Line> {
    if text.starts_with(b"{\"footer\"") {
        return serde_json::from_slice::<FooterLine>(text).ok().map(|line| Line::Footer(line.footer));
    }
    serde_json::from_slice(text).ok().map(Line::Item)
}
