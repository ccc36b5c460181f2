//! `http`: every enabled namespace at its own path.

use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use manifold_admin::Listener;
use manifold_config::{Config, Cors, Environment, LoadOptions, Secret, Selection, Tls, select_namespace};
use manifold_engine::{Audience, Gateway, Opening};
use manifold_frontends::facts_of_anyone;
use manifold_frontends::http::{
    self, Admission, Namespaces, Served, Site, TlsAcceptor, Token, is_loopback, tls_acceptor,
};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{asked_namespace, fail, token};
use crate::cli::{Flags, USAGE};
use crate::machine::budget;
use crate::signals;
use crate::wiring::{Services, Serving};

/// More threads than this would only wait for each other.
const MAX_WORKERS: usize = 8;

pub(super) fn run(mut config: Config, options: LoadOptions, flags: &Flags) -> ExitCode {
    if let Err(why) = apply_flags(&mut config, flags, &options.environment) {
        return fail(&why, USAGE);
    }
    if let Err(why) = asked_namespace(&config, flags.namespace.as_deref()) {
        return fail(&why, USAGE);
    }
    let settings = &config.settings.http;
    if !is_loopback(&settings.host) && settings.token.is_none() {
        let host = &settings.host;
        let why = format!("{host} can be reached from other machines, so a token is needed");
        let how = "give one with --token-file, MANIFOLD_TOKEN or server.token, or serve on 127.0.0.1";
        return fail(&format!("{why}; {how}"), USAGE);
    }
    if let Some(token) = &settings.token {
        for weakness in token::weaknesses(token, flags.token_file.as_deref()) {
            if !is_loopback(&settings.host) {
                let why = format!("{} can be reached from other machines, and {weakness}", settings.host);
                return fail(&why, USAGE);
            }
            warn!("{weakness}");
        }
    }
    let tls = match settings.tls.as_ref().map(|tls| tls_acceptor(&tls.cert, &tls.key)).transpose() {
        Ok(tls) => tls,
        Err(error) => return fail(&super::with_causes(&error), USAGE),
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime could not be started: {error}"), 1),
    };
    let served = runtime.block_on(serve(config, options, flags, tls));
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why, 1),
    }
}

/// Half the machine is for the servers and whoever calls them. Passing a call on costs a few microseconds, of which waking
/// a second thread would be a large part: where half the machine is one core, one thread does it all.
fn runtime() -> io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = match cores / 2 {
        0 | 1 => Builder::new_current_thread(),
        workers => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers.min(MAX_WORKERS));
            builder
        }
    };
    builder.enable_all().build()
}

/// Flag before environment before config.
fn apply_flags(config: &mut Config, flags: &Flags, environment: &Environment) -> Result<(), String> {
    let http = &mut config.settings.http;
    if let Some(port) = flags.port {
        http.port = port;
    }
    if let Some(host) = &flags.host {
        http.host.clone_from(host);
    }
    http.allowed_hosts.extend(flags.allowed_hosts.iter().cloned());
    if let Some(token) = environment.vars.get("MANIFOLD_TOKEN").filter(|token| !token.is_empty()) {
        if token.trim().is_empty() {
            return Err("MANIFOLD_TOKEN is only white space".to_owned());
        }
        http.token = Some(Secret::new(token.clone()));
    }
    if let Some(token) = &flags.token {
        if token.trim().is_empty() {
            return Err("--token is empty".to_owned());
        }
        warn!("--token can be seen in the list of processes; --token-file keeps it to yourself");
        http.token = Some(Secret::new(token.clone()));
    }
    if let Some(file) = &flags.token_file {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let token = text.trim();
        if token.is_empty() {
            return Err(format!("{}: the token file is empty", file.display()));
        }
        http.token = Some(Secret::new(token));
    }
    if flags.cors || !flags.cors_origins.is_empty() {
        let cors = http.cors.get_or_insert_with(|| Cors {
            origins: Vec::new(),
            methods: ["GET", "POST", "DELETE", "OPTIONS"].map(str::to_owned).to_vec(),
            allowed_headers: [
                "Content-Type",
                "Authorization",
                "Mcp-Session-Id",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Last-Event-ID",
            ]
            .map(str::to_owned)
            .to_vec(),
            credentials: false,
        });
        let default =
            if flags.cors_origins.is_empty() { vec!["*".to_owned()] } else { flags.cors_origins.clone() };
        cors.origins = default;
    }
    if http.cors.as_ref().is_some_and(|cors| cors.origins.iter().any(|origin| origin == "*")) {
        let means = if http.token.is_some() {
            "any origin, since a token is set"
        } else {
            "any page of this machine"
        };
        warn!("the CORS origin \"*\" means {means}; name origins to allow others");
    }
    if let (Some(cert), Some(key)) = (&flags.tls_cert, &flags.tls_key) {
        http.tls = Some(Tls { cert: cert.clone(), key: key.clone() });
    }
    Ok(())
}

async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    tls: Option<TlsAcceptor>,
) -> Result<(), String> {
    // Bind before anything is started (F30).
    let settings = config.settings.http.clone();
    let (host, port) = (settings.host.as_str(), settings.port);
    let listener = TcpListener::bind((host, port)).await.map_err(|error| {
        format!("cannot listen on {host}:{port}: {error}; is another one running? choose another with --port")
    })?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (limit_bytes, drain) = (config.settings.limits.request_bytes, config.settings.drain_timeout);
    let (budget, limits) = (budget(&config.settings.limits), config.settings.limits.clients);
    let profile = config.profile;
    let selected = select_namespace(&config, flags.namespace.as_deref());
    let services = Services::new(config, options, flags, Serving::All);
    let stop = signals::watch_signals(&services.tasks).map_err(|error| error.to_string())?;
    let eager = flags.eager;
    let namespaces = Arc::new(Namespaces::new(served(&services, &selected, eager, None)));
    let (theirs, renewed, named) = (Arc::downgrade(&namespaces), services.clone(), flags.namespace.clone());
    services.watch_config(move || {
        if let Some(namespaces) = theirs.upgrade() {
            let selected = select_namespace(&renewed.fleet.config(), named.as_deref());
            namespaces.replace(served(&renewed, &selected, eager, Some(&namespaces.served())));
        }
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    info!("listening on {scheme}://{address}");
    services.control.listening(Listener {
        transport: scheme.to_owned(),
        address: Some(address.to_string()),
        needs_token: settings.token.is_some(),
    });
    let shown = if is_loopback(host) { "localhost" } else { host };
    let site = Site {
        namespaces,
        codes: services.codes(),
        profile,
        admission: Admission {
            public: !is_loopback(host),
            secure: tls.is_some(),
            allowed_hosts: settings.allowed_hosts,
            tokens: settings.token.into_iter().map(only_token).collect(),
            cors: settings.cors,
        },
        limit_bytes,
        budget,
        limits,
        port: address.port(),
        url: format!("{scheme}://{shown}:{}", address.port()),
        started: Instant::now(),
    };
    http::serve(listener, tls, site, drain, signals::asked(stop), &services.tasks).await;
    services.close().await;
    Ok(())
}

/// Returns the one token of the config as one of those that let in; it has no name there.
fn only_token(secret: Secret) -> Token {
    Token { name: "default".into(), secret, until: None }
}

/// Opens every enabled namespace, and the selected one as the default. Those that are open stay so.
fn served(services: &Services, selected: &Selection, eager: bool, before: Option<&Served>) -> Served {
    let open = |namespace: Option<String>| {
        let known = before.and_then(|before| match &namespace {
            Some(id) => before.namespaces.get(id).cloned(),
            None => before.default.clone().filter(|gateway| gateway.namespace().is_none()),
        });
        // `default` may be another name of one that goes by its own now.
        known.filter(|gateway| gateway.namespace() == namespace.as_deref()).unwrap_or_else(|| {
            let selection = if namespace.is_some() { "flag" } else { "all" };
            let gateway = services.open(Opening {
                namespace,
                selection,
                audience: Audience::Shared,
                eager,
                resolution: None,
            });
            // No single client to speak for: servers are told what some client may be able to do (decision 29).
            gateway.introduce(facts_of_anyone(None));
            gateway
        })
    };
    let config = services.fleet.config();
    let enabled = config.namespaces.iter().filter(|namespace| namespace.enabled);
    let mut namespaces: HashMap<String, Arc<Gateway>> =
        enabled.map(|namespace| (namespace.id.clone(), open(Some(namespace.id.clone())))).collect();
    let default = match selected {
        Selection::Namespace { id, .. } => namespaces.get(id).cloned(),
        Selection::All => Some(open(None)),
        Selection::Unknown { .. } | Selection::Ambiguous { .. } => None,
    };
    // `default` names the selected namespace where none has that id (decision 3).
    if let Some(gateway) = &default {
        namespaces.entry("default".to_owned()).or_insert_with(|| Arc::clone(gateway));
    }
    Served { namespaces, default, config }
}
