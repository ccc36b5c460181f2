//! The words that can be typed, as far as files tell: servers and namespaces of the config, and what servers offered when
//! they last ran.

use std::path::PathBuf;

use manifold_config::{Config, Environment, LoadOptions, Server, load};
use manifold_engine::names::Naming;
use manifold_protocol::{Kind, Raw};
use manifold_upstreams::Cache;

use super::super::call::argument_words;
use crate::wiring::cache;

/// Kinds of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    Servers,
    Namespaces,
    Tools,
    Prompts,
    Resources,
    /// The arguments of a tool.
    Arguments {
        of: String,
    },
}

/// A config and what is remembered of its servers.
pub(super) struct Remembered {
    config: Option<Config>,
    cache: Cache,
}

impl Remembered {
    /// Reads what there is of the config that a command line names.
    pub(super) fn read(words: &[String]) -> Self {
        let environment = Environment::from_process();
        let variable = |name: &str| environment.vars.get(name).filter(|path| !path.is_empty());
        let named = variable("MANIFOLD_CONFIG").or_else(|| variable("MCP_CONFIG"));
        let options = LoadOptions {
            path: config_of(words).or_else(|| named.map(PathBuf::from)),
            profile: None,
            program_profile: None,
            own_port: None,
            environment,
            client: None,
        };
        Self { config: load(&options).ok(), cache: cache(&options) }
    }

    /// Returns the words of a kind.
    pub(super) fn words(&self, known: &Known) -> Vec<String> {
        let Some(config) = &self.config else { return Vec::new() };
        match known {
            Known::Servers => config.servers.iter().map(|server| server.key.id.clone()).collect(),
            Known::Namespaces => config.namespaces.iter().map(|namespace| namespace.id.clone()).collect(),
            Known::Tools => self.offered(config, Kind::Tools).into_iter().map(|(name, ..)| name).collect(),
            Known::Prompts => {
                self.offered(config, Kind::Prompts).into_iter().map(|(name, ..)| name).collect()
            }
            Known::Resources => {
                self.offered(config, Kind::Resources).into_iter().map(|(_, label, _)| label).collect()
            }
            Known::Arguments { of } => self.arguments(config, of),
        }
    }

    /// Returns what servers offered: as clients see it, as the server calls it, and its definition.
    fn offered(&self, config: &Config, kind: Kind) -> Vec<(String, String, Raw)> {
        let settings = &config.settings;
        let naming = Naming { separator: settings.separator.clone(), max_length: settings.max_name_length };
        let mut offered = Vec::new();
        for server in config.servers.iter().filter(|server| server.enabled) {
            let listing = self.cache.latest(server);
            for item in listing.iter().flat_map(|listing| listing.items(kind)) {
                let name = naming.expose(&server.exposed_id, &server.key.id, &item.label);
                offered.push((name, item.label.clone(), item.raw.clone()));
            }
        }
        offered
    }

    fn arguments(&self, config: &Config, tool: &str) -> Vec<String> {
        let own = |server: &Server, label: &str| {
            ["__", ".", "/"].iter().any(|cut| tool == format!("{}{cut}{label}", server.key.id))
        };
        let offered = self.offered(config, Kind::Tools);
        let is_meant = |(name, label, _): &&(String, String, Raw)| {
            name == tool || label == tool || config.servers.iter().any(|server| own(server, label))
        };
        let schema = offered.iter().find(is_meant).and_then(|(.., tool)| tool.get("inputSchema"));
        schema.map(argument_words).unwrap_or_default()
    }
}

/// Returns the file a command line names.
fn config_of(words: &[String]) -> Option<PathBuf> {
    let flags = ["--config", "--mcp-config", "-c"];
    for (at, word) in words.iter().enumerate() {
        if flags.contains(&word.as_str()) {
            return words.get(at + 1).map(PathBuf::from);
        }
        if let Some((_, file)) = word.split_once('=').filter(|(flag, _)| flags.contains(flag)) {
            return Some(PathBuf::from(file));
        }
    }
    None
}
