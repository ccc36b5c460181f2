//! The codes of faults.

use super::Fault;

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
            (Self::SignInNeeded { .. } | Self::NeedsConsent { .. } | Self::NeedsScope { .. }, _) => -32603,
            (Self::Busy { .. } | Self::OverLimit { .. } | Self::RateLimited { .. }, _) => -32603,
            (Self::Authentication { .. } | Self::Overloaded { .. } | Self::Internal(_), _) => -32603,
            (_, CodeSet::Standard) => -32603,
            (Self::TimedOut { tool: None, .. }, _) | (Self::TimedOut { .. }, CodeSet::Modern) => -32603,
            (Self::TimedOut { .. }, _) => -32002,
            (Self::FailedToStart { .. }, _) => -32001,
            (Self::NotRunning { .. }, _) => -32003,
            (Self::UnknownNamespace { .. }, _) => -32004,
        }
    }
}
