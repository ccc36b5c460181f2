//! The servers of a config as one client's variables and folder resolve them.

use std::sync::Arc;

use manifold_config::{ClientEnvironment, Config, Server, ServerKey, StartedWith, started_with};

/// A config as it was read for one client: which instances of its servers the client uses follows from it.
#[derive(Debug)]
pub struct Resolution {
    /// Namespaces and settings in force are those of the fleet; what is told of this client's servers is told from here.
    pub(crate) config: Arc<Config>,
    pub(crate) servers: Vec<ResolvedServer>,
}

#[derive(Debug, Clone)]
pub(crate) struct ResolvedServer {
    pub(crate) server: Arc<Server>,
    pub(crate) started_with: Arc<StartedWith>,
}

impl Resolution {
    /// Makes the resolution of a config that was loaded for this client.
    pub fn new(config: Config, client: &ClientEnvironment) -> Arc<Self> {
        let servers = config
            .servers
            .iter()
            .map(|server| ResolvedServer {
                server: Arc::new(server.clone()),
                started_with: Arc::new(started_with(server, client)),
            })
            .collect();
        Arc::new(Self { config: Arc::new(config), servers })
    }

    /// Returns the config it was made from, with what is wrong with the client's servers.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(crate) fn find(&self, key: &ServerKey) -> Option<&ResolvedServer> {
        self.servers.iter().find(|one| one.server.key == *key)
    }
}
