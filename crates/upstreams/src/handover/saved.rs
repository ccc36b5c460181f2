//! One server as it is left to the program that takes our place. A later release may add members and leave out those
//! that are optional here: what is not known is passed over, what is not there is taken for nothing.

use serde::{Deserialize, Serialize};

use super::encoding::{Data, Json};
use super::listing::SavedFreshness;
use crate::process::{Descriptor, SavedKeeper};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedServer {
    #[serde(default)]
    pub(crate) schema: Option<String>,
    pub(crate) id: String,
    /// What tells it from others of the same server.
    #[serde(default)]
    pub(crate) instance: String,
    /// What it was started with, as nobody can read it.
    pub(crate) definition: String,
    /// Whether an operator has stopped it.
    #[serde(default)]
    pub(crate) is_stopped: bool,
    /// How often it has come up.
    #[serde(default)]
    pub(crate) lives: u64,
    /// What it has failed for, where it has.
    #[serde(default)]
    pub(crate) trouble: Option<SavedTrouble>,
    #[serde(default)]
    pub(crate) process: Option<SavedProcess>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedTrouble {
    pub(crate) reason: String,
    /// For how long.
    #[serde(default)]
    pub(crate) failing_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedProcess {
    pub(crate) pid: u32,
    pub(crate) stdin: Descriptor,
    pub(crate) stdout: Descriptor,
    #[serde(default)]
    pub(crate) stderr: Option<Descriptor>,
    pub(crate) keeper: SavedKeeper,
    /// What was read of its output and made no message yet.
    #[serde(default)]
    pub(crate) unread: SavedUnfinished,
    #[serde(default)]
    pub(crate) unread_log: SavedUnfinished,
    /// What it has yet to be sent, the rest of a message included.
    #[serde(default)]
    pub(crate) unwritten: Data,
    #[serde(default)]
    pub(crate) running_ms: u64,
    pub(crate) connection: SavedConnection,
    /// What it offers, where its lists have been read.
    #[serde(default)]
    pub(crate) listing: Option<Json>,
    /// For how long each list holds.
    #[serde(default)]
    pub(crate) freshness: Vec<SavedFreshness>,
    /// The last lines of its log, as they may be shown.
    #[serde(default)]
    pub(crate) log: Vec<String>,
    /// When they were said, since the beginning of 1970.
    #[serde(default)]
    pub(crate) log_times_ms: Vec<u64>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SavedUnfinished {
    pub(super) rest: Data,
    pub(super) long: Option<(Data, Data, u64)>,
    pub(super) newlines: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedConnection {
    pub(crate) dialect: SavedDialect,
    pub(crate) revision: String,
    pub(crate) capabilities: Json,
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    /// How many calls have been numbered.
    pub(crate) count: u64,
    #[serde(default)]
    pub(crate) has_answered: bool,
    #[serde(default)]
    pub(crate) calls: Vec<SavedCall>,
    /// The numbers of requests that listen.
    #[serde(default)]
    pub(crate) listening: Vec<u64>,
    #[serde(default)]
    pub(crate) questions: Vec<SavedQuestion>,
    /// Whether its lists have to be read again.
    #[serde(default)]
    pub(crate) are_lists_stale: bool,
    /// Whether more than one client could be meant by what it says.
    #[serde(default)]
    pub(crate) is_shared: bool,
    /// Whether all that is in flight is one client's, and nobody else can be meant.
    #[serde(default)]
    pub(crate) is_one_clients: bool,
    /// Calls that nobody waits for and the server may still be working on.
    #[serde(default)]
    pub(crate) abandoned: Vec<u64>,
}

/// How the server is spoken to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum SavedDialect {
    Legacy,
    Modern,
    Dual {
        #[serde(default)]
        session: Option<bool>,
    },
    LiteMcp {
        tool: Json,
        last: u32,
        /// Which call a message's number stands for.
        #[serde(default)]
        numbers: Vec<(u32, u64)>,
    },
    /// One that a later release has.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedCall {
    pub(crate) id: u64,
    /// `None`: nobody is to be told of the answer.
    #[serde(default)]
    pub(crate) address: Option<SavedAddress>,
    /// Whether a client made it.
    #[serde(default)]
    pub(crate) is_clients: bool,
    #[serde(default)]
    pub(crate) tool: Option<String>,
    pub(crate) timeout_ms: u64,
    pub(crate) left_ms: u64,
    pub(crate) hard_left_ms: u64,
    /// The asker's own progress token.
    #[serde(default)]
    pub(crate) token: Option<Json>,
    #[serde(default)]
    pub(crate) is_in_session: bool,
    #[serde(default)]
    pub(crate) continuation: Option<SavedContinuation>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedAddress {
    pub(super) session: String,
    pub(super) id: Json,
    #[serde(default)]
    pub(super) steps: Vec<SavedStep>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub(super) enum SavedStep {
    AllowAnyStructured,
    #[serde(rename_all = "camelCase")]
    NameTask {
        server: String,
        is_shared: bool,
    },
    ExposeTask {
        server: String,
    },
    RenameContents {
        original: String,
        exposed: String,
    },
    /// One that a later release has.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedContinuation {
    pub(crate) call: SavedRequest,
    #[serde(default)]
    pub(crate) rounds: u32,
    pub(crate) stage: SavedStage,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "at")]
pub(crate) enum SavedStage {
    Written,
    /// The asker is being asked this round.
    Asking {
        round: Json,
    },
    Task {
        task: String,
    },
    /// One that a later release has.
    #[serde(other)]
    Unknown,
}

/// A question that is open at a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedQuestion {
    /// The server's own id of it.
    pub(crate) id: Json,
    /// The call it was asked in, where that is certain.
    #[serde(default)]
    pub(crate) call: Option<u64>,
    pub(crate) request: SavedRequest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedRequest {
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Option<Json>,
    #[serde(default)]
    pub(super) caller: Option<SavedCaller>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedCaller {
    pub(super) capabilities: Json,
    #[serde(default)]
    pub(super) info: Option<Json>,
    #[serde(default)]
    pub(super) log_level: Option<Json>,
    #[serde(default)]
    pub(super) retries: bool,
    #[serde(default)]
    pub(super) is_retry: bool,
}

impl SavedProcess {
    /// Returns what must stay open for it.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        [&self.stdin, &self.stdout].into_iter().chain(&self.stderr).chain(self.keeper.descriptors())
    }
}
