//! A gateway whose servers answer at once, without a stream in between.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::{Environment, LoadOptions, Server, load_text};
use manifold_engine::{
    Audience, BoxFuture, Connector, Exchange, Fleet, Gateway, Host, Item, Listing, LoggedLine, Opening,
    Order, Phase, ReloadReport, Reloader, Status, Tasks, Upstream,
};
use manifold_protocol::{Call, Fault, Raw};
use tokio::time::Instant;

/// Opens a gateway to `servers` servers of `tools` tools each: `s0__t0` and so on.
pub(crate) fn gateway(servers: usize, tools: usize) -> Result<Arc<Gateway>, Box<dyn Error>> {
    let entries: Vec<String> = (0..servers).map(|at| format!(r#""s{at}":{{"builtin":"time"}}"#)).collect();
    let text = format!(r#"{{"mcpServers":{{{}}},"managerTools":false}}"#, entries.join(","));
    let environment = Environment { cwd: "/".into(), ..Environment::default() };
    let options = LoadOptions { environment, ..LoadOptions::default() };
    let config = load_text(&text, Some(Path::new("config.json")), &options)?;

    let server = Arc::new(Instantly::offering(tools)?);
    let connector = Box::new(Links(Arc::clone(&server)));
    let fleet = Fleet::new(Arc::new(config), connector, Tasks::new());
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
    Ok(Gateway::open(fleet, opening, Arc::new(NoFile), |_| server))
}

/// A server that has the answer before it is asked.
struct Instantly {
    listing: Arc<Listing>,
}

const ANSWER: &str = r#"{"content":[{"type":"text","text":"0123456789012345678901234567890123456789012345678901234567890123"}]}"#;

impl Instantly {
    fn offering(tools: usize) -> Result<Self, Box<dyn Error>> {
        let mut listing = Listing::default();
        for at in 0..tools {
            // About as long as tools are in the wild.
            let text = format!(
                r#"{{"name":"t{at}","description":"{}","inputSchema":{{"type":"object","properties":{{"text":{{"type":"string"}}}}}}}}"#,
                "Says what it was told. ".repeat(36),
            );
            listing.tools.push(Item { label: format!("t{at}"), raw: Raw::parse(text)? });
        }
        Ok(Self { listing: Arc::new(listing) })
    }
}

impl Upstream for Instantly {
    fn send(&self, _call: Call, exchange: Exchange) {
        exchange.finish(Ok(Raw::from_static(ANSWER)));
    }

    fn notify(&self, _method: &'static str, _params: Option<Raw>) {}

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
        Box::pin(std::future::ready(Ok(())))
    }

    fn close(&self, _drain: Duration) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

struct Links(Arc<Instantly>);

impl Connector for Links {
    fn connect(&self, _server: &Arc<Server>, _host: Arc<dyn Host>) -> Arc<dyn Upstream> {
        Arc::clone(&self.0) as Arc<dyn Upstream>
    }
}

struct NoFile;

impl Reloader for NoFile {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        Box::pin(std::future::ready(Err("there is no file".to_owned())))
    }
}
