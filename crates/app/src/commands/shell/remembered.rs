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
    /// Tools as rules name them: `server.tool`.
    Rules,
    /// The arguments of a tool.
    Arguments {
        of: String,
    },
    /// Those of a prompt.
    PromptArguments {
        of: String,
    },
}

/// A config and what is remembered of its servers.
pub(super) struct Remembered {
    config: Option<Config>,
    cache: Cache,
    /// The word that is being typed.
    typed: String,
}

/// Something a server offered.
struct Offered<'c> {
    server: &'c Server,
    /// As clients see it.
    name: String,
    /// As the server calls it.
    label: String,
    definition: Raw,
}

/// What may stand between a server's id and its own name of a tool.
const SEPARATORS: [&str; 3] = ["__", ".", "/"];

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
        let typed = words.last().cloned().unwrap_or_default();
        Self { config: load(&options).ok(), cache: cache(&options), typed }
    }

    /// Returns the words of a kind.
    pub(super) fn words(&self, known: &Known) -> Vec<String> {
        let Some(config) = &self.config else { return Vec::new() };
        match known {
            Known::Servers => config.servers.iter().map(|server| server.key.id.clone()).collect(),
            Known::Namespaces => config.namespaces.iter().map(|namespace| namespace.id.clone()).collect(),
            Known::Tools => self.names(config, Kind::Tools),
            Known::Prompts => self.names(config, Kind::Prompts),
            Known::Resources => {
                self.offered(config, Kind::Resources).into_iter().map(|offered| offered.label).collect()
            }
            Known::Rules => {
                let rule = |offered: Offered<'_>| format!("{}.{}", offered.server.key.id, offered.label);
                self.offered(config, Kind::Tools).into_iter().map(rule).collect()
            }
            Known::Arguments { of } => self.arguments(config, of),
            Known::PromptArguments { of } => self.prompt_arguments(config, of),
        }
    }

    /// Returns the names of what servers offered, spelled as far as they were typed already.
    fn names(&self, config: &Config, kind: Kind) -> Vec<String> {
        let spelled = |offered: Offered<'_>| {
            let id = &offered.server.key.id;
            let cut = SEPARATORS
                .iter()
                .find(|cut| self.typed.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with(**cut)));
            match cut.filter(|_| !offered.name.starts_with(&self.typed)) {
                Some(cut) => format!("{id}{cut}{}", offered.label),
                None => offered.name,
            }
        };
        self.offered(config, kind).into_iter().map(spelled).collect()
    }

    fn offered<'c>(&self, config: &'c Config, kind: Kind) -> Vec<Offered<'c>> {
        let settings = &config.settings;
        let naming = Naming {
            separator: settings.separator.clone(),
            max_length: settings.max_name_length,
            keeps_names: false,
        };
        let mut offered = Vec::new();
        for server in config.servers.iter().filter(|server| server.enabled) {
            let listing = self.cache.latest(server);
            for item in listing.iter().flat_map(|listing| listing.items(kind)) {
                let name = naming.expose(&server.exposed_id, &server.key.id, &item.label);
                let (label, definition) = (item.label.clone(), item.raw.clone());
                offered.push(Offered { server, name, label, definition });
            }
        }
        offered
    }

    fn arguments(&self, config: &Config, tool: &str) -> Vec<String> {
        let schema = self.meant(config, Kind::Tools, tool).and_then(|tool| tool.get("inputSchema"));
        schema.map(argument_words).unwrap_or_default()
    }

    fn prompt_arguments(&self, config: &Config, prompt: &str) -> Vec<String> {
        let arguments = self.meant(config, Kind::Prompts, prompt).and_then(|prompt| prompt.get("arguments"));
        let arguments = arguments.and_then(|arguments| arguments.elements()).unwrap_or_default();
        let name = |argument: &Raw| Some(format!("{}=", argument.get("name")?.to_text()?));
        arguments.iter().filter_map(name).collect()
    }

    /// Returns the definition of what is named, in any way it may be.
    fn meant(&self, config: &Config, kind: Kind, name: &str) -> Option<Raw> {
        let offered = self.offered(config, kind);
        let by_server = |offered: &&Offered<'_>| {
            let (id, label) = (&offered.server.key.id, &offered.label);
            SEPARATORS.iter().any(|cut| name == format!("{id}{cut}{label}"))
        };
        let meant = offered.iter().find(|offered| offered.name == name);
        let meant = meant.or_else(|| offered.iter().find(by_server));
        let meant = meant.or_else(|| offered.iter().find(|offered| offered.label == name));
        meant.map(|meant| meant.definition.clone())
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
