//! The server itself, asked once before somebody signs in and once after: how it wants it, and what there is then.

use std::time::Duration;

use manifold_admin::{Command, CommandError, ErrorCode, Outcome, ServerId};
use manifold_config::{Config, LoadOptions};
use tokio::time::timeout;

use crate::cli::Flags;
use crate::wiring::{Services, Serving};

/// A server that takes longer has said nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is said of a server that was asked for its lists.
pub(super) enum Said {
    /// It has this many tools.
    Tools(usize),
    /// It wants somebody to sign in.
    SignIn(String),
    Failed(String),
}

/// A gateway with one server, for as long as the command runs.
pub(super) struct Probe {
    services: Services,
    server: ServerId,
}

impl Probe {
    pub(super) fn new(config: Config, options: &LoadOptions, flags: &Flags) -> Self {
        let server = config
            .servers
            .first()
            .map(|server| ServerId { schema: server.key.schema.clone(), id: server.key.id.clone() });
        let services = Services::new(config, options.clone(), flags, Serving::All);
        Self { services, server: server.unwrap_or_default() }
    }

    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    /// Connects to the server and reads its lists.
    pub(super) async fn ask(&self) -> Said {
        let asked = self.services.control.execute(Command::Refresh { server: self.server.clone() });
        match timeout(PATIENCE, asked).await {
            Ok(Ok(Outcome::Server { server })) => Said::Tools(server.lists.map_or(0, |lists| lists.tools)),
            Ok(Ok(_)) => Said::Tools(0),
            Ok(Err(CommandError { code: ErrorCode::SignIn, message, .. })) => Said::SignIn(message),
            Ok(Err(error)) => Said::Failed(error.message),
            Err(_) => Said::Failed("it did not answer".to_owned()),
        }
    }

    pub(super) async fn close(self) {
        self.services.close().await;
    }
}
