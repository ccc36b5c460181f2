//! What is told of calls to those who look at many gateways: metrics, spans, and one line for each call. No socket and no
//! file is known here.

mod audit;
mod calls;
mod exporter;
mod exposition;
mod grafana;
mod names;
mod otlp;
mod outcome;
mod sample;
mod session;
mod settings;
mod spans;
mod starts;
mod state;

pub use audit::{AuditEntry, CallAuditor};
pub use calls::CallMetrics;
pub use exporter::{Exporter, MetricsSource, Post};
pub use exposition::{Exposition, write};
pub use grafana::dashboard;
pub use names::{METRICS, Metric, MetricKind};
pub use sample::{Point, Sampled, Value};
pub use settings::{OtlpSettings, Signal};
pub use spans::SpanObserver;
pub use starts::Starts;
pub use state::{Losses, of_state};
