//! A gateway as operators control it: what its servers do not do, but the program around them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use manifold_admin::{
    About, ApiVersions, AskerEnvironment, AuditLine, CommandError, ConfigChanged, ConfigCheck, ConfigFile,
    ErrorCode, GatewayKind,
};
use manifold_config::{ClientEnvironment, Edit, LoadOptions, Selection, project_root, select_namespace};
use manifold_engine::{Audience, BoxFuture, Gateway, Lock as _, Opening};
use manifold_frontends::admin::{ControlledProgram, DaemonOrder};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::audit::Audit;
use crate::config_editor::ConfigEditor;
use crate::daemon::Daemon;
use crate::wiring::Services;

/// How long servers that an operator has used are kept for the next command at the most; not longer than a daemon stays
/// without clients.
const KEPT_AT_MOST: Duration = Duration::from_secs(60);

/// How often is looked for those whose time is up, at the most.
const LOOKS_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct ControlledGateway {
    services: Services,
    kind: GatewayKind,
    options: LoadOptions,
    since: Instant,
    editor: ConfigEditor,
    /// `None`: there is no folder to keep it in.
    audit: Option<Audit>,
    /// Namespaces that were opened for operators of late, by name and variables.
    opened: Arc<Mutex<OpenedGateways>>,
    /// The daemon, where this is one.
    daemon: OnceLock<Weak<Daemon>>,
}

type OpenedGateways = HashMap<(Option<String>, u64), Opened>;

struct Opened {
    gateway: Arc<Gateway>,
    client: ClientEnvironment,
    used: Instant,
}

impl ControlledGateway {
    pub(crate) fn new(services: &Services, kind: GatewayKind, options: LoadOptions) -> Self {
        let state = options.environment.state_home();
        let audit = state.and_then(|state| {
            Audit::open(&state).inspect_err(|error| warn!("what operators change is not kept: {error}")).ok()
        });
        Self {
            services: services.clone(),
            kind,
            editor: ConfigEditor::new(options.clone()),
            options,
            since: Instant::now(),
            audit,
            opened: Arc::default(),
            daemon: OnceLock::new(),
        }
    }

    /// Says which daemon it is.
    pub(crate) fn set_daemon(&self, daemon: &Arc<Daemon>) {
        let _ = self.daemon.set(Arc::downgrade(daemon));
    }

    /// Waits until what operators did is written down.
    pub(crate) fn flush(&self) {
        self.audit.iter().for_each(Audit::flush);
    }

    fn its_daemon(&self) -> Option<Arc<Daemon>> {
        self.daemon.get()?.upgrade()
    }

    /// Returns what is opened for an operator who names this namespace, or none.
    fn opening(&self, namespace: Option<&str>) -> Result<Opening, CommandError> {
        let (id, selection) = match select_namespace(&self.services.fleet.config(), namespace) {
            Selection::Namespace { id, .. } => (Some(id), "flag"),
            // A client would have to choose; an operator who does not sees all there is.
            Selection::All | Selection::Ambiguous { .. } if namespace.is_none() => (None, "all"),
            Selection::All | Selection::Ambiguous { .. } | Selection::Unknown { .. } => {
                return Err(self.unknown(namespace.unwrap_or_default()));
            }
        };
        Ok(Opening {
            namespace: id,
            selection,
            audience: if self.kind == GatewayKind::Http { Audience::Shared } else { Audience::One },
            eager: false,
            resolution: None,
            session: None,
            is_operators: true,
        })
    }

    fn unknown(&self, namespace: &str) -> CommandError {
        let config = self.services.fleet.config();
        let known: Vec<&str> = config.namespaces.iter().map(|namespace| namespace.id.as_str()).collect();
        let hint = if known.is_empty() {
            "the config has no namespaces".to_owned()
        } else {
            format!("there are: {}", known.join(", "))
        };
        let message = format!("there is no namespace '{namespace}'");
        CommandError { hint: Some(hint), ..CommandError::new(ErrorCode::UnknownNamespace, message) }
    }

    /// Opens a namespace as a client with these variables would have it, or the one that was opened so a while ago: its
    /// servers run.
    fn open_as(&self, opening: Opening, client: &ClientEnvironment) -> Arc<Gateway> {
        let key = (opening.namespace.clone(), hash(client));
        let mut opened = self.opened.locked();
        if let Some(known) = opened.get_mut(&key) {
            known.used = Instant::now();
            return Arc::clone(&known.gateway);
        }
        let resolution = self.services.resolve(client);
        let gateway = self.services.open(Opening { resolution, ..opening });
        if opened.is_empty() {
            let kept_for = self.services.fleet.config().settings.daemon.linger.min(KEPT_AT_MOST);
            self.services.tasks.spawn_background(close_unused(Arc::downgrade(&self.opened), kept_for));
        }
        opened.insert(
            key,
            Opened { gateway: Arc::clone(&gateway), used: Instant::now(), client: client.clone() },
        );
        gateway
    }

    /// Gives what is open the servers of a config that is about to be in force.
    pub(crate) fn prepare(&self) {
        let opened: Vec<_> =
            self.opened.locked().values().map(|one| (Arc::clone(&one.gateway), one.client.clone())).collect();
        for (gateway, client) in opened {
            if let Some(resolution) = self.services.resolve(&client) {
                gateway.prepare(resolution);
            }
        }
    }
}

/// Lets go of what no operator has used for a while.
async fn close_unused(opened: Weak<Mutex<OpenedGateways>>, kept_for: Duration) {
    loop {
        sleep((kept_for / 4).max(LOOKS_EVERY)).await;
        let Some(opened) = opened.upgrade() else { return };
        let mut opened = opened.locked();
        opened.retain(|_, one| Arc::strong_count(&one.gateway) > 1 || one.used.elapsed() < kept_for);
        if opened.is_empty() {
            return;
        }
    }
}

fn hash(client: &ClientEnvironment) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&client.values, &client.cwd).hash(&mut hasher);
    hasher.finish()
}

impl ControlledProgram for ControlledGateway {
    fn about(&self) -> About {
        let snapshot = self.services.control.about();
        let used = if self.kind == GatewayKind::Daemon {
            self.services.variables_used()
        } else {
            Default::default()
        };
        About {
            version: snapshot.version,
            build: snapshot.build,
            api: ApiVersions::default(),
            kind: self.kind,
            pid: std::process::id(),
            uptime_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            profile: snapshot.profile,
            config: self.services.fleet.config().source.path.as_ref().map(|path| path.display().to_string()),
            revision: self.editor.revision().ok(),
            listeners: snapshot.listeners,
            needs: used.names.into_iter().collect(),
            needs_everything: used.everything,
        }
    }

    fn open(
        &self,
        namespace: Option<&str>,
        client: Option<AskerEnvironment>,
    ) -> Result<Arc<Gateway>, CommandError> {
        let opening = self.opening(namespace)?;
        if self.kind != GatewayKind::Daemon {
            return Ok(self.services.open(opening));
        }
        let client = match client {
            Some(told) => {
                let cwd = PathBuf::from(told.cwd);
                ClientEnvironment { values: told.values, project: project_root(&cwd), cwd }
            }
            None => ClientEnvironment::of(&self.options.environment),
        };
        Ok(self.open_as(opening, &client))
    }

    fn config(&self) -> BoxFuture<Result<ConfigFile, CommandError>> {
        let editor = self.editor.clone();
        Box::pin(async move { editor.file() })
    }

    fn check_config(&self, text: String) -> BoxFuture<ConfigCheck> {
        let (editor, config) = (self.editor.clone(), self.services.fleet.config());
        Box::pin(async move { editor.check(&text, Some(&config)) })
    }

    fn edit_config(
        &self,
        edit: Edit,
        expected: Option<String>,
    ) -> BoxFuture<Result<ConfigChanged, CommandError>> {
        let (editor, reloader) = (self.editor.clone(), self.services.reloader());
        Box::pin(async move { editor.edit(edit, expected, &*reloader).await })
    }

    fn daemon(&self, order: DaemonOrder) -> BoxFuture<Result<(), CommandError>> {
        match self.its_daemon() {
            Some(daemon) => Box::pin(async move { daemon.obey(order).await }),
            None => {
                let refused = CommandError {
                    hint: Some("end it where it was started".to_owned()),
                    ..CommandError::new(ErrorCode::Unsupported, "this gateway is no daemon")
                };
                Box::pin(std::future::ready(Err(refused)))
            }
        }
    }

    fn daemon_status(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(&self.its_daemon()?.status()).ok()
    }

    fn audit(&self, line: AuditLine) {
        self.audit.iter().for_each(|audit| audit.append(&line));
    }

    fn audited(&self, lines: usize) -> Vec<AuditLine> {
        self.audit.as_ref().map(|audit| audit.last(lines)).unwrap_or_default()
    }

    fn hold(&self) -> Box<dyn Send + Sync> {
        match self.its_daemon().and_then(|daemon| daemon.enter()) {
            Some(presence) => Box::new(presence),
            None => Box::new(()),
        }
    }
}
