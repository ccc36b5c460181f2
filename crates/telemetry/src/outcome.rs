//! How a call ended, in the few words that metrics, spans and the audit have for it.

use std::borrow::Cow;

use manifold_engine::{CallEnd, Outcome};

/// Returns the word of metrics and of the audit.
pub(crate) fn word(end: &CallEnd) -> &'static str {
    match &end.outcome {
        // To its client it may look like a tool's own failure, or like a tool that nobody has.
        _ if end.refused_by.is_some() => "denied",
        Outcome::Result => "ok",
        Outcome::ToolError => "tool_error",
        Outcome::ServerError => "rpc_error",
        Outcome::Cancelled => "cancelled",
        Outcome::Fault("timed-out") => "timeout",
        Outcome::Fault("died") => "died",
        Outcome::Fault("needs-consent" | "needs-scope" | "rate-limited" | "over-limit") => "denied",
        Outcome::Fault(_) => "rpc_error",
    }
}

/// Returns `error.type`, if it failed.
pub(crate) fn error_type(end: &CallEnd) -> Option<Cow<'static, str>> {
    match (&end.outcome, end.code) {
        (Outcome::Result, _) => None,
        (Outcome::ToolError, _) => Some("tool_error".into()),
        (Outcome::Cancelled, _) => Some("cancelled".into()),
        (Outcome::Fault("timed-out"), _) => Some("timeout".into()),
        (_, Some(code)) => Some(code.to_string().into()),
        (_, None) => Some("_OTHER".into()),
    }
}

/// Returns the same from a closed set: servers choose their codes as they like.
pub(crate) fn error_label(end: &CallEnd) -> Cow<'static, str> {
    match end.code {
        Some(-32700 | -32603..=-32600 | -32099..=-32000) | None => error_type(end).unwrap_or_default(),
        Some(_) if matches!(end.outcome, Outcome::Fault("timed-out")) => "timeout".into(),
        Some(_) => "_OTHER".into(),
    }
}

/// Returns whether a server is to blame for a code that its client got; of others the client is.
pub(crate) fn is_servers_fault(end: &CallEnd) -> bool {
    match (&end.outcome, end.code) {
        (Outcome::Result, _) => false,
        (Outcome::ToolError | Outcome::Cancelled, _) => true,
        (_, Some(code)) => code == -32603 || (-32099..=-32000).contains(&code),
        (_, None) => true,
    }
}
