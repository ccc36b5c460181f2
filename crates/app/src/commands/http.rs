//! `http`: every enabled namespace at its own path.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;

use manifold_config::{Config, LoadOptions, Selection, select_namespace};
use manifold_engine::{ClientFacts, Front, Gateway, Opening};
use manifold_frontends::http::{self, Site};
use manifold_protocol::{Raw, Revision};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tracing::info;

use super::fail;
use crate::cli::Flags;
use crate::signals;
use crate::wiring::Plant;

pub(super) fn run(mut config: Config, options: LoadOptions, flags: &Flags) -> ExitCode {
    if let Some(port) = flags.port {
        config.settings.http.port = port;
    }
    if let Some(host) = &flags.host {
        config.settings.http.host.clone_from(host);
    }
    let host = &config.settings.http.host;
    let local =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if !local {
        let why =
            format!("{host} can be reached from other machines, and this version has no token to guard it");
        return fail(&format!("{why}; serve on 127.0.0.1"), 1);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime could not be started: {error}"), 1),
    };
    let served = runtime.block_on(serve(config, options, flags));
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why, 1),
    }
}

async fn serve(config: Config, options: LoadOptions, flags: &Flags) -> Result<(), String> {
    // Bind before anything is started (F30).
    let (host, port) = (config.settings.http.host.clone(), config.settings.http.port);
    let listener = TcpListener::bind((host.as_str(), port)).await.map_err(|error| {
        format!("cannot listen on {host}:{port}: {error}; is another one running? choose another with --port")
    })?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let limit_bytes = config.settings.limits.request_bytes;
    let selected = select_namespace(&config, flags.namespace.as_deref());
    let names: Vec<String> =
        config.namespaces.iter().filter(|one| one.enabled).map(|one| one.id.clone()).collect();
    let plant = Plant::new(config, options, flags.namespace.clone());
    let stop = signals::watch_signals(&plant.tasks).map_err(|error| error.to_string())?;

    let open = |namespace: Option<String>| {
        let selection = if namespace.is_some() { "flag" } else { "all" };
        plant.open(Opening { namespace, selection, front: Front::Http, eager: flags.eager })
    };
    let mut namespaces: HashMap<String, Arc<Gateway>> =
        names.into_iter().map(|id| (id.clone(), open(Some(id)))).collect();
    // `default` names the selected namespace where none has that id (decision 3).
    let default = match &selected {
        Selection::Namespace { id, .. } => namespaces.get(id).cloned(),
        Selection::All => Some(open(None)),
        Selection::Unknown { .. } | Selection::Ambiguous { .. } => None,
    };
    if let Some(gateway) = default {
        namespaces.entry("default".to_owned()).or_insert(gateway);
    }
    // No single client to speak for: servers are told what some client may be able to do (decision 29).
    let facts = ClientFacts {
        capabilities: Raw::from_static(r#"{"roots":{},"sampling":{},"elicitation":{}}"#),
        info: Raw::parse(concat!(r#"{"name":"manifold","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#))
            .unwrap_or_else(|_| Raw::from_static("{}")),
        revision: Revision::LATEST,
    };
    for gateway in namespaces.values() {
        gateway.introduce(facts.clone());
    }
    info!("listening on http://{address}");
    let site = Site { namespaces, codes: plant.codes(), limit_bytes, started: Instant::now() };
    let served = http::serve(listener, Arc::new(site), signals::asked(stop)).await;
    plant.close().await;
    served.map_err(|error| format!("serving failed: {error}"))
}
