//! What an operator asks of servers, through the same gateway and rules as any client.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// `POST /v1/call`. Answered with the result of MCP, or, where events are accepted, with [`AskEvent`]s.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    pub uri: String,
    #[serde(flatten)]
    pub how: AskOptions,
}

/// `POST /v1/prompt`.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

/// The variables and the folder of whoever asks. They are secrets.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
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

/// `POST /v1/questions/{id}`: the result of MCP that answers it, or that it is declined.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
}
