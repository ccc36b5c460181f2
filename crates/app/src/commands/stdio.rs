//! `serve --stdio`: one client, one namespace.

use std::process::ExitCode;

use manifold_admin::Listener;
use manifold_config::{Config, LoadOptions, Selection, select_namespace};
use manifold_engine::{Audience, ClientProcess, Requester};
use manifold_frontends::Destination;
use manifold_frontends::stdio::{self, Options};
use tracing::{info, warn};

use super::{fail, runtime};
use crate::cli::{Flags, USAGE};
use crate::machine::budget;
use crate::signals;
use crate::telemetry::Stdout;
use crate::wiring::{Services, Serving, opening};

pub(super) fn run(config: Config, options: LoadOptions, flags: &Flags) -> ExitCode {
    serve_one(config, flags, |config, selection| serve(config, options, flags, selection))
}

/// Serves one client with the namespace that is selected.
pub(super) fn serve_one<F: Future<Output = std::io::Result<()>>>(
    config: Config,
    flags: &Flags,
    serve: impl FnOnce(Config, Selection) -> F,
) -> ExitCode {
    // What is to be served is known once the file can be read (D9).
    let selection = match config.unread {
        Some(_) => Selection::All,
        None => select_namespace(&config, flags.namespace.as_deref()),
    };
    if let Selection::Unknown { requested, exists, disabled, fatal: true } = &selection {
        let what = if *disabled { "is disabled" } else { "does not exist" };
        let exists = if exists.is_empty() { "none".to_owned() } else { exists.join(", ") };
        let hint = "choose one with --schema, for example: manifold --stdio --schema NAME";
        return fail(&format!("schema '{requested}' {what}; enabled schemas: {exists}; {hint}"), USAGE);
    }
    // One client and its pipes: one thread does it all, with no hand-over between threads.
    let runtime = match runtime(1) {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime could not be started: {error}"), 1),
    };
    let served = runtime.block_on(serve(config, selection));
    // A read of a terminal cannot be called back; it must not keep us.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("standard input and output cannot be used: {error}"), 1),
    }
}

async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    selection: Selection,
) -> std::io::Result<()> {
    let streams = stdio::standard_streams()?;
    let profile = config.profile;
    let served = Options {
        limit_bytes: config.settings.limits.request_bytes,
        budget: budget(&config.settings.limits),
        drain_timeout: config.settings.drain_timeout,
        framing: flags.framing.map(Into::into),
    };
    let services = Services::new(config, options, flags, Serving::One);
    services.tell_of_calls(Stdout::Taken);
    let stop = signals::watch_signals(&services.tasks)?;
    let gateway = opening(selection, Audience::One, flags.eager).map(|opening| {
        info!(namespace = opening.namespace.as_deref().unwrap_or("all servers"), "serving on stdio");
        services.open(opening)
    });
    if let Err(fault) = &gateway {
        warn!("{}", fault.message());
    }
    services.watch_config(|| {});
    let _listening =
        services.control.listening(Listener { transport: "stdio".to_owned(), ..Listener::default() });
    let destination = Destination {
        gateway,
        codes: services.codes(),
        profile,
        audience: Audience::One,
        requester: Requester::of_process(started_by()),
    };
    stdio::serve(destination, streams, served, signals::asked(stop), &services.tasks).await;
    services.close().await;
    Ok(())
}

/// Returns the process that has started us, which is the client.
fn started_by() -> ClientProcess {
    let cwd = std::env::current_dir().ok().map(|cwd| cwd.display().to_string());
    ClientProcess { pid: Some(std::os::unix::process::parent_id()), cwd, shim: None }
}
