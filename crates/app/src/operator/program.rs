//! A gateway as operators control it: what its servers do not do, but the program around them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use jiff::Timestamp;
use manifold_admin::{
    About, ApiVersions, AskerEnvironment, AuditLine, CommandError, ConfigChanged, ConfigCheck, ConfigFile,
    ErrorCode, GatewayKind, Recording, RecordingStart, Server, Target,
};
use manifold_config::{ClientEnvironment, Edit, LoadOptions, Selection, project_root, select_namespace};
use manifold_engine::{Audience, BoxFuture, Gateway, Opening};
use manifold_frontends::admin::{ControlledProgram, DaemonOrder, Undo};
use manifold_recording::{Format, Header, HeaderServer, Recorded, export};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::warn;

use super::verbs;
use crate::audit::Audit;
use crate::config_editor::ConfigEditor;
use crate::daemon::Daemon;
use crate::remembered::Memory;
use crate::wiring::{Services, cache};

pub(crate) struct ControlledGateway {
    services: Services,
    kind: GatewayKind,
    options: LoadOptions,
    since: Instant,
    editor: ConfigEditor,
    memory: Memory,
    /// Opened with the first change; `None`: there is no folder to keep it in.
    audit: OnceLock<Option<Audit>>,
    /// The daemon, where this is one.
    daemon: OnceLock<Weak<Daemon>>,
}

impl ControlledGateway {
    pub(crate) fn new(services: &Services, kind: GatewayKind, options: LoadOptions) -> Self {
        Self {
            services: services.clone(),
            kind,
            editor: ConfigEditor::new(options.clone()),
            memory: Memory::new(cache(&options)),
            options,
            since: Instant::now(),
            audit: OnceLock::new(),
            daemon: OnceLock::new(),
        }
    }

    /// Says which daemon it is.
    pub(crate) fn set_daemon(&self, daemon: &Arc<Daemon>) {
        let _ = self.daemon.set(Arc::downgrade(daemon));
    }

    /// Waits until what operators did is written down.
    pub(crate) fn flush(&self) {
        self.audit.get().into_iter().flatten().for_each(Audit::flush);
    }

    fn open_audit(&self) -> Option<Audit> {
        let opened = Audit::open(&self.options.environment.state_home()?);
        opened.inspect_err(|error| warn!("what operators change is not kept: {error}")).ok()
    }

    /// Goes on with what the program whose place we took was recording.
    pub(crate) fn go_on_recording(&self, recordings: &[RecordingStart]) {
        for start in recordings {
            if let Err(error) = self.services.recorder.go_on(start, self.header(start), self.hold()) {
                warn!("the recording '{}' ends here: {}", start.name, error.message);
            }
        }
    }

    fn header(&self, start: &RecordingStart) -> Header {
        let started = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let servers = self.services.control.servers().into_iter().map(|server| HeaderServer {
            id: server.key.to_string(),
            kind: server.kind.as_str().to_owned(),
            program: match server.target {
                Target::Program { command, .. } => {
                    PathBuf::from(command).file_name().map(|name| name.to_string_lossy().into_owned())
                }
                _ => None,
            },
            era: None,
        });
        Header {
            filter: start.filter.clone(),
            config_revision: self.editor.revision().ok(),
            servers: servers.collect(),
            redaction: vec!["values of secrets".to_owned(), "members named like secrets".to_owned()],
            ..Header::new(&start.name, env!("CARGO_PKG_VERSION"), &started)
        }
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
            alone: None,
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
            unread: self.services.fleet.config().unread.clone(),
            refused: self.services.fleet.outdated().map(|outdated| outdated.problem.clone()),
            not_upgraded: self.daemon.get().and_then(Weak::upgrade).and_then(|daemon| daemon.not_upgraded()),
            listeners: snapshot.listeners,
            needs: used.names.into_iter().collect(),
            needs_everything: used.everything,
            audit_fault: self.options.environment.state_home().and_then(|state| Audit::fault(&state)),
        }
    }

    fn remember(&self, servers: &mut [Server]) {
        self.memory.add_to(servers, &self.services.fleet.config());
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
        // Its servers are kept for a while when it is done with them: the next command finds them running.
        let resolution = self.services.resolve(&client);
        Ok(self.services.open(Opening { resolution, ..opening }))
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
        undo: Undo,
    ) -> BoxFuture<Result<ConfigChanged, CommandError>> {
        let (editor, reloader) = (self.editor.clone(), self.services.reloader());
        Box::pin(async move { editor.edit(edit, expected, undo, &*reloader).await })
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
        self.audit.get_or_init(|| self.open_audit()).iter().for_each(|audit| audit.append(&line));
    }

    fn audited(&self, lines: usize) -> Result<Vec<AuditLine>, CommandError> {
        self.flush();
        let state = self.options.environment.state_home();
        state
            .map_or(Ok(Vec::new()), |state| Audit::last(&state, lines))
            .map_err(|why| CommandError::new(ErrorCode::Failed, format!("the audit cannot be read: {why}")))
    }

    fn recordings(&self) -> Result<Vec<Recording>, CommandError> {
        self.services.recorder.list()
    }

    fn start_recording(&self, start: &RecordingStart) -> Result<Recording, CommandError> {
        self.services.recorder.start(start, self.header(start), self.hold())
    }

    fn stop_recording(&self, name: &str) -> Result<Recording, CommandError> {
        self.services.recorder.stop(name)
    }

    fn export_recording(&self, name: &str, format: &str) -> BoxFuture<Result<String, CommandError>> {
        let format = match format {
            "har" => Format::Har,
            "text" => Format::Text,
            _ => Format::Json,
        };
        let file = self.services.recorder.file(name);
        Box::pin(async move {
            let file = file?;
            let failed = |error: String| CommandError::new(ErrorCode::Failed, error);
            let reading = tokio::task::spawn_blocking(move || {
                Recorded::read(&file).map(|recorded| export(&recorded, format))
            });
            let read = reading.await.map_err(|error| failed(error.to_string()))?;
            read.map_err(|error| failed(format!("the recording cannot be read: {error}")))
        })
    }

    fn run_verb(&self, words: Vec<String>) -> BoxFuture<Result<Vec<u8>, CommandError>> {
        Box::pin(verbs::run(words, self.options.clone()))
    }

    fn hold(&self) -> Box<dyn Send + Sync> {
        match self.its_daemon().and_then(|daemon| daemon.enter()) {
            Some(presence) => Box::new(presence),
            None => Box::new(()),
        }
    }
}
