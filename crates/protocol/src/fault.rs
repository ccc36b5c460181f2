//! Our own faults: the one place where messages and codes for them are chosen.

use std::time::Duration;

use crate::model::Kind;
use crate::raw::{Raw, RawObject};

/// Something that went wrong on our side of a call. A server's own error is none of these and passes untouched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Parse,
    InvalidRequest(String),
    UnknownMethod(String),
    InvalidParams(String),
    MissingParameter(String),
    /// `data.issue` says what the schema says.
    ArgumentMismatch {
        tool: String,
        field: String,
        issue: String,
    },
    /// No known server prefixes the name.
    UnknownTool(String),
    /// The text before the advertised separator names no server.
    UnknownServer {
        server: String,
        tool: String,
    },
    /// The server is known, the tool is not.
    UnknownToolOf {
        server: String,
        tool: String,
    },
    UnknownPrompt(String),
    UnknownResource(String),
    UnknownNamespace {
        requested: String,
        exists: Vec<String>,
    },
    NamespaceNotChosen {
        exists: Vec<String>,
    },
    FailedToStart {
        server: String,
        reason: String,
    },
    NotRunning {
        server: String,
        reason: String,
    },
    /// More calls are waiting for the server than may; this one was not sent.
    Busy {
        server: String,
        reason: String,
    },
    TimedOut {
        server: String,
        tool: Option<String>,
        after: Duration,
    },
    /// The server went away with the call in flight; it may or may not have been carried out.
    Died {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// The server would not take the call.
    Refused {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// A message over the size limit.
    TooLarge {
        server: Option<String>,
        limit_bytes: usize,
    },
    /// So much is under way that no more is taken on.
    Overloaded {
        limit_bytes: usize,
    },
    /// The client has as much open as it may.
    OverLimit {
        what: String,
        limit: usize,
        /// Where the limit can be changed, below `limits`.
        setting: &'static str,
    },
    /// The server's answer was no valid message.
    Malformed {
        server: String,
        reason: String,
    },
    Authentication {
        server: String,
        variable: String,
    },
    /// The server wants to know who asks, and nothing is configured that would say so.
    SignInNeeded {
        server: String,
    },
    /// The client cannot be asked this.
    ClientCannot {
        what: String,
    },
    /// A header does not say what the body says (2026-07-28).
    HeaderMismatch(String),
    /// A revision that is not spoken here.
    UnsupportedVersion {
        requested: String,
    },
    /// The call needs the client to be able to do more; `required` is a ClientCapabilities object.
    MissingCapability {
        required: Raw,
    },
    /// A server's question could not be put to the client, and the call cannot go on without.
    Unanswered {
        server: String,
        tool: Option<String>,
        reason: String,
    },
    /// The rules want somebody's consent first.
    NeedsConsent {
        kind: Kind,
        name: String,
    },
    ShuttingDown,
    Internal(String),
}

/// Which numbers a peer expects, fixed at the edge by dialect and profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeSet {
    /// S1-55: a number for each of our own faults.
    Own,
    /// JSON-RPC's numbers only (S3-16).
    Standard,
    /// MCP 2026-07-28.
    Modern,
}

impl Fault {
    /// Returns what kind of fault it is, in one word that stays the same.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::InvalidRequest(_) => "invalid-request",
            Self::UnknownMethod(_) => "unknown-method",
            Self::InvalidParams(_) | Self::MissingParameter(_) | Self::ArgumentMismatch { .. } => {
                "invalid-params"
            }
            Self::UnknownTool(_) | Self::UnknownServer { .. } | Self::UnknownToolOf { .. } => "unknown-tool",
            Self::UnknownPrompt(_) => "unknown-prompt",
            Self::UnknownResource(_) => "unknown-resource",
            Self::UnknownNamespace { .. } | Self::NamespaceNotChosen { .. } => "unknown-namespace",
            Self::FailedToStart { .. } => "failed-to-start",
            Self::NotRunning { .. } => "not-running",
            Self::Busy { .. } => "busy",
            Self::TimedOut { .. } => "timed-out",
            Self::Died { .. } => "died",
            Self::Refused { .. } => "refused",
            Self::TooLarge { .. } => "too-large",
            Self::Overloaded { .. } => "overloaded",
            Self::OverLimit { .. } => "over-limit",
            Self::Malformed { .. } => "malformed",
            Self::Authentication { .. } => "authentication",
            Self::SignInNeeded { .. } => "sign-in-needed",
            Self::ClientCannot { .. } => "client-cannot",
            Self::HeaderMismatch(_) => "header-mismatch",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::MissingCapability { .. } => "missing-capability",
            Self::Unanswered { .. } => "unanswered",
            Self::NeedsConsent { .. } => "needs-consent",
            Self::ShuttingDown => "shutting-down",
            Self::Internal(_) => "internal",
        }
    }

    /// Returns the JSON-RPC code. This match is the one place codes are chosen.
    pub fn code(&self, codes: CodeSet) -> i32 {
        match (self, codes) {
            (Self::Parse, _) => -32700,
            (Self::InvalidRequest(_) | Self::NamespaceNotChosen { .. } | Self::ShuttingDown, _) => -32600,
            (Self::TooLarge { server: None, .. }, _) => -32600,
            (Self::UnknownMethod(_), _) => -32601,
            (Self::InvalidParams(_) | Self::MissingParameter(_) | Self::ArgumentMismatch { .. }, _) => -32602,
            (Self::UnknownTool(_) | Self::UnknownToolOf { .. }, CodeSet::Modern) => -32602,
            (Self::UnknownTool(_) | Self::UnknownToolOf { .. }, _) => -32601,
            (Self::UnknownServer { .. }, CodeSet::Own) => -32000,
            (Self::UnknownServer { .. }, CodeSet::Standard) => -32601,
            (Self::UnknownServer { .. }, CodeSet::Modern) => -32602,
            (Self::UnknownPrompt(_), _) => -32602,
            (Self::UnknownResource(_), CodeSet::Modern) => -32602,
            (Self::UnknownResource(_), _) => -32002,
            (Self::ClientCannot { .. }, _) => -32601,
            (Self::HeaderMismatch(_), _) => -32020,
            (Self::MissingCapability { .. }, CodeSet::Modern) => -32021,
            (Self::MissingCapability { .. }, _) => -32600,
            (Self::UnsupportedVersion { .. }, CodeSet::Modern) => -32022,
            (Self::UnsupportedVersion { .. }, _) => -32602,
            (Self::Unanswered { .. }, _) => -32603,
            (
                Self::Malformed { .. } | Self::Died { .. } | Self::Refused { .. } | Self::TooLarge { .. },
                _,
            ) => -32603,
            (Self::SignInNeeded { .. } | Self::NeedsConsent { .. }, _) => -32603,
            (Self::Busy { .. } | Self::OverLimit { .. }, _) => -32603,
            (Self::Authentication { .. } | Self::Overloaded { .. } | Self::Internal(_), _) => -32603,
            (_, CodeSet::Standard) => -32603,
            (Self::TimedOut { tool: None, .. }, _) | (Self::TimedOut { .. }, CodeSet::Modern) => -32603,
            (Self::TimedOut { .. }, _) => -32002,
            (Self::FailedToStart { .. }, _) => -32001,
            (Self::NotRunning { .. }, _) => -32003,
            (Self::UnknownNamespace { .. }, _) => -32004,
        }
    }

    /// Returns what the user reads: which server, what went wrong, what to do next.
    pub fn message(&self) -> String {
        match self {
            Self::Parse => "Parse error: the message is not valid JSON".to_owned(),
            Self::InvalidRequest(why) => format!("Invalid request: {why}"),
            Self::UnknownMethod(method) => format!("Method '{method}' not found"),
            Self::InvalidParams(why) => format!("Invalid params: {why}"),
            Self::MissingParameter(name) => format!("Invalid params: Missing required parameter '{name}'"),
            Self::ArgumentMismatch { tool, field, issue } if field.is_empty() => {
                format!("Invalid params: arguments of '{tool}': {issue}")
            }
            Self::ArgumentMismatch { tool, field, issue } => {
                format!("Invalid params: '{field}' of '{tool}': {issue}")
            }
            Self::UnknownTool(name) => format!("Tool '{name}' not found"),
            Self::UnknownServer { server, tool } => {
                format!("Server '{server}' not found: no configured server offers '{tool}'")
            }
            Self::UnknownToolOf { server, tool } => {
                format!("Tool '{tool}' not found on server '{server}'")
            }
            Self::UnknownPrompt(name) => format!("Prompt '{name}' not found"),
            Self::UnknownResource(uri) => format!("Resource '{uri}' not found"),
            Self::UnknownNamespace { requested, exists } => {
                format!("Namespace '{requested}' not found; the config has: {}", names(exists))
            }
            Self::NamespaceNotChosen { exists } => format!(
                "Several namespaces are configured and none is selected; start with --namespace and one of: {}",
                names(exists)
            ),
            Self::FailedToStart { server, reason } => {
                format!("Server '{server}' failed to start: {reason}")
            }
            Self::NotRunning { server, reason } => format!("Server '{server}' is not running: {reason}"),
            Self::Busy { server, reason } => format!("Server '{server}' is busy: {reason}"),
            Self::TimedOut { server, tool: Some(tool), after } => format!(
                "Tool '{tool}' of server '{server}' did not answer within {} ms; raise the server's `timeout` if it needs longer",
                after.as_millis()
            ),
            Self::TimedOut { server, tool: None, after } => {
                format!("Server '{server}' did not answer within {} ms", after.as_millis())
            }
            Self::Died { server, reason, .. } => {
                format!("Server '{server}' went away during the call: {reason}")
            }
            Self::Refused { server, reason, .. } => format!("Server '{server}' refused the call: {reason}"),
            Self::TooLarge { server: Some(server), limit_bytes } => format!(
                "The answer of server '{server}' is larger than {limit_bytes} bytes (limits.messageBytes)"
            ),
            Self::TooLarge { server: None, limit_bytes } => {
                format!(
                    "Invalid request: the message is larger than {limit_bytes} bytes (limits.requestBytes)"
                )
            }
            Self::Overloaded { limit_bytes } => format!(
                "Messages of more than {limit_bytes} bytes are under way (limits.heldBytes); try again in a moment"
            ),
            Self::OverLimit { what, limit, setting } => {
                format!(
                    "Too many {what}: {limit} at once are allowed (limits.{setting}); try again in a moment"
                )
            }
            Self::Malformed { server, reason } => {
                format!("Server '{server}' sent an answer that is not a valid message: {reason}")
            }
            Self::Authentication { variable, .. } => {
                format!("Authentication failed: Invalid or missing {variable}")
            }
            Self::SignInNeeded { server } => format!(
                "Server '{server}' wants you to sign in, which cannot be done from here yet; give it a token in the config: \"headers\": {{\"Authorization\": \"Bearer ${{TOKEN}}\"}}"
            ),
            Self::ClientCannot { what } => format!("The client does not support {what}"),
            Self::HeaderMismatch(why) => format!("Header mismatch: {why}"),
            Self::UnsupportedVersion { requested } => format!(
                "Unsupported protocol version '{requested}'; without a session, {} is spoken here",
                crate::dialect::modern::REVISION
            ),
            Self::MissingCapability { required } => {
                format!("Missing required client capability: {required}")
            }
            Self::Unanswered { server, reason, .. } => {
                format!("Server '{server}' asked a question in the middle of the call: {reason}")
            }
            Self::NeedsConsent { kind, name } => {
                let what = match kind {
                    Kind::Tools => "Tool",
                    Kind::Prompts => "Prompt",
                    Kind::Resources | Kind::Templates => "Resource",
                };
                format!(
                    "{what} '{name}' may only be used with somebody's consent, which cannot be given from here yet; \
                     ask the user to permit it in the config"
                )
            }
            Self::ShuttingDown => "Invalid request: the server is shutting down".to_owned(),
            Self::Internal(what) => format!("Internal error: {what}"),
        }
    }

    /// Returns `error.data`: the facts a program can use.
    pub fn data(&self) -> Option<Raw> {
        let mut data = RawObject::default();
        let mut text = |key: &str, value: &str| data.set(key, Raw::string(value));
        match self {
            Self::MissingParameter(name) => {
                text("parameter", name);
                text("field", name);
                text("issue", "Required field missing");
            }
            Self::ArgumentMismatch { tool, field, issue } => {
                text("parameter", field);
                text("field", field);
                text("issue", issue);
                text("toolName", tool);
            }
            Self::UnknownServer { server, tool } => {
                text("serverId", server);
                text("toolName", tool);
            }
            Self::UnknownToolOf { server, tool } => {
                text("serverId", server);
                text("service", server);
                text("toolName", tool);
            }
            Self::UnknownResource(uri) => text("uri", uri),
            Self::NeedsConsent { kind: Kind::Tools, name } => text("toolName", name),
            Self::NeedsConsent { kind: Kind::Prompts, name } => text("promptName", name),
            Self::NeedsConsent { name, .. } => text("uri", name),
            Self::UnknownNamespace { requested, exists } => {
                text("namespaceId", requested);
                data.set("namespaces", Raw::serialize(exists));
            }
            Self::NamespaceNotChosen { exists } => data.set("namespaces", Raw::serialize(exists)),
            Self::FailedToStart { server, reason }
            | Self::NotRunning { server, reason }
            | Self::Malformed { server, reason } => {
                text("serverId", server);
                text("service", server);
                text("reason", reason);
            }
            Self::Busy { server, reason } => {
                text("serverId", server);
                text("service", server);
                text("reason", reason);
                data.set("retryable", Raw::boolean(true));
            }
            Self::OverLimit { limit, setting, .. } => {
                text("setting", &format!("limits.{setting}"));
                data.set("limit", Raw::number(*limit as u64));
                data.set("retryable", Raw::boolean(true));
            }
            Self::UnsupportedVersion { requested } => {
                data.set("supported", Raw::serialize(&[crate::dialect::modern::REVISION]));
                data.set("requested", Raw::string(requested));
            }
            Self::MissingCapability { required } => data.set("requiredCapabilities", required.clone()),
            Self::Died { server, tool, reason }
            | Self::Refused { server, tool, reason }
            | Self::Unanswered { server, tool, reason } => {
                text("serverId", server);
                text("service", server);
                if let Some(tool) = tool {
                    text("toolName", tool);
                }
                text("reason", reason);
            }
            Self::TimedOut { server, tool, after } => {
                text("serverId", server);
                text("service", server);
                if let Some(tool) = tool {
                    text("toolName", tool);
                }
                data.set("timeoutMs", Raw::number(after.as_millis() as u64));
            }
            Self::TooLarge { server, limit_bytes } => {
                if let Some(server) = server {
                    text("serverId", server);
                    text("service", server);
                }
                data.set("limitBytes", Raw::number(*limit_bytes as u64));
            }
            Self::Overloaded { limit_bytes } => data.set("limitBytes", Raw::number(*limit_bytes as u64)),
            Self::Authentication { server, .. } | Self::SignInNeeded { server } => text("service", server),
            Self::Parse
            | Self::InvalidRequest(_)
            | Self::UnknownMethod(_)
            | Self::InvalidParams(_)
            | Self::UnknownTool(_)
            | Self::UnknownPrompt(_)
            | Self::ClientCannot { .. }
            | Self::HeaderMismatch(_)
            | Self::ShuttingDown
            | Self::Internal(_) => return None,
        }
        Some(data.into_raw())
    }

    /// Changes what it repeats of a server's own words.
    pub fn map_reason(mut self, change: impl FnOnce(&str) -> String) -> Self {
        if let Self::FailedToStart { reason, .. }
        | Self::NotRunning { reason, .. }
        | Self::Died { reason, .. }
        | Self::Refused { reason, .. }
        | Self::Malformed { reason, .. }
        | Self::Unanswered { reason, .. } = &mut self
        {
            *reason = change(reason);
        }
        self
    }

    /// Returns whether the same may be asked again in a moment, for transports that say so beside it (429).
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::OverLimit { .. })
    }

    /// Returns the whole JSON-RPC error object.
    pub fn to_error(&self, codes: CodeSet) -> Raw {
        let mut error = RawObject::default();
        error.set("code", Raw::serialize(&self.code(codes)));
        error.set("message", Raw::string(&self.message()));
        if let Some(data) = self.data() {
            error.set("data", data);
        }
        error.into_raw()
    }
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests;
