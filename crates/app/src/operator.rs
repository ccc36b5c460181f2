//! Who answers a command: the user's daemon, or nobody.

use std::io;
use std::time::Duration;

use manifold_admin::About;
use manifold_admin_client::Client;
use manifold_config::{LoadError, LoadOptions, Profile};
use manifold_rendezvous::Place;

use crate::cli::Flags;
use crate::daemon::{base_folders, identity};

/// How long a gateway may take to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// What a command needs somebody to answer it for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// How things are that run.
    Running,
    /// What servers offer and do.
    Servers,
}

/// Whoever answers.
pub(crate) struct Operator {
    place: Place,
    about: About,
}

/// Why nobody answers.
#[derive(Debug, thiserror::Error)]
#[allow(dead_code, reason = "there is more than the daemon to come")]
pub(crate) enum Unreached {
    #[error("nothing runs for this config; `manifold daemon start` starts the daemon")]
    NothingRuns,
    #[error("several gateways run for this config: {0:?}; stop all but one")]
    Several(Vec<u32>),
    #[error(transparent)]
    Config(#[from] LoadError),
    #[error("the gateway (pid {pid}) does not answer: {why}")]
    Silent { pid: String, why: String },
    #[error("{0}")]
    Failed(String),
}

impl Operator {
    /// Finds who answers.
    pub(crate) fn reach(
        options: &LoadOptions,
        flags: &Flags,
        program_profile: Option<Profile>,
        _need: Need,
    ) -> Result<Self, Unreached> {
        let profile = flags.known_profile(program_profile);
        let place = Place::open(&base_folders(&options.environment), &identity(options, profile));
        let place = place.map_err(|_| Unreached::NothingRuns)?;
        let mut operator = Self { place, about: About::default() };
        let client = match operator.client(INTRODUCTION) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(Unreached::NothingRuns);
            }
            client => client.map_err(|error| Unreached::Failed(error.to_string()))?,
        };
        operator.about = client.get("/v1/about").map_err(|error| Unreached::Failed(error.to_string()))?;
        Ok(operator)
    }

    /// Opens a connection for one request.
    pub(crate) fn client(&self, patience: Duration) -> io::Result<Client> {
        let socket = self.place.reach(&self.place.control_socket())?;
        let socket = socket.ok_or(io::ErrorKind::ConnectionRefused)?;
        Ok(Client::new(socket, patience)?.face("cli"))
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Says in a few words who it is.
    pub(crate) fn which(&self) -> String {
        format!("the daemon (pid {})", self.about.pid)
    }
}
