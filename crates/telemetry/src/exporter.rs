//! Spans and metrics on their way to a collector. Nobody waits for it: what finds no room is counted and lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manifold_engine::BoxFuture;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tracing::{info, warn};

use crate::otlp;
use crate::sample::Sampled;
use crate::settings::{OtlpSettings, Signal};
use crate::spans::{Span, SpanObserver};

/// How long the last spans may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Takes messages to a collector.
pub trait Post: Send + Sync {
    /// Sends a body of `application/x-protobuf` and returns the status of the answer.
    fn post(&self, signal: &Signal, body: Vec<u8>) -> BoxFuture<Result<u16, String>>;
}

/// Tells how the metrics are.
pub type MetricsSource = dyn Fn() -> Vec<Sampled> + Send + Sync;

/// What sends spans and metrics.
pub struct Exporter {
    settings: OtlpSettings,
    post: Arc<dyn Post>,
    spans: mpsc::Sender<Span>,
    waiting: Mutex<mpsc::Receiver<Span>>,
    dropped: Arc<AtomicU64>,
    ending: watch::Sender<bool>,
    began: Duration,
}

impl Exporter {
    pub fn new(settings: OtlpSettings, post: Arc<dyn Post>, dropped: Arc<AtomicU64>) -> Arc<Self> {
        let (spans, waiting) = mpsc::channel(settings.queue);
        let (waiting, ending) = (Mutex::new(waiting), watch::Sender::new(false));
        Arc::new(Self { settings, post, spans, waiting, dropped, ending, began: now() })
    }

    /// Returns who makes spans for it.
    pub fn observer(&self) -> SpanObserver {
        SpanObserver::new(self.spans.clone(), Arc::clone(&self.dropped))
    }

    /// Sends spans until `finish` is called.
    pub async fn send_spans(self: Arc<Self>) {
        let Some(signal) = &self.settings.traces else { return };
        let mut waiting = self.waiting.lock().await;
        let mut ending = self.ending.subscribe();
        let mut is_reached = true;
        let mut is_last = false;
        while !is_last {
            let mut batch = Vec::new();
            tokio::select! {
                _ = self.gather(&mut waiting, &mut batch) => {}
                _ = ending.wait_for(|ending| *ending) => is_last = true,
            }
            if is_last {
                while batch.len() < self.settings.queue
                    && let Ok(span) = waiting.try_recv()
                {
                    batch.push(span);
                }
            }
            for some in batch.chunks(self.settings.batch) {
                let sent = self.post.post(signal, otlp::spans(&self.settings.resource, some)).await;
                self.note(sent, signal, some.len(), &mut is_reached);
            }
        }
    }

    /// Waits for a span, and then for as many as are sent at once, but not for long.
    async fn gather(&self, waiting: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
        let Some(first) = waiting.recv().await else { return std::future::pending().await };
        batch.push(first);
        let until = Instant::now() + self.settings.delay;
        while batch.len() < self.settings.batch {
            match timeout_at(until, waiting.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Says once that a collector cannot be reached, and once that it can.
    fn note(&self, sent: Result<u16, String>, signal: &Signal, spans: usize, is_reached: &mut bool) {
        let problem = match sent {
            Ok(200..=299) => None,
            Ok(status) => Some(format!("it answers with {status}")),
            Err(why) => Some(why),
        };
        match problem {
            None if !*is_reached => info!(url = signal.url, "the collector takes spans again"),
            Some(why) => {
                self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
                if *is_reached {
                    warn!(url = signal.url, "spans are lost until the collector takes them: {why}");
                }
                *is_reached = false;
                return;
            }
            None => {}
        }
        *is_reached = true;
    }

    /// Sends metrics until `finish` is called, and once more then.
    pub async fn send_metrics(self: Arc<Self>, source: Arc<MetricsSource>) {
        let Some(signal) = &self.settings.metrics else { return };
        let mut ending = self.ending.subscribe();
        let mut ticks = interval(self.settings.metrics_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut is_reached = true;
        let mut is_last = false;
        while !is_last {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = ending.wait_for(|ending| *ending) => is_last = true,
            }
            let body = otlp::metrics(&self.settings.resource, &source(), (self.began, now()));
            let sent = self.post.post(signal, body).await;
            self.note(sent, signal, 0, &mut is_reached);
        }
    }

    /// Sends what is left, for as long as patience lasts. Those that send come to their end.
    pub async fn finish(&self) {
        self.ending.send_replace(true);
        // Who sends spans lets go of them at its end.
        let _ = tokio::time::timeout(LAST_WORDS, async {
            self.ending.closed().await;
        })
        .await;
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests;
