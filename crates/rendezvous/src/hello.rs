//! The first words: one line each way, and the client's variables. The form of the line is for ever; members are only
//! added, and those that are not known are passed over.
//!
//! ```text
//! shim   → MANIFOLD 1 {"version":"0.1.0","config":"…",…}        with the descriptor of its page of stages
//! daemon → {"welcome":{"epoch":"…","session":"…","needs":["PATH"],…}}
//! shim   → {"values":{"PATH":"…"}}                                then frames
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::place::Identity;
use crate::sandbox::SandboxMarks;
use crate::versions;

#[cfg(test)]
mod tests;

/// What a daemon says to whoever started it, on a pipe, once it can be reached. Anything else is why it cannot.
pub const READY: &[u8] = b"ready\n";

/// What it says where the lock it was given is not the one of the place it finds: a folder has come or gone since.
pub const ELSEWHERE: &[u8] = b"elsewhere\n";

/// What is said where no version of the words is understood by both ends.
pub const TOO_FAR_APART: &str =
    "the daemon and this program are too far apart; run `manifold daemon restart`";

const MAGIC: &str = "MANIFOLD ";

/// What a shim says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The versions of these words that the shim understands.
    #[serde(default = "first_version")]
    pub words: [u32; 2],
    pub version: String,
    #[serde(flatten)]
    pub identity: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default)]
    pub eager: bool,
    #[serde(default)]
    pub transport: Transport,
    /// The one tool of a LiteMCP client, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub cwd: String,
    pub pid: u32,
    #[serde(default)]
    pub sandbox: SandboxMarks,
    /// Set when the client was served before, by a daemon that is gone or has been replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Transport {
    #[default]
    Mcp,
    LiteMcp,
}

/// What a session is known by from one daemon to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    pub session: String,
    pub epoch: String,
    /// How many questions the client was asked so far: none of their ids is used again.
    #[serde(default)]
    pub questions: u64,
}

/// What a daemon answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Welcome(Welcome),
    Refused(Refused),
    /// It is on its way out; a moment later there is another, or none.
    Going {},
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    #[serde(default = "first_version")]
    pub words: [u32; 2],
    pub version: String,
    /// One life of the daemon: another with every start and every replacement.
    pub epoch: String,
    pub session: String,
    /// The variables of the client's that the config uses.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The client's whole environment is wanted: for a server, or for what the config may name tomorrow.
    #[serde(default)]
    pub needs_everything: bool,
    /// The longest message a client may send.
    pub limit_bytes: usize,
    /// Whether calls that were with servers when the last daemon was replaced are still under way.
    #[serde(default)]
    pub kept_calls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub code: RefusalCode,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefusalCode {
    /// It serves something else under the same name.
    OtherIdentity,
    /// No version of the words is understood by both.
    Words,
    /// Walls stand around the daemon that do not around the shim.
    Sandboxed,
    /// The client is to be served without a daemon: the config says that there is to be none, or has no such schema, which
    /// the shim says itself and ends.
    Off,
    #[serde(other)]
    Other,
}

/// The client's variables, by name. They are secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    #[serde(default)]
    pub values: BTreeMap<String, String>,
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
    }
}

/// What was said is none of these words.
#[derive(Debug, thiserror::Error)]
#[error("the other end does not speak the daemon's words")]
pub struct Unintelligible;

impl Hello {
    /// Returns the line, with its end.
    pub fn to_line(&self) -> Vec<u8> {
        let json = serde_json::to_string(self).unwrap_or_default();
        let [_, version] = versions::words();
        format!("{MAGIC}{version} {json}\n").into_bytes()
    }

    /// Reads the line, without its end.
    pub fn from_line(line: &[u8]) -> Result<Self, Unintelligible> {
        let text = std::str::from_utf8(line).map_err(|_| Unintelligible)?;
        let rest = text.strip_prefix(MAGIC).ok_or(Unintelligible)?;
        let (version, json) = rest.split_once(' ').ok_or(Unintelligible)?;
        version.parse::<u32>().map_err(|_| Unintelligible)?;
        serde_json::from_str(json).map_err(|_| Unintelligible)
    }
}

impl Answer {
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }

    pub fn from_line(line: &[u8]) -> Result<Self, Unintelligible> {
        serde_json::from_slice(line).map_err(|_| Unintelligible)
    }
}

impl Values {
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }

    pub fn from_line(line: &[u8]) -> Result<Self, Unintelligible> {
        serde_json::from_slice(line).map_err(|_| Unintelligible)
    }
}

/// Returns whether two ranges of versions have one in common.
pub fn meet(ours: [u32; 2], theirs: [u32; 2]) -> bool {
    ours[0] <= theirs[1] && theirs[0] <= ours[1]
}

fn first_version() -> [u32; 2] {
    [1, 1]
}

fn line(of: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(of).unwrap_or_default();
    line.push(b'\n');
    line
}
