//! Which gateway a command talks to: the daemon of its config where one runs, else what the files say.

use std::time::Duration;

use manifold_admin::{About, Snapshot};
use manifold_admin_client::Client;
use manifold_config::{LoadOptions, Profile, load};
use manifold_engine::configured;
use manifold_rendezvous::Place;

use crate::cli::Flags;
use crate::daemon::{base_folders, identity};
use crate::output::{Exit, Failure};
use crate::remembered::remembered;
use crate::wiring::cache;

/// A server may take this long to start or to stop before a command gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a command cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// A gateway that runs: there is nothing to ask where none does.
    Running,
    /// Servers, started for this command where no gateway runs.
    Servers,
    /// A gateway, or else the files.
    Files,
}

/// Who answers a command.
#[derive(Debug)]
pub(crate) enum Operator {
    Gateway(Box<Reached>),
    /// Nothing runs, and what the files say is enough.
    Files(Box<Snapshot>),
}

/// A gateway that has introduced itself.
#[derive(Debug)]
pub(crate) struct Reached {
    place: Place,
    about: About,
    which: String,
}

impl Operator {
    /// Finds the gateway to ask.
    pub(crate) fn reach(options: &LoadOptions, flags: &Flags, need: Need) -> Result<Self, Failure> {
        let profile = flags.known_profile(options.program_profile);
        if let Some(reached) = (profile == Profile::Manifold).then(|| daemon(options)).transpose()?.flatten()
        {
            return Ok(Self::Gateway(Box::new(reached)));
        }
        match need {
            Need::Running | Need::Servers => Err(Failure::not_running()),
            Need::Files => files(options).map(|snapshot| Self::Files(Box::new(snapshot))),
        }
    }

    /// Opens a connection for one request.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        match self {
            Self::Gateway(reached) => connect(&reached.place)?.ok_or_else(Failure::not_running),
            Self::Files(_) => Err(Failure::not_running()),
        }
    }

    /// Returns how the gateway introduced itself.
    pub(crate) fn about(&self) -> Option<&About> {
        match self {
            Self::Gateway(reached) => Some(&reached.about),
            Self::Files(_) => None,
        }
    }

    /// Says who was asked.
    pub(crate) fn which(&self) -> &str {
        match self {
            Self::Gateway(reached) => &reached.which,
            Self::Files(_) => "the files, as nothing runs",
        }
    }

    /// Returns everything there is to see.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Failure> {
        match self {
            Self::Gateway(_) => Ok(self.client()?.get("/v1/snapshot")?),
            Self::Files(snapshot) => Ok(Snapshot::clone(snapshot)),
        }
    }

    /// Returns the word for who was asked, as JSON has it.
    pub(crate) fn kind(&self) -> &'static str {
        self.about().map_or("files", |about| about.kind.as_str())
    }
}

/// Returns the daemon of these options, if one runs.
fn daemon(options: &LoadOptions) -> Result<Option<Reached>, Failure> {
    // Where no folder can be made for a daemon, there is none.
    let Ok(place) = Place::open(&base_folders(&options.environment), &identity(options, Profile::Manifold))
    else {
        return Ok(None);
    };
    let Some(client) = connect(&place)? else { return Ok(None) };
    let about: About = client.get("/v1/about")?;
    let which = format!("the daemon (pid {})", about.pid);
    Ok(Some(Reached { place, about, which }))
}

fn connect(place: &Place) -> Result<Option<Client>, Failure> {
    let reached = place
        .reach(&place.control_socket())
        .and_then(|socket| socket.map(|socket| Client::new(socket, PATIENCE)).transpose());
    let failed = |error: std::io::Error| Failure::new(Exit::Failed, "unreachable", error.to_string());
    Ok(reached.map_err(failed)?.map(|client| client.face("cli")))
}

/// Returns what the config says, and what earlier runs have learnt.
fn files(options: &LoadOptions) -> Result<Snapshot, Failure> {
    let config = load(options).map_err(|error| Failure::config(error.to_string()))?;
    let mut snapshot = configured(&config);
    remembered(&mut snapshot, &config, &cache(options));
    Ok(snapshot)
}
