//! `http`: every enabled namespace at its own path.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use manifold_config::{Config, Cors, Environment, HttpSettings, LoadOptions, Secret, Tls, TokenOrigin};
use manifold_frontends::http::{TlsAcceptor, is_loopback, tls_acceptor};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tracing::warn;

use super::{asked_namespace, fail, runtime, token};
use crate::cli::{Flags, USAGE};
use crate::door::Bound;
use crate::operator::ControlSocket;
use crate::replica;
use crate::signals;
use crate::telemetry::Stdout;
use crate::tokens::TokenFile;
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
    let tls = match check(&config, &options, flags) {
        Ok(tls) => tls,
        Err(why) => return fail(&why, USAGE),
    };
    let runtime = match runtime(workers()) {
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

/// Checks that the door may be opened as the settings say. Returns what it needs for TLS.
pub(crate) fn check(
    config: &Config,
    options: &LoadOptions,
    flags: &Flags,
) -> Result<Option<TlsAcceptor>, String> {
    let settings = &config.settings.http;
    let stored = TokenFile::of(options).map(|file| file.named()).transpose()?.unwrap_or_default();
    let lets_in = settings.token.is_some()
        || settings.auth.is_some()
        || settings.tls.as_ref().is_some_and(|tls| tls.clients.is_some())
        || settings.tokens.iter().chain(&stored).next().is_some();
    if !is_loopback(&settings.host) && !lets_in {
        let host = &settings.host;
        let why = format!("{host} can be reached from other machines, so a token is needed");
        let how = "give one with --token-file, MANIFOLD_TOKEN or server.token, make one with `manifold token \
                   create`, or serve on 127.0.0.1";
        return Err(format!("{why}; {how}"));
    }
    if !is_loopback(&settings.host) && settings.auth.is_some() && settings.public_url.is_none() {
        let why = "clients from elsewhere must know for which address their tokens are";
        return Err(format!("{why}; write it into `server.publicUrl`, such as `https://tools.example`"));
    }
    check_named(settings)?;
    if let Some(token) = &settings.token {
        for weakness in token::weaknesses(token, flags.token_file.as_deref()) {
            if !is_loopback(&settings.host) {
                return Err(format!("{} can be reached from other machines, and {weakness}", settings.host));
            }
            warn!("{weakness}");
        }
    }
    let acceptor = settings.tls.as_ref().map(tls_acceptor).transpose();
    acceptor.map_err(|error| super::with_causes(&error))
}

/// Says which of the named tokens could be guessed or read, as far as they can be seen (L17).
fn check_named(settings: &HttpSettings) -> Result<(), String> {
    for token in &settings.tokens {
        let TokenOrigin::Read { characters, open_file } = &token.origin else { continue };
        let open = open_file.as_deref().map(token::can_be_read);
        for weakness in token::too_short(*characters).into_iter().chain(open) {
            let weakness = format!("server.tokens.{}: {weakness}", token.name);
            if !is_loopback(&settings.host) {
                return Err(format!("{} can be reached from other machines, and {weakness}", settings.host));
            }
            warn!("{weakness}");
        }
    }
    Ok(())
}

/// Half the machine is for the servers and whoever calls them. Passing a call on costs a few microseconds, of which waking
/// a second thread would be a large part: where half the machine is one core, one thread does it all.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).min(MAX_WORKERS)
}

/// Flag before environment before config.
pub(super) fn apply_flags(
    config: &mut Config,
    flags: &Flags,
    environment: &Environment,
) -> Result<(), String> {
    let http = &mut config.settings.http;
    if let Some(port) = flags.port {
        http.port = port;
    }
    if let Some(host) = &flags.host {
        http.host.clone_from(host);
    }
    http.allowed_hosts.extend(flags.allowed_hosts.iter().cloned());
    if let Some(token) = given_token(flags, environment)? {
        if flags.token.is_some() {
            warn!("--token can be seen in the list of processes; --token-file keeps it to yourself");
        }
        http.token = Some(token);
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
    if let Some(address) = &flags.metrics {
        config.settings.telemetry.metrics = Some(address.clone());
    }
    let http = &mut config.settings.http;
    if let (Some(cert), Some(key)) = (&flags.tls_cert, &flags.tls_key) {
        let clients = http.tls.take().and_then(|tls| tls.clients);
        http.tls = Some(Tls { cert: cert.clone(), key: key.clone(), clients });
    }
    let scale = &mut config.settings.scale;
    if let Some(file) = &flags.state_key_file {
        scale.state_key_file = Some(file.clone());
    }
    if let Some(state) = &flags.state {
        scale.state = Some(Secret::new(state.clone()));
    }
    if let Some(name) = &flags.replica {
        scale.replica = Some(name.clone());
    }
    Ok(())
}

/// Returns the token of the command line or the environment, which counts more than the config's for as long as we run.
fn given_token(flags: &Flags, environment: &Environment) -> Result<Option<Secret>, String> {
    if let Some(file) = &flags.token_file {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let token = text.trim();
        if token.is_empty() {
            return Err(format!("{}: the token file is empty", file.display()));
        }
        return Ok(Some(Secret::new(token)));
    }
    if let Some(token) = &flags.token {
        if token.trim().is_empty() {
            return Err("--token is empty".to_owned());
        }
        return Ok(Some(Secret::new(token.clone())));
    }
    match environment.vars.get("MANIFOLD_TOKEN").filter(|token| !token.is_empty()) {
        Some(token) if token.trim().is_empty() => Err("MANIFOLD_TOKEN is only white space".to_owned()),
        token => Ok(token.map(|token| Secret::new(token.clone()))),
    }
}

async fn bind_metrics(address: &str) -> Result<TcpListener, String> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| format!("cannot serve metrics on {address}: {error}"))
}

async fn serve(
    config: Config,
    options: LoadOptions,
    flags: &Flags,
    tls: Option<TlsAcceptor>,
) -> Result<(), String> {
    // Bind before anything is started (F30).
    let bound = Bound::at(&config, tls)
        .await
        .map_err(|why| format!("{why}; is another one running? choose another with --port"))?;
    let metrics = match &config.settings.telemetry.metrics {
        None => None,
        Some(address) => Some(bind_metrics(address).await?),
    };
    let (drain, dashboard) = (config.settings.drain_timeout, config.settings.dashboard);
    let drain_delay = config.settings.scale.drain_delay;
    if dashboard.enabled && config.settings.http.token.is_none() {
        warn!("the dashboard lets nobody in without a token: set `server.token`, or run `manifold open`");
    }
    // As commands look for it, which have not read the file.
    let profile = flags.known_profile(options.program_profile);
    let scale = config.settings.scale.clone();
    let services = Services::new(config, options.clone(), flags, Serving::All);
    services.tell_of_calls(Stdout::Free);
    if let Some(listener) = metrics {
        services.telemetry.serve_metrics(listener, &services.tasks);
    }
    let control = ControlSocket::open(&services, &options, profile, bound.port());
    let page = control.as_ref().filter(|_| dashboard.enabled);
    let page = page.map(|control| control.page(!dashboard.view_only));
    let stop = signals::watch_signals(&services.tasks).map_err(|error| error.to_string())?;
    let given = given_token(flags, &options.environment)?;
    let replica = replica::open(&scale, &bound.address(), &services)?;
    let door = bound.open(&services, flags.namespace.clone(), flags.eager, given);
    let store = replica.and_then(|(replica, store)| {
        door.serve_as(replica);
        store
    });
    let renewed = Arc::downgrade(&door);
    services.watch_config(move || {
        if let Some(door) = renewed.upgrade() {
            door.renew();
        }
    });
    let (ends, ending) = oneshot::channel::<()>();
    let operators = async {
        let _ = ending.await;
        if let Some(control) = &control {
            control.drain(drain).await;
        }
    };
    let health = Arc::clone(services.fleet.health());
    let stopped = async move {
        signals::asked(stop).await;
        health.drain();
        // For a balancer to notice, and to send its requests elsewhere.
        tokio::time::sleep(drain_delay).await;
        drop(ends);
        Duration::ZERO
    };
    tokio::join!(door.serve(drain, page, stopped), operators);
    if let Some(store) = store {
        store.leave().await;
    }
    services.close().await;
    Ok(())
}
