//! What an operator asks of servers, through the same gateway and rules as any client.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// `POST /v1/call`. Answered with the result of MCP, or, where events are accepted, with [`AskEvent`]s.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    /// As clients see it, or `server/tool`, `server.tool`, or the server's own name where only one has it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    #[serde(flatten)]
    pub how: AskOptions,
}

/// `POST /v1/read`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    pub uri: String,
    #[serde(flatten)]
    pub how: AskOptions,
}

/// `POST /v1/prompt`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    pub name: String,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    #[serde(flatten)]
    pub how: AskOptions,
}

/// `POST /v1/complete`: what could follow what was typed of an argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompleteRequest {
    /// A prompt by name, or a template of resources by URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    pub argument: String,
    #[serde(default)]
    pub value: String,
    /// Arguments that are settled already.
    #[serde(default)]
    pub given: BTreeMap<String, String>,
    #[serde(flatten)]
    pub how: AskOptions,
}

/// What goes with all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AskOptions {
    /// `None`: as for a client that names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whose variables and folder its servers are started with; `None`: the gateway's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<AskerEnvironment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether somebody is there to answer questions of the server's; else they are declined.
    pub answers_questions: bool,
}

/// The header by which whoever asks for a list says with which variables and in which folder: an [`AskerEnvironment`] as
/// JSON, percent-encoded.
pub const ENVIRONMENT_HEADER: &str = "manifold-environment";

/// The header by which a command says that it keeps the record itself by which a change of the config is undone. Heard over
/// the control socket alone.
pub const UNDO_HEADER: &str = "manifold-undo";

/// What stands in [`UNDO_HEADER`].
pub const UNDO_BY_ASKER: &str = "asker";

/// The header by which a command says that it thinks a change out anew when the config is another by now. A try that was
/// too late is then no change that was refused. Heard over the control socket alone.
pub const STALE_HEADER: &str = "manifold-stale";

/// What stands in [`STALE_HEADER`].
pub const STALE_IS_TRIED_AGAIN: &str = "again";

/// The variables and the folder of whoever asks. They are secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AskerEnvironment {
    pub cwd: String,
    pub values: BTreeMap<String, String>,
}

/// Names only.
impl fmt::Debug for AskerEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskerEnvironment")
            .field("cwd", &self.cwd)
            .field("values", &self.values.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// What is told of a call on its way, as server-sent events named as these. The last is `result` or `error`.
#[derive(Debug, Clone)]
pub enum AskEvent {
    /// The parameters of a progress notification.
    Progress {
        params: Box<RawValue>,
    },
    /// A question of the server's, to be answered at `/v1/questions/{id}`.
    Question {
        id: String,
        server: Option<String>,
        method: String,
        params: Option<Box<RawValue>>,
    },
    /// A question is no longer asked.
    Withdrawn {
        id: String,
    },
    /// The result of MCP, as the server gave it.
    Result {
        result: Box<RawValue>,
    },
    Error {
        error: crate::CommandError,
    },
}

impl AskEvent {
    /// Returns it as a server-sent event: its name, and its data as JSON.
    pub fn to_sse(&self) -> (&'static str, String) {
        let data = match self {
            Self::Progress { params } => written(&Progress { params }),
            Self::Question { id, server, method, params } => {
                written(&Question { id, server: server.as_deref(), method, params: params.as_deref() })
            }
            Self::Withdrawn { id } => written(&Withdrawn { id: id.clone() }),
            Self::Result { result } => written(&ResultOf { result }),
            Self::Error { error } => written(&Failed { error: error.clone() }),
        };
        (self.name(), data)
    }

    /// Reads a server-sent event; `None`: one that nobody knows here.
    pub fn from_sse(event: &str, data: &str) -> Option<Self> {
        let read = match event {
            "progress" => Self::Progress { params: read::<OwnedProgress>(data)?.params },
            "question" => {
                let OwnedQuestion { id, server, method, params } = read(data)?;
                Self::Question { id, server, method, params }
            }
            "withdrawn" => Self::Withdrawn { id: read::<Withdrawn>(data)?.id },
            "result" => Self::Result { result: read::<OwnedResult>(data)?.result },
            "error" => Self::Error { error: read::<Failed>(data)?.error },
            _ => return None,
        };
        Some(read)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Progress { .. } => "progress",
            Self::Question { .. } => "question",
            Self::Withdrawn { .. } => "withdrawn",
            Self::Result { .. } => "result",
            Self::Error { .. } => "error",
        }
    }
}

// The data of each event, which keep raw JSON as it is; a tagged enum would read it into pieces first.

#[derive(Serialize)]
struct Progress<'a> {
    params: &'a RawValue,
}

#[derive(Deserialize)]
struct OwnedProgress {
    params: Box<RawValue>,
}

#[derive(Serialize)]
struct Question<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OwnedQuestion {
    id: String,
    server: Option<String>,
    method: String,
    params: Option<Box<RawValue>>,
}

#[derive(Serialize, Deserialize)]
struct Withdrawn {
    id: String,
}

#[derive(Serialize)]
struct ResultOf<'a> {
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct OwnedResult {
    result: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
struct Failed {
    error: crate::CommandError,
}

fn written(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default()
}

fn read<T: DeserializeOwned>(data: &str) -> Option<T> {
    serde_json::from_str(data).ok()
}

/// `POST /v1/questions/{id}`: the result of MCP that answers it, or that it is declined.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
}
