//! The facts of a fault that a program can use.

use super::Fault;
use super::message::sign_in_command;
use crate::dialect::modern::REVISION;
use crate::model::Kind;
use crate::raw::{Raw, RawObject};

impl Fault {
    /// Returns `error.data`: the facts a program can use.
    pub fn data(&self) -> Option<Raw> {
        let facts = Facts::default();
        let facts = match self {
            // The request itself.
            Self::MissingParameter(name) => {
                facts.text("parameter", name).text("field", name).text("issue", "Required field missing")
            }
            Self::ArgumentMismatch { tool, field, issue } => facts
                .text("parameter", field)
                .text("field", field)
                .text("issue", issue)
                .text("toolName", tool),
            Self::UnsupportedVersion { requested } => {
                facts.set("supported", Raw::serialize(&[REVISION])).text("requested", requested)
            }
            // What it asks for.
            Self::UnknownServer { server, tool } => facts.text("serverId", server).text("toolName", tool),
            Self::UnknownToolOf { server, tool } => facts.server(server).text("toolName", tool),
            Self::UnknownResource(uri) => facts.text("uri", uri),
            Self::UnknownNamespace { requested, exists } => {
                facts.text("namespaceId", requested).set("namespaces", Raw::serialize(exists))
            }
            Self::NamespaceNotChosen { exists } => facts.set("namespaces", Raw::serialize(exists)),
            // The server.
            Self::FailedToStart { server, reason }
            | Self::NotRunning { server, reason }
            | Self::Malformed { server, reason } => facts.server(server).text("reason", reason),
            Self::Busy { server, reason } => facts.server(server).text("reason", reason).retryable(),
            Self::Died { server, tool, reason }
            | Self::Refused { server, tool, reason }
            | Self::Unanswered { server, tool, reason } => {
                facts.server(server).tool(tool.as_deref()).text("reason", reason)
            }
            Self::TimedOut { server, tool, after } => facts
                .server(server)
                .tool(tool.as_deref())
                .set("timeoutMs", Raw::number(after.as_millis() as u64)),
            // Limits.
            Self::TooLarge { server: Some(server), limit_bytes } => {
                facts.server(server).limit_bytes(*limit_bytes)
            }
            Self::TooLarge { server: None, limit_bytes } | Self::Overloaded { limit_bytes } => {
                facts.limit_bytes(*limit_bytes)
            }
            Self::OverLimit { limit, setting, .. } => facts
                .text("setting", &format!("limits.{setting}"))
                .set("limit", Raw::number(*limit as u64))
                .retryable(),
            Self::RateLimited { per, limit, window, retry_after } => facts
                .text("setting", "limits.rate")
                .text("per", per)
                .set("limit", Raw::number(u64::from(*limit)))
                .set("windowSeconds", Raw::number(window.as_secs()))
                .set("retryAfterSeconds", Raw::number(retry_after.as_secs()))
                .retryable(),
            // Who asks, and what it can and may do.
            Self::Authentication { server, .. } => facts.text("service", server),
            Self::SignInNeeded { server, account, state, .. } => {
                let facts = facts.text("service", server).text("state", state);
                let facts = match account {
                    Some(account) => facts.text("account", account),
                    None => facts,
                };
                match sign_in_command(server, account.as_deref(), state) {
                    Some(command) => facts.text("command", &command),
                    None => facts,
                }
            }
            Self::MissingCapability { required } => facts.set("requiredCapabilities", required.clone()),
            Self::NeedsConsent { kind: Kind::Tools, name } => facts.text("toolName", name),
            Self::NeedsConsent { kind: Kind::Prompts, name } => facts.text("promptName", name),
            Self::NeedsConsent { name, .. } => facts.text("uri", name),
            Self::NeedsScope { scopes } => facts.text("scope", &scopes.join(" ")),
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
        };
        Some(facts.0.into_raw())
    }
}

#[derive(Default)]
struct Facts(RawObject);

impl Facts {
    fn set(mut self, key: &str, value: Raw) -> Self {
        self.0.set(key, value);
        self
    }

    fn text(self, key: &str, value: &str) -> Self {
        self.set(key, Raw::string(value))
    }

    /// Says which server it was, by both names that clients know for it.
    fn server(self, server: &str) -> Self {
        self.text("serverId", server).text("service", server)
    }

    fn tool(self, tool: Option<&str>) -> Self {
        match tool {
            Some(tool) => self.text("toolName", tool),
            None => self,
        }
    }

    fn limit_bytes(self, limit_bytes: usize) -> Self {
        self.set("limitBytes", Raw::number(limit_bytes as u64))
    }

    fn retryable(self) -> Self {
        self.set("retryable", Raw::boolean(true))
    }
}
