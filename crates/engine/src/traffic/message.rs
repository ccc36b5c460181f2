//! What a message says of itself: read anew where it is watched, so that where it is not nothing need be kept for this.

use bytes::Bytes;
use manifold_admin::{FrameKind, FrameStatus};
use manifold_protocol::envelope::{self, Incoming, Message, Outcome};
use manifold_protocol::{Raw, notification};

/// The head of one message.
pub(super) struct Head {
    pub(super) kind: FrameKind,
    pub(super) id: Option<Box<str>>,
    /// The id is ours to find its request by, and not in the message.
    pub(super) is_nameless: bool,
    pub(super) method: Option<Box<str>>,
    pub(super) tool: Option<Box<str>>,
    pub(super) status: Option<FrameStatus>,
    pub(super) code: Option<i64>,
    /// The request that it takes back.
    pub(super) cancels: Option<Box<str>>,
    /// What the sender calls itself, and its version, where it says so.
    pub(super) sender: Option<(String, Option<String>)>,
    pub(super) is_json: bool,
}

impl Head {
    pub(super) fn bare(kind: FrameKind) -> Self {
        Self {
            kind,
            id: None,
            is_nameless: false,
            method: None,
            tool: None,
            status: None,
            code: None,
            cancels: None,
            sender: None,
            is_json: true,
        }
    }
}

/// Reads a text: one message, or each of a batch.
pub(super) fn read(text: &Bytes) -> Vec<(Bytes, Head)> {
    match envelope::parse(text.clone()) {
        Ok(Incoming::One(message)) => vec![(text.clone(), head(&message))],
        Ok(Incoming::Batch(messages)) => {
            let parts = Raw::parse(text.clone()).ok().and_then(|batch| batch.elements()).unwrap_or_default();
            let head_of = |message: Result<Message, _>| {
                message.as_ref().map_or_else(|_| Head::bare(FrameKind::Other), head)
            };
            parts.iter().map(Raw::bytes).zip(messages.into_iter().map(head_of)).collect()
        }
        Err(refusal) => {
            let id = refusal.id.map(|id| id.to_raw().as_str().into());
            let value = Raw::parse(text.clone()).ok();
            let other = || Head { id, is_json: value.is_some(), ..Head::bare(FrameKind::Other) };
            let head = value.as_ref().and_then(worded).unwrap_or_else(other);
            vec![(text.clone(), head)]
        }
    }
}

fn head(message: &Message) -> Head {
    match message {
        Message::Request { id, method, params } => {
            let method = method.as_str();
            Head {
                id: Some(id.to_raw().as_str().into()),
                method: Some(method.into()),
                tool: (method == "tools/call").then(|| text(params.as_ref()?, &["name"])).flatten(),
                sender: params.as_ref().and_then(sender),
                ..Head::bare(FrameKind::Request)
            }
        }
        Message::Notification { method, params } => {
            let method = method.as_str();
            let cancelled = || params.as_ref()?.get("requestId").map(|id| id.as_str().into());
            Head {
                method: Some(method.into()),
                cancels: (method == notification::CANCELLED).then(cancelled).flatten(),
                ..Head::bare(FrameKind::Notification)
            }
        }
        Message::Response { id, outcome } => {
            let (kind, status, code) = match outcome {
                Outcome::Result(result) if is_tool_error(result) => {
                    (FrameKind::Response, FrameStatus::Error, None)
                }
                Outcome::Result(_) => (FrameKind::Response, FrameStatus::Ok, None),
                Outcome::Error(error) => {
                    let code = error.get("code").and_then(|code| code.as_str().parse().ok());
                    (FrameKind::Error, FrameStatus::Error, code)
                }
            };
            Head { id: Some(id.to_raw().as_str().into()), status: Some(status), code, ..Head::bare(kind) }
        }
    }
}

/// Reads a message that says by a word what it is.
fn worded(message: &Raw) -> Option<Head> {
    let word = message.get("type")?;
    let (id, word) = (message.get("id")?.as_str().into(), word.to_text()?);
    match &*word {
        "get" | "call" => Some(Head {
            id: Some(id),
            tool: text(message, &["data", "tool"]),
            method: Some((&*word).into()),
            ..Head::bare(FrameKind::Request)
        }),
        "info" | "result" => {
            let is_error = message.path(&["data", "success"]).and_then(|flag| flag.bool()) == Some(false);
            let status = if is_error { FrameStatus::Error } else { FrameStatus::Ok };
            Some(Head { id: Some(id), status: Some(status), ..Head::bare(FrameKind::Response) })
        }
        _ => None,
    }
}

/// Returns the code of an error.
pub(super) fn code_of(error: &Bytes) -> Option<i64> {
    Raw::parse(error.clone()).ok()?.get("code")?.as_str().parse().ok()
}

pub(super) fn is_json(text: &Bytes) -> bool {
    Raw::parse(text.clone()).is_ok()
}

fn is_tool_error(result: &Raw) -> bool {
    result.get("isError").and_then(|flag| flag.bool()) == Some(true)
}

fn text(params: &Raw, path: &[&str]) -> Option<Box<str>> {
    params.path(path)?.to_text().map(|text| text.into())
}

/// Returns what the sender of a request calls itself.
fn sender(params: &Raw) -> Option<(String, Option<String>)> {
    let info =
        params.get("clientInfo").or_else(|| params.path(&["_meta", "io.modelcontextprotocol/clientInfo"]))?;
    let member = |key: &str| Some(info.get(key)?.to_text()?.chars().take(200).collect::<String>());
    Some((member("name")?, member("version")))
}
