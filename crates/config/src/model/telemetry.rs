//! What is told of calls to those who look at many gateways, and how many calls there may be.

use std::path::PathBuf;
use std::time::Duration;

use crate::secret::Secret;

/// The `telemetry` section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TelemetrySettings {
    /// Where metrics are served, `ADDRESS:PORT`; `None`: nowhere.
    pub metrics: Option<String>,
    /// Where spans are sent; `None`: nowhere, unless the environment says so.
    pub endpoint: Option<String>,
    /// What is said to it beside them, such as a key.
    pub headers: Vec<(String, Secret)>,
    /// Whether metrics are sent there as well.
    pub push_metrics: bool,
    /// How many of a hundred traces that begin here are kept; `None`: 10.
    pub sample_percent: Option<u64>,
    /// The members of `baggage` that servers may see.
    pub baggage: Vec<String>,
}

/// The address of `telemetry.metrics: true`.
pub const METRICS_ADDRESS: &str = "127.0.0.1:9464";

/// The `audit` section: one line for each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAudit {
    pub to: AuditTarget,
    /// Whether what is passed and answered is written down, rid of secrets.
    pub payload: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditTarget {
    File(PathBuf),
    Stdout,
}

/// So many calls in so much time, for each of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRule {
    pub per: RateScope,
    /// Which of them, by a pattern with `*` and `?`; `None`: all.
    pub pattern: Option<String>,
    pub limit: u32,
    pub window: Duration,
}

/// What calls are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RateScope {
    Principal,
    Namespace,
    Server,
    Tool,
}

impl RateScope {
    pub const ALL: [Self; 4] = [Self::Principal, Self::Namespace, Self::Server, Self::Tool];

    /// Returns the word of the config for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Namespace => "namespace",
            Self::Server => "server",
            Self::Tool => "tool",
        }
    }
}
