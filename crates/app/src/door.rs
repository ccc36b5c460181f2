//! The door of HTTP: where it listens, who comes in, and what is behind it.

mod credentials;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use manifold_admin::Listener;
use manifold_config::{Config, HttpSettings, Limits, Profile, Secret, Selection, Server, select_namespace};
use manifold_engine::{Audience, Gateway, Opening};
use manifold_frontends::admin::SharedPage;
use manifold_frontends::facts_of_anyone;
use manifold_frontends::http::{self, Admission, Namespaces, Served, Site, TlsAcceptor, is_loopback};
use manifold_frontends::replica::{Replica, path_of};
use manifold_upstreams::spawner;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::commands::with_causes;
use crate::machine::budget;
use crate::tokens::TokenFile;
use crate::watch::watch_folder;
use crate::wiring::Services;
use credentials::{Address, Credentials};

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
    credentials: Credentials,
    /// Who we are among several, where there are.
    replica: OnceLock<Arc<Replica>>,
    /// Who is let in, once it is served.
    admission: OnceLock<(Arc<Admission>, Listening)>,
}

/// Where the door is, once it is served.
struct Listening {
    scheme: &'static str,
    host: String,
    port: u16,
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

    /// Returns the address at which it listens, as others would write it.
    pub(crate) fn address(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = self.settings.host.as_str();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        format!("{scheme}://{host}:{}", self.port())
    }

    /// Puts the namespaces behind it. `given` is a token that counts more than the config's.
    pub(crate) fn open(
        self,
        services: &Services,
        named: Option<String>,
        eager: bool,
        given: Option<Secret>,
    ) -> Arc<Door> {
        let selected = select_namespace(&services.fleet.config(), named.as_deref());
        let namespaces = Arc::new(Namespaces::new(served(services, &selected, eager, None)));
        let bound = tokio::sync::Mutex::new(Some(self));
        let stored = TokenFile::of(services.options());
        let credentials =
            Credentials::new(given, stored, (services.oauth_http(), spawner(services.tasks.clone())));
        let (admission, replica) = (OnceLock::new(), OnceLock::new());
        let services = services.clone();
        let door =
            Arc::new(Door { bound, services, namespaces, named, eager, credentials, replica, admission });
        door.watch_tokens();
        door
    }
}

impl Door {
    /// Serves as one of several. This is said once, before it is served.
    pub(crate) fn serve_as(&self, replica: Arc<Replica>) {
        let _ = self.replica.set(replica);
    }

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
        self.admit_anew();
        self.namespaces.replace(served);
    }

    /// Lets in by what the config, and the tokens that commands made, say now.
    fn admit_anew(&self) {
        let Some((admission, at)) = self.admission.get() else { return };
        let config = self.services.fleet.config();
        self.services.landings.set_address(config.settings.http.public_url.as_deref());
        let selected = select_namespace(&config, self.named.as_deref());
        let at = Address { scheme: at.scheme, host: &at.host, port: at.port };
        admission.accept(self.credentials.accepted(&config, &selected, &at));
    }

    /// Takes over tokens as they are made and revoked, whatever the config is like.
    fn watch_tokens(self: &Arc<Self>) {
        let Some(stored) = self.credentials.stored() else { return };
        let door = Arc::downgrade(self);
        let changed = move || {
            if let Some(door) = door.upgrade() {
                door.admit_anew();
                // Sessions of tokens that are gone end with them.
                door.namespaces.replace((*door.namespaces.served()).clone());
            }
        };
        watch_folder(stored.folder(), stored.path(), &self.services.tasks, changed);
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
        if let Some(tls) = &tls {
            watch_certificates(tls, &self.services);
        }
        let host = settings.host.as_str();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let admission = Admission::new(settings.allowed_hosts.clone(), settings.cors.clone());
        let admission = Arc::new(admission.public(!is_loopback(host)).secure(tls.is_some()));
        let listening = Listening { scheme, host: host.to_owned(), port: address.port() };
        let _ = self.admission.set((Arc::clone(&admission), listening));
        self.admit_anew();
        let needs_token = admission.needs_token();
        info!("listening on {scheme}://{address}");
        let _listening = self.services.control.listening(Listener {
            transport: scheme.to_owned(),
            address: Some(address.to_string()),
            needs_token,
        });
        let shown = if is_loopback(host) { "localhost" } else { host };
        let site = Site {
            namespaces: Arc::clone(&self.namespaces),
            codes: self.services.codes(),
            profile,
            admission,
            limit_bytes: limits.request_bytes,
            budget: budget(&limits),
            limits: limits.clients,
            port: address.port(),
            url: format!("{scheme}://{shown}:{}", address.port()),
            started: Instant::now(),
            health: Arc::clone(self.services.fleet.health()),
            page,
            callbacks: Some(Arc::clone(&self.services.landings) as _),
            replica: self.replica.get().cloned(),
        };
        http::serve(listener, tls, site, drain, stop, &self.services.tasks).await;
    }
}

/// Takes over certificates and keys as their files change: they are renewed more often than anybody restarts.
fn watch_certificates(tls: &TlsAcceptor, services: &Services) {
    for file in tls.files() {
        let (tls, shown) = (tls.clone(), file.to_owned());
        let changed = move || match tls.reload() {
            Ok(()) => info!(file = %shown.display(), "certificates were read anew"),
            // Certificate and key are seldom written at once; the second of them brings the other.
            Err(error) => {
                warn!(file = %shown.display(), "the certificates in use stay: {}", with_causes(&error))
            }
        };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        watch_folder(folder.unwrap_or(Path::new(".")), file, &services.tasks, changed);
    }
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
                alone: None,
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
    let alone = alone(services, before);
    Served { namespaces, default, alone, config }
}

/// Opens each server that runs at one of several gateways by itself, for the others.
fn alone(services: &Services, before: Option<&Served>) -> HashMap<String, Arc<Gateway>> {
    let config = services.fleet.config();
    let leased =
        config.servers.iter().filter(|server| server.enabled && services.upstreams.is_leased(server));
    let open = |server: &Server| {
        let path = path_of(&server.key);
        let known = before.and_then(|before| before.alone.get(&path).cloned());
        let gateway = known.unwrap_or_else(|| {
            let gateway = services.open(Opening {
                namespace: None,
                selection: "all",
                audience: Audience::Shared,
                eager: false,
                resolution: services.resolved(),
                session: None,
                is_operators: false,
                alone: Some(server.key.clone()),
            });
            gateway.introduce(facts_of_anyone(None));
            gateway
        });
        (path, gateway)
    };
    leased.map(open).collect()
}
