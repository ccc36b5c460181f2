//! `litemcp`: one LiteMCP client, one namespace.

use std::process::ExitCode;

use manifold_config::{Config, LoadOptions, Selection};
use manifold_engine::Audience;
use manifold_frontends::litemcp::{self, Options, Service};
use manifold_frontends::stdio::standard_streams;
use tracing::{info, warn};

use super::stdio::serve_one;
use crate::cli::Flags;
use crate::machine::budget;
use crate::signals;
use crate::telemetry::Stdout;
use crate::wiring::{Services, Serving, opening};

pub(super) fn run(config: Config, options: LoadOptions, flags: &Flags, tool: Option<String>) -> ExitCode {
    serve_one(config, flags, |config, selection| serve(config, options, flags, selection, tool))
}

async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    selection: Selection,
    tool: Option<String>,
) -> std::io::Result<()> {
    let streams = standard_streams()?;
    let served = Options {
        limit_bytes: config.settings.limits.request_bytes,
        budget: budget(&config.settings.limits),
        drain_timeout: config.settings.drain_timeout,
    };
    let services = Services::new(config, options, flags, Serving::One);
    services.tell_of_calls(Stdout::Taken);
    let stop = signals::watch_signals(&services.tasks)?;
    let gateway = opening(selection, Audience::One, flags.eager).map(|opening| {
        let namespace = opening.namespace.as_deref().unwrap_or("all servers");
        info!(namespace, tool = tool.as_deref().unwrap_or("all tools"), "serving LiteMCP on stdio");
        services.open(opening)
    });
    if let Err(fault) = &gateway {
        warn!("{}", fault.message());
    }
    services.watch_config(|| {});
    litemcp::serve(Service::new(gateway, tool), streams, served, signals::asked(stop), &services.tasks).await;
    services.close().await;
    Ok(())
}
