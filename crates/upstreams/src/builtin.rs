//! Servers inside the gateway: the manager tools and `time`. They are always ready and cost nothing.

mod manager;
mod time;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifold_engine::{
    BoxFuture, CallTally, Exchange, History, Host, InstanceReport, Item, Listing, Lock as _, LoggedLine,
    NamespaceControl, Order, Phase, Status, Tasks, Upstream,
};
use manifold_protocol::{Call, Failure, Fault, Method, Raw, RawObject};
use tokio::time::Instant;

/// What a built-in server does; tools are all it has.
trait Toolbox: Send + Sync {
    /// Each tool as the JSON object that describes it.
    fn tools(&self) -> Vec<Raw>;

    fn call(&self, tool: &str, arguments: Option<Raw>) -> BoxFuture<Result<Raw, Failure>>;
}

/// A built-in server as an upstream.
pub(crate) struct Builtin {
    id: String,
    toolbox: Arc<dyn Toolbox>,
    listing: Arc<Listing>,
    stopped: AtomicBool,
    since: Instant,
    tasks: Tasks,
    tally: Arc<Mutex<CallTally>>,
    /// Whom to tell when an operator stops or starts it; the manager itself cannot be stopped.
    told: Option<(manifold_config::ServerKey, Arc<dyn Host>)>,
}

/// Makes the upstream of the manager tools.
pub fn manager(control: NamespaceControl, tasks: Tasks) -> Arc<dyn Upstream> {
    Arc::new(Builtin::new("manager".to_owned(), Arc::new(manager::Manager::new(control)), tasks, None))
}

/// Makes the `time` server.
pub(crate) fn time(key: manifold_config::ServerKey, host: Arc<dyn Host>, tasks: Tasks) -> Arc<dyn Upstream> {
    Arc::new(Builtin::new(key.id.clone(), Arc::new(time::Time), tasks, Some((key, host))))
}

impl Builtin {
    fn new(
        id: String,
        toolbox: Arc<dyn Toolbox>,
        tasks: Tasks,
        told: Option<(manifold_config::ServerKey, Arc<dyn Host>)>,
    ) -> Self {
        let named = |raw: Raw| Some(Item { label: raw.get("name")?.to_text()?.into_owned(), raw });
        let listing = Listing {
            tools: toolbox.tools().into_iter().filter_map(named).collect(),
            capabilities: Some(Raw::from_static(r#"{"tools":{}}"#)),
            ..Listing::default()
        };
        Self {
            id,
            toolbox,
            listing: Arc::new(listing),
            stopped: AtomicBool::new(false),
            since: Instant::now(),
            tasks,
            tally: Arc::default(),
            told,
        }
    }

    fn set_stopped(&self, stopped: bool) {
        if let Some((key, host)) = &self.told
            && self.stopped.swap(stopped, Ordering::Relaxed) != stopped
        {
            host.listing_changed(key);
        }
    }
}

impl Upstream for Builtin {
    fn send(&self, call: Call, exchange: Exchange) {
        if self.stopped.load(Ordering::Relaxed) {
            let reason = "it was stopped; use the servers_start tool to start it".to_owned();
            return exchange.fail(Fault::NotRunning { server: self.id.clone(), reason });
        }
        let tool = call.text_param("name").unwrap_or_default();
        if call.method != Method::ToolsCall {
            return exchange.fail(Fault::UnknownMethod(call.method.as_str().to_owned()));
        }
        if !self.listing.tools.iter().any(|item| item.label == tool) {
            return exchange.fail(Fault::UnknownToolOf { server: self.id.clone(), tool });
        }
        exchange.dispatched();
        let work = self.toolbox.call(&tool, call.params.as_ref().and_then(|params| params.get("arguments")));
        let (tally, begun) = (Arc::clone(&self.tally), Instant::now());
        tally.locked().in_flight += 1;
        self.tasks.spawn(async move {
            let done = work.await;
            count(&mut tally.locked(), begun, done.is_err());
            exchange.finish(done);
        });
    }

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

    fn listing(&self) -> Option<Arc<Listing>> {
        (!self.stopped.load(Ordering::Relaxed)).then(|| Arc::clone(&self.listing))
    }

    fn status(&self) -> Status {
        let phase = if self.stopped.load(Ordering::Relaxed) { Phase::Stopped } else { Phase::Ready };
        Status { phase, pid: None, since: self.since }
    }

    fn reports(&self) -> Vec<InstanceReport> {
        vec![InstanceReport {
            client: None,
            status: self.status(),
            is_unresponsive: false,
            history: History::default(),
            calls: Some(self.tally.locked().clone()),
        }]
    }

    fn logs(&self, _lines: usize) -> Vec<LoggedLine> {
        Vec::new()
    }

    fn discover(&self) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn order(&self, order: Order) -> BoxFuture<Result<(), Fault>> {
        if !matches!(order, Order::Sleep | Order::Refresh) {
            self.set_stopped(order == Order::Stop);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

/// Counts a call that is over.
fn count(tally: &mut CallTally, begun: Instant, has_failed: bool) {
    tally.in_flight -= 1;
    tally.failed += u64::from(has_failed);
    if tally.end() {
        tally.time(begun.elapsed());
    }
}

/// Writes a tool result of one text block.
fn text_result(text: &str, structured: Option<Raw>, is_error: bool) -> Raw {
    text_results(&[text], structured, is_error)
}

/// Writes a tool result of several text blocks.
fn text_results(texts: &[&str], structured: Option<Raw>, is_error: bool) -> Raw {
    let block = |text: &&str| {
        let mut block = RawObject::default();
        block.set("type", Raw::from_static(r#""text""#));
        block.set("text", Raw::string(text));
        block.into_raw()
    };
    let blocks: Vec<Raw> = texts.iter().map(block).collect();
    let mut result = RawObject::default();
    result.set("content", Raw::serialize(&blocks.iter().map(as_json).collect::<Vec<_>>()));
    if let Some(structured) = structured {
        result.set("structuredContent", structured);
    }
    if is_error {
        result.set("isError", Raw::boolean(true));
    }
    result.into_raw()
}

/// Lends our own small JSON to serde as it is.
fn as_json(raw: &Raw) -> &serde_json::value::RawValue {
    serde_json::from_str(raw.as_str()).unwrap_or(serde_json::value::RawValue::NULL)
}
