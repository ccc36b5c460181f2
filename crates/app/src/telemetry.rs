//! What is told of calls to those who look at many gateways, put together: who counts, where it is sent and written.

mod audit;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use manifold_engine::{BoxFuture, Control, Fleet, Observer, Tasks, Tracer};
use manifold_frontends::metrics::{self, Format};
use manifold_telemetry::{
    CallMetrics, Exporter, Exposition, Losses, OtlpSettings, Post, Sampled, Signal, Starts, of_state, write,
};
use manifold_upstreams::CollectorHttp;
use tokio::net::TcpListener;
use tracing::{error, info, warn};

use crate::logging;
use audit::CallLog;

/// What is told of the calls of one gateway.
pub(crate) struct Telemetry {
    fleet: Weak<Fleet>,
    control: Control,
    /// Counts calls, once somebody reads what is counted.
    calls: OnceLock<Arc<CallMetrics>>,
    exporter: OnceLock<Arc<Exporter>>,
    audit: OnceLock<Arc<CallLog>>,
    dropped_spans: Arc<AtomicU64>,
    starts: Starts,
}

impl Telemetry {
    /// Tells nobody anything yet.
    pub(crate) fn new(fleet: &Arc<Fleet>, control: &Control) -> Arc<Self> {
        Arc::new(Self {
            fleet: Arc::downgrade(fleet),
            control: control.clone(),
            calls: OnceLock::new(),
            exporter: OnceLock::new(),
            audit: OnceLock::new(),
            dropped_spans: Arc::default(),
            starts: Starts::default(),
        })
    }

    /// Begins to send and to write down what the config and the variables want. `stdout` says whether anything may be
    /// written there.
    pub(crate) fn start(
        self: &Arc<Self>,
        tasks: &Tasks,
        variables: &BTreeMap<String, String>,
        stdout: Stdout,
    ) {
        let Some(fleet) = self.fleet.upgrade() else { return };
        let settings = fleet.config().settings.clone();
        if let Some(wanted) = &settings.audit {
            match CallLog::open(&wanted.to, stdout) {
                Ok(log) => {
                    fleet.observers().add(Arc::new(log.auditor(wanted.payload)));
                    let _ = self.audit.set(log);
                }
                Err(why) => error!("calls are not written down: {why}"),
            }
        }
        let (otlp, problems) = OtlpSettings::read(&settings.telemetry, variables);
        problems.iter().for_each(|problem| warn!("{problem}"));
        if otlp.traces.is_none() && otlp.metrics.is_none() {
            return;
        }
        let post = Arc::new(Collector(Arc::new(CollectorHttp::new(tasks.clone()))));
        let exporter = Exporter::new(otlp.clone(), post, Arc::clone(&self.dropped_spans));
        if let Some(traces) = &otlp.traces {
            info!(url = traces.url, ratio = otlp.trace_options.ratio, "traces are sent");
            fleet.observers().trace_by(Some(Tracer::new(otlp.trace_options.clone())));
            fleet.observers().add(Arc::new(exporter.observer()));
            tasks.spawn_background(Arc::clone(&exporter).send_spans());
        }
        if let Some(metrics) = &otlp.metrics {
            info!(url = metrics.url, "metrics are sent");
            self.count(&fleet);
            let me = Arc::clone(self);
            tasks.spawn_background(Arc::clone(&exporter).send_metrics(Arc::new(move || me.sample())));
        }
        let _ = self.exporter.set(exporter);
    }

    /// Lets metrics be read there.
    pub(crate) fn serve_metrics(self: &Arc<Self>, listener: TcpListener, tasks: &Tasks) {
        let Some(fleet) = self.fleet.upgrade() else { return };
        self.count(&fleet);
        if let Ok(address) = listener.local_addr() {
            info!("metrics at http://{address}/metrics");
        }
        let me = Arc::clone(self);
        let render = move |format: Format| {
            let exposition = match format {
                Format::Text => Exposition::Text,
                Format::OpenMetrics => Exposition::OpenMetrics,
            };
            write(&me.sample(), exposition)
        };
        tasks.spawn_background(metrics::serve(listener, Arc::new(render)));
    }

    /// Has what is left sent and written.
    pub(crate) async fn close(&self) {
        if let Some(exporter) = self.exporter.get() {
            exporter.finish().await;
        }
        if let Some(audit) = self.audit.get().cloned() {
            // It waits for disks.
            let _ = tokio::task::spawn_blocking(move || audit.flush()).await;
        }
    }

    /// Begins to count calls.
    fn count(&self, fleet: &Arc<Fleet>) {
        self.calls.get_or_init(|| {
            let known = Arc::downgrade(fleet);
            let lists = move |server: &str, tool: &str| {
                known.upgrade().is_some_and(|fleet| fleet.lists_tool(server, tool))
            };
            let calls = Arc::new(CallMetrics::new(lists));
            fleet.observers().add(Arc::clone(&calls) as Arc<dyn Observer>);
            calls
        });
    }

    fn sample(&self) -> Vec<Sampled> {
        let Some(fleet) = self.fleet.upgrade() else { return Vec::new() };
        let (snapshot, config) = (self.control.snapshot(), fleet.config());
        let is_known = |id: &str| {
            config.settings.server_name == id || snapshot.servers.iter().any(|server| server.key.id == id)
        };
        let mut sampled = self.calls.get().map(|calls| calls.sample(is_known)).unwrap_or_default();
        let losses = Losses {
            log_lines: logging::lost(),
            audit_lines: self.audit.get().map_or(0, |audit| audit.lost()),
            spans: self.dropped_spans.load(Ordering::Relaxed),
        };
        let starts = self.starts.total(&fleet.starts(), is_known);
        sampled.extend(of_state(&snapshot, &starts, fleet.rates(), losses));
        sampled
    }
}

/// Whether anything may be written to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    Free,
    /// The protocol is spoken there.
    Taken,
}

/// The way to collectors.
struct Collector(Arc<CollectorHttp>);

impl Post for Collector {
    fn post(&self, signal: &Signal, body: Vec<u8>) -> BoxFuture<Result<u16, String>> {
        let (http, signal) = (Arc::clone(&self.0), signal.clone());
        Box::pin(async move {
            let headers = signal.headers.iter();
            let headers: Vec<(String, String)> =
                headers.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
            http.post(&signal.url, &headers, body, signal.timeout).await
        })
    }
}
