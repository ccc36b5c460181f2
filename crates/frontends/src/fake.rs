//! A gateway whose servers exist only as far as a test says.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use manifold_config::{Environment, LoadOptions, Profile, Server, load_text};
use manifold_engine::{
    Audience, BoxFuture, Connector, Exchange, Fleet, Gateway, Host, Item, Listing, Lock as _, LoggedLine,
    Opening, Order, Phase, ReloadReport, Reloader, Status, Tasks, Upstream,
};
use manifold_protocol::{Call, Fault, Raw};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) tasks: Tasks,
}

/// Opens a gateway to one server `s`. Its tools: `echo` answers with its arguments, `hold` waits, `panic` does.
pub(crate) fn world(profile: Profile) -> World {
    let text = r#"{"mcpServers":{"s":{"builtin":"time"}},"managerTools":false,"roots":["file:///r"]}"#;
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, profile: Some(profile), ..LoadOptions::default() };
    let config = load_text(text, Some(Path::new("config.json")), &options).unwrap();
    let tasks = Tasks::new();
    let fake = Arc::new(Fake::new());
    let fleet = Fleet::new(Arc::new(config), Box::new(Links(Arc::clone(&fake))), tasks.clone());
    let opening = Opening {
        namespace: None,
        selection: "all",
        audience: Audience::One,
        eager: false,
        resolution: None,
        session: None,
        is_operators: false,
        alone: None,
    };
    let manager = Arc::clone(&fake) as Arc<dyn Upstream>;
    let gateway = Gateway::open(Arc::clone(&fleet), opening, Arc::new(NoFile), |_| manager);
    World { fleet, gateway, fake, tasks }
}

/// The one server.
pub(crate) struct Fake {
    listing: Arc<Listing>,
    held: Mutex<Vec<(Call, Exchange)>>,
    told: Mutex<Vec<String>>,
    host: Mutex<Option<Arc<dyn Host>>>,
    /// Whether orders take until one is let end.
    pub(crate) has_slow_orders: AtomicBool,
    order_ends: Arc<Notify>,
}

impl Fake {
    fn new() -> Self {
        let tool = |name: &str| Item {
            label: name.to_owned(),
            raw: Raw::parse(format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)).unwrap(),
        };
        let tools = ["echo", "hold", "panic"].map(tool).to_vec();
        let listing = Arc::new(Listing { tools, ..Listing::default() });
        Self {
            listing,
            held: Mutex::default(),
            told: Mutex::default(),
            host: Mutex::default(),
            has_slow_orders: AtomicBool::default(),
            order_ends: Arc::default(),
        }
    }

    /// Returns the calls that wait, oldest first.
    pub(crate) fn held(&self) -> Vec<(Call, Exchange)> {
        std::mem::take(&mut *lock(&self.held))
    }

    /// Returns what a server would be told of the client now.
    pub(crate) fn told_facts(&self) -> Option<String> {
        let facts = lock(&self.host).as_ref()?.client_facts();
        Some(format!("{} {} {:?}", facts.capabilities, facts.info, facts.revision))
    }

    pub(crate) fn held_count(&self) -> usize {
        lock(&self.held).len()
    }

    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.told))
    }

    /// Lets one order come to its end.
    pub(crate) fn let_order_end(&self) {
        self.order_ends.notify_one();
    }

    pub(crate) fn host(&self) -> Arc<dyn Host> {
        lock(&self.host).clone().expect("it is connected")
    }
}

impl Upstream for Fake {
    fn send(&self, call: Call, exchange: Exchange) {
        match call.text_param("name").as_deref() {
            Some("echo") => {
                let arguments = call.params.as_ref().and_then(|params| params.get("arguments"));
                exchange.finish(Ok(arguments.unwrap_or_else(|| Raw::from_static("{}"))));
            }
            Some("panic") => panic!("as the test asked for"),
            _ => lock(&self.held).push((call, exchange)),
        }
    }

    fn notify(&self, method: &'static str, _params: Option<Raw>) {
        lock(&self.told).push(method.to_owned());
    }

    fn listing(&self) -> Option<Arc<Listing>> {
        Some(Arc::clone(&self.listing))
    }

    fn status(&self) -> Status {
        Status { phase: Phase::Ready, pid: None, since: Instant::now() }
    }

    fn logs(&self, _lines: usize) -> Vec<LoggedLine> {
        Vec::new()
    }

    fn discover(&self) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    fn order(&self, _order: Order) -> BoxFuture<Result<(), Fault>> {
        if !self.has_slow_orders.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let ends = Arc::clone(&self.order_ends);
        Box::pin(async move {
            ends.notified().await;
            Ok(())
        })
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

struct Links(Arc<Fake>);

impl Connector for Links {
    fn connect(&self, _server: &Arc<Server>, host: Arc<dyn Host>) -> Arc<dyn Upstream> {
        *lock(&self.0.host) = Some(host);
        Arc::clone(&self.0) as Arc<dyn Upstream>
    }
}

pub(crate) struct NoFile;

impl Reloader for NoFile {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        Box::pin(std::future::ready(Err("there is no file".to_owned())))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.locked()
}
