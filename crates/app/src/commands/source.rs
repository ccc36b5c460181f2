//! Where a verb has its answers from: a gateway, or the files where nothing runs and they suffice.

use std::time::Duration;

use manifold_admin::{About, GatewayKind, Snapshot};
use manifold_admin_client::Client;
use manifold_config::{LoadOptions, load};
use manifold_engine::configured;

use crate::cli::Flags;
use crate::login::signed_in;
use crate::operator::{self, Operator, Unreached};
use crate::output::{Exit, Failure};
use crate::remembered::remembered;
use crate::wiring::cache;

/// Nothing that is done to a server takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Who was asked where nothing runs.
pub(super) const FILES: &str = "the files, as nothing runs";

/// What a verb cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A gateway that runs: there is nothing to ask where none does.
    Running,
    /// Servers, started for this command where no gateway runs.
    Servers,
    /// A gateway of our own where none runs, whose servers nobody asks: it has what the files say.
    Written,
    /// A gateway, or else the files.
    Files,
}

pub(super) enum Source {
    Gateway(Box<Operator>),
    Files(Box<Snapshot>),
}

impl Source {
    pub(super) fn find(options: &LoadOptions, flags: &Flags, need: Need) -> Result<Self, Failure> {
        let wanted = match need {
            Need::Servers | Need::Written => operator::Need::Servers,
            Need::Running | Need::Files => operator::Need::Running,
        };
        match Operator::reach(options, flags, options.program_profile, wanted) {
            Ok(operator) => Ok(Self::Gateway(Box::new(operator))),
            Err(Unreached::NothingRuns) if need == Need::Files => files(options),
            Err(why) => Err(failure(&why)),
        }
    }

    /// Opens a connection for one request.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        match self {
            Self::Gateway(operator) => operator
                .client(PATIENCE)
                .map_err(|error| Failure::new(Exit::Failed, "unreachable", error.to_string())),
            Self::Files(_) => Err(Failure::not_running()),
        }
    }

    /// Returns whether another gateway is asked than before, or another run of it.
    pub(super) fn is_another_than(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Gateway(now), Self::Gateway(then)) => now.is_another_than(then),
            _ => false,
        }
    }

    /// Returns everything there is to see.
    pub(super) fn snapshot(&self) -> Result<Snapshot, Failure> {
        match self {
            Self::Gateway(_) => Ok(self.client()?.get("/v1/snapshot")?),
            Self::Files(snapshot) => Ok(Snapshot::clone(snapshot)),
        }
    }

    /// Returns how the gateway introduced itself, if there is one.
    pub(super) fn about(&self) -> Option<&About> {
        match self {
            Self::Gateway(operator) => Some(operator.about()),
            Self::Files(_) => None,
        }
    }

    /// Returns whether the gateway is one that ends with this command.
    pub(super) fn is_own(&self) -> bool {
        self.about().is_some_and(|about| about.kind == GatewayKind::Own)
    }

    /// Says in a few words who was asked.
    pub(super) fn which(&self) -> String {
        match self {
            Self::Gateway(operator) => operator.which(),
            Self::Files(_) => FILES.to_owned(),
        }
    }

    /// Returns the word for who was asked, as JSON has it.
    pub(super) fn kind(&self) -> &'static str {
        self.about().map_or("files", |about| about.kind.as_str())
    }
}

/// Returns what the config says, and what earlier runs have learnt.
fn files(options: &LoadOptions) -> Result<Source, Failure> {
    let config = load(options).map_err(|error| Failure::config(error.to_string()))?;
    let mut snapshot = configured(&config);
    remembered(&mut snapshot, &config, &cache(options));
    signed_in(&mut snapshot, &config, options);
    Ok(Source::Files(Box::new(snapshot)))
}

/// Returns how a command ends that nobody answers.
pub(super) fn failure(why: &Unreached) -> Failure {
    match why {
        Unreached::NothingRuns => Failure::not_running(),
        Unreached::Several(_) => Failure::usage(why.to_string()),
        Unreached::Config(error) => Failure::config(error.to_string()),
        Unreached::Silent { pid, .. } => {
            let hint = format!(
                "if it stays so, `kill -9 {pid}` ends it and its servers; the next client starts another"
            );
            Failure::new(Exit::Failed, "unreachable", why.to_string()).hint(hint)
        }
        Unreached::Failed(_) => Failure::new(Exit::Failed, "unreachable", why.to_string()),
    }
}
