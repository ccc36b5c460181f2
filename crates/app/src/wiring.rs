//! Putting the parts together; nobody else knows all of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use jiff::Timestamp;
use manifold_config::{
    ClientEnvironment, Config, ErrorCodes, How, LoadError, LoadOptions, Nesting, Selection, ServerKey,
    VariablesUsed, config_path, load, load_text, select_namespace, stand_in, variables_used_in, written,
};
use manifold_engine::{
    Audience, BoxFuture, Control, Fleet, Gateway, Lock as _, Opening, Program, ReloadReport, Reloader,
    Reopen, Resolution, Tasks, busy_poll, reload_report,
};
use manifold_oauth::Http;
use manifold_protocol::{CodeSet, Fault};
use manifold_upstreams::process::{ProcessHost, Processes};
use manifold_upstreams::{Cache, Handover, OAuthHttp, SignIns, Upstreams};
use tracing::{info, warn};

use crate::cli::Flags;
use crate::login::{Landings, RunningLogins, watch_store};
use crate::logins;
use crate::machine::slim_down;
use crate::recorder::{Recorder, recordings_folder};
use crate::telemetry::{Stdout, Telemetry};
use crate::watch::watch_config;

/// How a date and time of day are told.
const MOMENT: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Everything that runs, whatever the front end.
#[derive(Clone)]
pub(crate) struct Services {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) control: Control,
    pub(crate) tasks: Tasks,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Who is signed in where; none where nothing can be stored.
    pub(crate) sign_ins: Option<Arc<SignIns>>,
    /// Logins whose browsers come back to our own door.
    pub(crate) landings: Arc<Landings>,
    processes: ProcessHost,
    reloader: Arc<FileReloader>,
}

/// What is served, which decides what a new config may take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serving {
    /// One namespace, to a client that has no other.
    One,
    /// Every namespace at its own address.
    All,
    /// The same, to windows too: servers outlive the program.
    Windows,
}

impl Services {
    /// Makes the servers of a config ready to be started.
    pub(crate) fn new(config: Config, options: LoadOptions, flags: &Flags, serving: Serving) -> Self {
        Self::going_on(config, options, flags, serving, None)
    }

    /// Does the same with the servers of the program whose place we took, where there was one.
    pub(crate) fn going_on(
        config: Config,
        options: LoadOptions,
        flags: &Flags,
        serving: Serving,
        left: Option<(Handover, Arc<dyn Reopen>)>,
    ) -> Self {
        let tasks = Tasks::new();
        let nesting = Nesting::of(config.source.path.as_deref(), &options.environment);
        let limit_bytes = config.settings.limits.message_bytes;
        let upstreams = match left {
            None => Upstreams::new(tasks.clone(), cache(&options), limit_bytes),
            Some((handover, askers)) => {
                Upstreams::resume(tasks.clone(), cache(&options), limit_bytes, handover, askers)
            }
        };
        let sign_ins = sign_ins(&options, &tasks);
        let landings = Arc::<Landings>::default();
        let upstreams = upstreams.marked(&nesting.mark()).signing_in(sign_ins.clone());
        let upstreams = Arc::new(upstreams.one_of_several(serving == Serving::All));
        let processes = upstreams.processes();
        let fleet = Fleet::new(Arc::new(config), Box::new(Arc::clone(&upstreams)), tasks.clone());
        if let Some(sign_ins) = &sign_ins {
            let logins = RunningLogins::new(Arc::clone(sign_ins), Arc::clone(&landings), tasks.clone());
            fleet.sign_in_by(Arc::new(logins));
        }
        let recordings = options.environment.state_home().map(|state| recordings_folder(&state));
        let reloader = Arc::new(FileReloader {
            options,
            namespace: flags.namespace.clone(),
            eager: flags.eager,
            serving,
            fleet: OnceLock::new(),
            gateway: OnceLock::new(),
            prepare: OnceLock::new(),
            taken_over: Arc::default(),
            last_readable: Mutex::default(),
        });
        let _ = reloader.fleet.set(Arc::downgrade(&fleet));
        let program = Program {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: None,
            pid: Some(std::process::id()),
        };
        let control = Control::new(&fleet, Arc::clone(&reloader) as Arc<dyn Reloader>, program);
        let recorder = Arc::new(Recorder::new(recordings, &fleet, control.clone()));
        control.see_processes_by(Arc::new(Processes));
        let telemetry = Telemetry::new(&fleet, &control);
        slim_down(&tasks);
        tasks.spawn_background(busy_poll::keep());
        Self {
            fleet,
            control,
            tasks,
            upstreams,
            recorder,
            telemetry,
            sign_ins,
            landings,
            processes,
            reloader,
        }
    }

    /// Begins to tell of calls whoever the config and our variables name.
    pub(crate) fn tell_of_calls(&self, stdout: Stdout) {
        self.telemetry.start(&self.tasks, &self.reloader.options.environment.vars, stdout);
    }

    /// Takes over changes of the config file from now on; `taken_over` hears of each.
    pub(crate) fn watch_config(&self, taken_over: impl Fn() + Send + Sync + 'static) {
        let _ = self.reloader.taken_over.set(Box::new(taken_over));
        self.watch_sign_ins();
        let config = self.fleet.config();
        let (watches, was_read) = (config.settings.watch_config, config.source.path.is_some());
        if let Some(path) = config_path(&self.reloader.options).filter(|_| watches) {
            let fleet = Arc::downgrade(&self.fleet);
            let gone = move |path: &Path| {
                if let Some(fleet) = fleet.upgrade() {
                    fleet.keep_config(format!("`{}` is gone", path.display()), now());
                }
            };
            let reloader = Arc::clone(&self.reloader) as Arc<dyn Reloader>;
            watch_config(path, was_read, reloader, &self.tasks, gone);
        }
    }

    /// Takes up from now on who signs in or out elsewhere.
    fn watch_sign_ins(&self) {
        let folder = logins::folder(&self.reloader.options.environment);
        if let (Some(sign_ins), Some(folder)) = (&self.sign_ins, folder) {
            watch_store(folder, Arc::clone(sign_ins), &self.tasks);
        }
    }

    /// Has `resolve` see to it, before a new config is in force, that clients with variables of their own have their servers
    /// by it.
    pub(crate) fn prepare_clients(&self, resolve: impl Fn() + Send + Sync + 'static) {
        let _ = self.reloader.prepare.set(Box::new(resolve));
    }

    /// Returns the servers as our own variables resolve them, where others have others.
    pub(crate) fn resolved(&self) -> Option<Arc<Resolution>> {
        self.reloader.prepare.get()?;
        self.resolve(&ClientEnvironment::of(&self.reloader.options.environment))
    }

    /// Returns the servers as a client's variables and folder resolve them; none where the config could never be read.
    pub(crate) fn resolve(&self, client: &ClientEnvironment) -> Option<Arc<Resolution>> {
        let options = LoadOptions { client: Some(client.clone()), ..self.reloader.options.clone() };
        let (text, path) = &*self.readable()?;
        load_text(text, path.as_deref(), &options).ok().map(|config| Resolution::new(config, client))
    }

    /// Returns which of a client's variables the config uses.
    pub(crate) fn variables_used(&self) -> VariablesUsed {
        let used = self.readable().and_then(|it| variables_used_in(&it.0, it.1.as_deref()).ok());
        used.unwrap_or_default()
    }

    /// Returns the config as it is written, or was when it could last be read: a file that breaks changes nothing.
    fn readable(&self) -> Option<Arc<Written>> {
        let options = &self.reloader.options;
        let mut last = self.reloader.last_readable.locked();
        if let Ok(found) = written(options)
            && last.as_deref() != Some(&found)
            && load_text(&found.0, found.1.as_deref(), options).is_ok()
        {
            *last = Some(Arc::new(found));
        }
        last.clone()
    }

    /// Returns what the config is read with.
    pub(crate) fn options(&self) -> &LoadOptions {
        &self.reloader.options
    }

    /// Returns the way to authorization servers.
    pub(crate) fn oauth_http(&self) -> Arc<dyn Http> {
        Arc::new(OAuthHttp::new(self.tasks.clone()))
    }

    /// Returns who takes over the config file when it has changed.
    pub(crate) fn reloader(&self) -> Arc<dyn Reloader> {
        Arc::clone(&self.reloader) as Arc<dyn Reloader>
    }

    /// Opens a namespace for one front end.
    pub(crate) fn open(&self, opening: Opening) -> Arc<Gateway> {
        let tasks = self.tasks.clone();
        let reloader = Arc::clone(&self.reloader);
        let manager = |control| manifold_upstreams::manager(control, tasks);
        let gateway = Gateway::open(Arc::clone(&self.fleet), opening, reloader, manager);
        if self.reloader.serving == Serving::One {
            let _ = self.reloader.gateway.set(Arc::downgrade(&gateway));
        }
        gateway
    }

    /// Returns the numbers a client of this profile expects.
    pub(crate) fn codes(&self) -> CodeSet {
        match self.fleet.config().settings.error_codes {
            ErrorCodes::Own => CodeSet::Own,
            ErrorCodes::Standard => CodeSet::Standard,
        }
    }

    /// Ends every server, and whatever it left running.
    pub(crate) async fn close(&self) {
        self.fleet.close().await;
        self.processes.finish().await;
        self.telemetry.close().await;
        let recorder = Arc::clone(&self.recorder);
        // It waits for disks.
        let _ = tokio::task::spawn_blocking(move || recorder.close()).await;
    }
}

/// Returns the date and the time of day, as they are told.
fn now() -> String {
    Timestamp::now().strftime(MOMENT).to_string()
}

/// Returns who is signed in where, as this user's store has it; none where nobody is at home. Nothing is opened yet.
pub(crate) fn sign_ins(options: &LoadOptions, tasks: &Tasks) -> Option<Arc<SignIns>> {
    let stored = logins::store(&options.environment)?;
    let environment = options.environment.clone();
    let kind = move || logins::store(&environment).map(|stored| stored.kind).unwrap_or_default();
    Some(SignIns::new(stored.store, kind, tasks.clone()))
}

/// Returns what is remembered from earlier runs.
pub(crate) fn cache(options: &LoadOptions) -> Cache {
    Cache::new(options.environment.cache_home().map(|home| home.join("manifold")))
}

/// Turns a selection into what is opened, or into the fault a client hears (decision 5).
pub(crate) fn opening(selection: Selection, audience: Audience, eager: bool) -> Result<Opening, Fault> {
    match selection {
        Selection::Namespace { id, how } => {
            let selection = match how {
                How::Flag => "flag",
                How::Default => "default",
                How::Only => "only",
            };
            Ok(Opening {
                namespace: Some(id),
                selection,
                audience,
                eager,
                resolution: None,
                session: None,
                is_operators: false,
                alone: None,
            })
        }
        Selection::All => Ok(Opening {
            namespace: None,
            selection: "all",
            audience,
            eager,
            resolution: None,
            session: None,
            is_operators: false,
            alone: None,
        }),
        Selection::Unknown { requested, exists, .. } => Err(Fault::UnknownNamespace { requested, exists }),
        Selection::Ambiguous { exists } => Err(Fault::NamespaceNotChosen { exists }),
    }
}

/// Logs what is wrong with a config that is about to be used.
pub(crate) fn log_problems(config: &Config) {
    for problem in &config.problems {
        warn!("{problem}");
    }
}

/// Reads the config file again (S1-52).
struct FileReloader {
    options: LoadOptions,
    namespace: Option<String>,
    eager: bool,
    serving: Serving,
    fleet: OnceLock<Weak<Fleet>>,
    /// The one namespace that is served.
    gateway: OnceLock<Weak<Gateway>>,
    /// Told before a new config is in force.
    prepare: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Told when a new config is in force.
    taken_over: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
    /// The config when it could last be read, for clients that come while it cannot.
    last_readable: Mutex<Option<Arc<Written>>>,
}

/// The text of a config, and the file it is from.
type Written = (String, Option<PathBuf>);

impl FileReloader {
    fn read(&self, fleet: &Fleet) -> Result<Config, Refused> {
        let config = load(&self.options).map_err(Refused::Unread)?;
        if fleet.config().unread.is_some() {
            return self.take_up(config);
        }
        let before = select_namespace(&fleet.config(), self.namespace.as_deref());
        let after = select_namespace(&config, self.namespace.as_deref());
        let id = |selection: &Selection| match selection {
            Selection::Namespace { id, .. } => Some(id.clone()),
            _ => None,
        };
        // Taking the served namespace away under its client is no reload but an end.
        match (id(&before), id(&after)) {
            (Some(before), after) if self.serving == Serving::One && after.as_ref() != Some(&before) => {
                let why = format!("the namespace '{before}' being served is not selected by the new file");
                Err(Refused::Unserved(why))
            }
            _ => Ok(config),
        }
    }

    /// Decides what is served now that the file, which could not be read so far, can be (D9).
    fn take_up(&self, config: Config) -> Result<Config, Refused> {
        let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) else { return Ok(config) };
        let selected = select_namespace(&config, self.namespace.as_deref());
        let opening = opening(selected, Audience::One, self.eager)
            .map_err(|fault| Refused::Unserved(fault.message()))?;
        gateway.reopen(opening);
        Ok(config)
    }
}

/// Why a file is not taken over.
enum Refused {
    Unread(LoadError),
    /// It is good, and does not hold what is being served.
    Unserved(String),
}

impl Reloader for FileReloader {
    fn reload(&self) -> BoxFuture<Result<ReloadReport, String>> {
        let Some(fleet) = self.fleet.get().and_then(Weak::upgrade) else {
            return Box::pin(std::future::ready(Err("the gateway is shutting down".to_owned())));
        };
        let config = match self.read(&fleet) {
            Ok(config) => config,
            Err(refused) => {
                let why = match &refused {
                    Refused::Unread(error) => error.to_string(),
                    Refused::Unserved(why) => why.clone(),
                };
                warn!("the config was not reloaded: {why}");
                let still_none = fleet.config().unread.is_some();
                let stand_in = match refused {
                    Refused::Unread(error) if still_none => stand_in(error, &self.options).ok(),
                    _ => None,
                };
                return Box::pin(async move {
                    // What clients are told is what is wrong now.
                    match stand_in {
                        Some(config) => drop(fleet.apply(Arc::new(config)).await),
                        None => fleet.keep_config(why.clone(), now()),
                    }
                    Err(why)
                });
            }
        };
        // As at the start (D6).
        log_problems(&config);
        if let Some(prepare) = self.prepare.get() {
            prepare();
        }
        let taken_over = Arc::clone(&self.taken_over);
        Box::pin(async move {
            let config = Arc::new(config);
            let difference = fleet.apply(Arc::clone(&config)).await;
            if let Some(taken_over) = taken_over.get() {
                taken_over();
            }
            let ids = |keys: &[ServerKey]| keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
            let (added, removed) = (ids(&difference.added), ids(&difference.removed));
            info!(?added, ?removed, restarted = ?ids(&difference.changed), "config reloaded");
            Ok(reload_report(&difference, &config))
        })
    }
}
