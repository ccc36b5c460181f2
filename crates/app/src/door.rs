//! The door of HTTP: where it listens, and what is behind it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use manifold_admin::Listener;
use manifold_config::{Config, HttpSettings, Limits, Profile, Secret, Selection, select_namespace};
use manifold_engine::{Audience, Gateway, Opening};
use manifold_frontends::admin::SharedPage;
use manifold_frontends::facts_of_anyone;
use manifold_frontends::http::{self, Admission, Namespaces, Served, Site, TlsAcceptor, Token, is_loopback};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tracing::info;

use crate::machine::budget;
use crate::wiring::Services;

/// An address that is ours, with nothing behind it yet.
pub(crate) struct Bound {
    listener: TcpListener,
    /// The same once more: it stays open when the door is closed.
    spare: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    settings: HttpSettings,
    limits: Limits,
    profile: Profile,
}

/// A door that leads to every enabled namespace.
pub(crate) struct Door {
    bound: tokio::sync::Mutex<Option<Bound>>,
    services: Services,
    namespaces: Arc<Namespaces>,
    /// `--namespace`.
    named: Option<String>,
    eager: bool,
}

impl Bound {
    /// Listens where the settings say.
    pub(crate) async fn at(config: &Config, tls: Option<TlsAcceptor>) -> Result<Self, String> {
        let settings = config.settings.http.clone();
        let (host, port) = (settings.host.as_str(), settings.port);
        let listener = TcpListener::bind((host, port))
            .await
            .map_err(|error| format!("cannot listen on {host}:{port}: {error}"))?;
        let listener = listener.into_std().map_err(|error| error.to_string())?;
        Self::on(config, tls, listener)
    }

    /// Goes on where another listened.
    pub(crate) fn on(
        config: &Config,
        tls: Option<TlsAcceptor>,
        listener: std::net::TcpListener,
    ) -> Result<Self, String> {
        let opened = || -> std::io::Result<(TcpListener, std::net::TcpListener)> {
            listener.set_nonblocking(true)?;
            let spare = listener.try_clone()?;
            Ok((TcpListener::from_std(listener)?, spare))
        };
        let (listener, spare) = opened().map_err(|error| error.to_string())?;
        let settings = config.settings.http.clone();
        Ok(Self { listener, spare, tls, settings, limits: config.settings.limits, profile: config.profile })
    }

    /// Returns the listener, for a program that takes our place.
    pub(crate) fn spare(&self) -> std::io::Result<std::net::TcpListener> {
        self.spare.try_clone()
    }

    /// Returns where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().map_or(self.settings.port, |address| address.port())
    }

    /// Puts the namespaces behind it.
    pub(crate) fn open(self, services: &Services, named: Option<String>, eager: bool) -> Arc<Door> {
        let selected = select_namespace(&services.fleet.config(), named.as_deref());
        let namespaces = Arc::new(Namespaces::new(served(services, &selected, eager, None)));
        let bound = tokio::sync::Mutex::new(Some(self));
        Arc::new(Door { bound, services: services.clone(), namespaces, named, eager })
    }
}

impl Door {
    /// Resolves the servers of a config that is about to be in force, for the namespaces that stay.
    pub(crate) fn prepare(&self) {
        let Some(resolution) = self.services.resolved() else { return };
        let served = self.namespaces.served();
        for gateway in served.namespaces.values().chain(&served.default) {
            gateway.prepare(Arc::clone(&resolution));
        }
    }

    /// Shows what a new config has.
    pub(crate) fn renew(&self) {
        let selected = select_namespace(&self.services.fleet.config(), self.named.as_deref());
        let served = served(&self.services, &selected, self.eager, Some(&self.namespaces.served()));
        self.namespaces.replace(served);
    }

    /// Lets clients in until `stop` resolves, then lets calls in flight finish; for as long as it says, connections that rest
    /// may make one more request. It is open once.
    pub(crate) async fn serve(
        &self,
        drain: Duration,
        page: Option<SharedPage>,
        stop: impl Future<Output = Duration>,
    ) {
        let Some(Bound { listener, tls, settings, limits, profile, .. }) = self.bound.lock().await.take()
        else {
            return;
        };
        let Ok(address) = listener.local_addr() else { return };
        let host = settings.host.as_str();
        let scheme = if tls.is_some() { "https" } else { "http" };
        info!("listening on {scheme}://{address}");
        let _listening = self.services.control.listening(Listener {
            transport: scheme.to_owned(),
            address: Some(address.to_string()),
            needs_token: settings.token.is_some(),
        });
        let shown = if is_loopback(host) { "localhost" } else { host };
        let site = Site {
            namespaces: Arc::clone(&self.namespaces),
            codes: self.services.codes(),
            profile,
            admission: Admission {
                public: !is_loopback(host),
                secure: tls.is_some(),
                allowed_hosts: settings.allowed_hosts,
                tokens: settings.token.into_iter().map(only_token).collect(),
                cors: settings.cors,
            },
            limit_bytes: limits.request_bytes,
            budget: budget(&limits),
            limits: limits.clients,
            port: address.port(),
            url: format!("{scheme}://{shown}:{}", address.port()),
            started: Instant::now(),
            page,
        };
        http::serve(listener, tls, site, drain, stop, &self.services.tasks).await;
    }
}

/// Returns the one token of the config as one of those that let in; it has no name there.
fn only_token(secret: Secret) -> Token {
    Token { name: "default".into(), secret, until: None }
}

/// Opens every enabled namespace, and the selected one as the default. Those that are open stay so.
fn served(services: &Services, selected: &Selection, eager: bool, before: Option<&Served>) -> Served {
    let resolution = services.resolved();
    let open = |namespace: Option<String>| {
        let resolution = resolution.clone();
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
                resolution,
                session: None,
                is_operators: false,
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
