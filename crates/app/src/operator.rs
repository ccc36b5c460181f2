//! Who answers a command: the user's daemon, a gateway over HTTP, one that the command runs for itself, or nobody.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "no runtime runs here")]

mod own;
mod program;
mod socket;
mod verbs;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use manifold_admin::{About, AskerEnvironment, GatewayKind};
use manifold_admin_client::{Client, ClientError};
use manifold_config::{LoadError, LoadOptions, Profile};
use manifold_rendezvous::{Lock, LockError, Place};

use crate::cli::Flags;
use crate::daemon::{base_folders, identity};
use own::Own;
pub(crate) use program::ControlledGateway;
pub(crate) use socket::ControlSocket;

/// How long a gateway may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// By how much less a gateway may say that it has run than it has.
const ROUNDED: Duration = Duration::from_millis(2);

/// What a command needs somebody to answer it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// How things are that run.
    Running,
    /// What servers offer and do: where nothing runs they are started for this command, and end with it.
    Servers,
}

/// Whoever answers.
pub(crate) struct Operator {
    about: About,
    way: Way,
    environment: AskerEnvironment,
    /// Between which moments it began, as far as what it says of itself tells.
    began: Option<(Instant, Instant)>,
}

enum Way {
    Socket(Place, PathBuf),
    Own(Own),
}

/// Why nobody answers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreached {
    #[error("nothing runs for this config; `manifold daemon start` starts the daemon")]
    NothingRuns,
    #[error("several gateways run for this config: {}; stop all but one", shown(.0))]
    Several(Vec<u32>),
    #[error(transparent)]
    Config(#[from] LoadError),
    #[error("the gateway (pid {pid}) does not answer: {why}")]
    Silent { pid: String, why: String },
    #[error("{0}")]
    Failed(String),
}

fn shown(pids: &[u32]) -> String {
    pids.iter().map(|pid| format!("manifold http (pid {pid})")).collect::<Vec<_>>().join(", ")
}

impl Operator {
    /// Finds who answers: the daemon, else the one gateway over HTTP of this config, else, where servers are needed, one of
    /// the command's own.
    pub(crate) fn reach(
        options: &LoadOptions,
        flags: &Flags,
        program_profile: Option<Profile>,
        need: Need,
    ) -> Result<Self, Unreached> {
        let profile = flags.known_profile(program_profile);
        // Whoever has no folder for sockets runs nothing that has one.
        let place = Place::find(&base_folders(&options.environment), &identity(options, profile));
        let running =
            place.map(|place| running(&place, profile).map(|found| found.map(|path| (place, path))));
        let way = match running.transpose()?.flatten() {
            Some((place, path)) => Way::Socket(place, path),
            None if need == Need::Servers => Way::Own(Own::start(options, flags)?),
            None => return Err(Unreached::NothingRuns),
        };
        Self::over(way, options)
    }

    /// Runs one of its own, whoever else runs.
    pub(crate) fn alone(options: &LoadOptions, flags: &Flags) -> Result<Self, Unreached> {
        Self::over(Way::Own(Own::start(options, flags)?), options)
    }

    fn over(way: Way, options: &LoadOptions) -> Result<Self, Unreached> {
        let mut operator =
            Self { about: About::default(), way, environment: Default::default(), began: None };
        let asked = Instant::now();
        operator.about = operator.ask_about()?;
        let uptime = Duration::from_millis(operator.about.uptime_ms);
        operator.began = asked.checked_sub(uptime).zip(Instant::now().checked_sub(uptime));
        operator.environment = environment(options, &operator.about);
        Ok(operator)
    }

    /// Returns whether this is not the same run of a program, which may have the same process.
    pub(crate) fn is_another_than(&self, before: &Self) -> bool {
        let began_later = || self.began.zip(before.began).is_some_and(|(now, then)| now.0 > then.1 + ROUNDED);
        self.about.pid != before.about.pid || began_later()
    }

    /// Opens a connection for one request.
    pub(crate) fn client(&self, patience: Duration) -> io::Result<Client> {
        let client = Client::new(self.connect()?, patience)?.face("cli");
        Ok(match self.about.kind {
            GatewayKind::Daemon => client.environment(&self.environment),
            _ => client,
        })
    }

    /// Returns the variables and the folder that servers are asked with, where that is for the asker to say.
    pub(crate) fn asks_with(&self) -> Option<AskerEnvironment> {
        (self.about.kind == GatewayKind::Daemon).then(|| self.environment.clone())
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Says in a few words who it is.
    pub(crate) fn which(&self) -> String {
        match self.about.kind {
            GatewayKind::Daemon => format!("the daemon (pid {})", self.about.pid),
            GatewayKind::Http => format!("manifold http (pid {})", self.about.pid),
            GatewayKind::Own | GatewayKind::Other => "servers started for this command".to_owned(),
        }
    }

    fn connect(&self) -> io::Result<UnixStream> {
        match &self.way {
            Way::Socket(place, path) => {
                place.reach(path)?.ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
            }
            Way::Own(own) => own.connect(),
        }
    }

    fn ask_about(&self) -> Result<About, Unreached> {
        // However busy the machine of a test is, its gateway answers.
        let within = std::env::var("MANIFOLD_CONTROL_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
        let within = within.map_or(INTRODUCTION, Duration::from_millis);
        let asked = self.connect().and_then(|socket| Client::new(socket, within));
        let client = asked.map_err(|error| Unreached::Failed(error.to_string()))?;
        client.get::<About>("/v1/about").map_err(|error| match error {
            // One of an earlier version, which has daemon verbs alone.
            ClientError::Refused { status: 404, .. } => Unreached::Failed(
                "the daemon is of an earlier version; run `manifold daemon upgrade`".to_owned(),
            ),
            ClientError::Silent => Unreached::Silent {
                pid: self.pid().unwrap_or_default(),
                why: format!("nothing came within {} s", INTRODUCTION.as_secs()),
            },
            error => Unreached::Silent { pid: self.pid().unwrap_or_default(), why: error.to_string() },
        })
    }

    /// Returns which process answers, as far as the name of its socket or its own file says.
    fn pid(&self) -> Option<String> {
        let Way::Socket(place, _) = &self.way else { return None };
        let about: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&std::fs::read(place.about_file()).ok()?).ok()?;
        about.get("pid").map(ToString::to_string)
    }
}

/// Returns whether somebody is about to start a daemon, or to start it anew.
pub(crate) fn is_daemon_being_started(options: &LoadOptions) -> bool {
    let place = Place::open(&base_folders(&options.environment), &identity(options, Profile::Manifold));
    place.is_ok_and(|place| matches!(Lock::try_take(&place.start_lock()), Err(LockError::Held)))
}

/// Returns the control socket of what runs.
fn running(place: &Place, profile: Profile) -> Result<Option<PathBuf>, Unreached> {
    let answers = |path: &PathBuf| match place.reach(path) {
        Ok(socket) => Ok(socket.is_some()),
        Err(error) => Err(Unreached::Failed(format!("{}: {error}", path.display()))),
    };
    let daemon = place.control_socket();
    if profile == Profile::Manifold && answers(&daemon)? {
        return Ok(Some(daemon));
    }
    let mut found = Vec::new();
    for (pid, path) in place.http_control_sockets() {
        if answers(&path)? {
            found.push((pid, path));
        } else {
            // Its gateway was killed.
            let _ = std::fs::remove_file(&path);
        }
    }
    if found.len() > 1 {
        return Err(Unreached::Several(found.into_iter().map(|(pid, _)| pid).collect()));
    }
    Ok(found.pop().map(|(_, path)| path))
}

/// Returns what servers are started with that are asked for by this command.
fn environment(options: &LoadOptions, about: &About) -> AskerEnvironment {
    let own = &options.environment;
    let is_needed = |name: &String| about.needs_everything || about.needs.contains(name);
    let values = own.vars.iter().filter(|(name, _)| is_needed(name));
    AskerEnvironment {
        cwd: own.cwd.to_string_lossy().into_owned(),
        values: values.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}
