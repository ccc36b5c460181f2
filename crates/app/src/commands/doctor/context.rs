//! What checks look at, each part found out once.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use manifold_admin::{About, ListedItem};
use manifold_config::{Config, Environment, LoadError, LoadOptions, Server, load, written};

use serde::Deserialize;

use crate::commands::items;
use crate::commands::source::{Need, Source};
use crate::commands::verb::Verb;
use crate::output::{Exit, Failure};

pub(super) struct Context<'a> {
    pub(super) verb: &'a Verb<'a>,
    /// The text of the config, and the file it is from.
    pub(super) written: Result<(String, Option<PathBuf>), LoadError>,
    pub(super) config: Result<Config, LoadError>,
    running: OnceCell<Result<Option<Source>, Failure>>,
    own: OnceCell<Result<Source, Failure>>,
    tools: OnceCell<Vec<Tool>>,
}

/// A tool as clients see it.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description_bytes: usize,
}

impl<'a> Context<'a> {
    pub(super) fn new(verb: &'a Verb<'a>) -> Self {
        let (written, config) = (written(verb.options), load(verb.options));
        Self { verb, written, config, running: OnceCell::new(), own: OnceCell::new(), tools: OnceCell::new() }
    }

    pub(super) fn options(&self) -> &'a LoadOptions {
        self.verb.options
    }

    pub(super) fn environment(&self) -> &'a Environment {
        &self.verb.options.environment
    }

    /// Returns the servers that are meant to be used; none where the config cannot be.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Server> {
        self.config.iter().flat_map(|config| &config.servers).filter(|server| server.enabled)
    }

    /// Returns our folder for state, if there can be one.
    pub(super) fn state(&self) -> Option<PathBuf> {
        Some(self.environment().state_home()?.join("manifold"))
    }

    /// Returns the gateway that runs for this config.
    pub(super) fn running(&self) -> Result<Option<&Source>, &Failure> {
        let running = self.running.get_or_init(|| {
            match Source::find(self.verb.options, self.verb.flags, Need::Running) {
                Ok(source) => Ok(Some(source)),
                Err(failure) if failure.exit == Exit::NotRunning => Ok(None),
                Err(failure) => Err(failure),
            }
        });
        running.as_ref().map(Option::as_ref)
    }

    pub(super) fn about(&self) -> Option<&About> {
        self.running().ok().flatten()?.about()
    }

    /// Returns who can start servers: what runs, else a gateway of our own that ends with this command.
    pub(super) fn starter(&self) -> Option<&Source> {
        if self.config.is_err() {
            return None;
        }
        if let Some(running) = self.running().ok()? {
            return Some(running);
        }
        let own = self.own.get_or_init(|| Source::find(self.verb.options, self.verb.flags, Need::Servers));
        own.as_ref().ok()
    }

    /// Returns the tools that clients see. Servers that do not come up have none.
    pub(super) fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| {
            let namespace = self.verb.flags.namespace.as_deref();
            let listed = self.starter().and_then(|source| items::tools(source, namespace).ok());
            let tool = |item: ListedItem| {
                let definition = item.item.as_ref().and_then(|item| serde_json::from_str(item.get()).ok());
                let described = definition.and_then(|tool: Described| tool.description).unwrap_or_default();
                Tool { name: item.name, description_bytes: described.len() }
            };
            listed.into_iter().flatten().map(tool).collect()
        })
    }
}

#[derive(Deserialize)]
struct Described {
    description: Option<String>,
}

/// Returns the mode of a file, without following a link; none where there is nothing.
pub(super) fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let about = std::fs::symlink_metadata(path).ok()?;
    (!about.is_symlink()).then(|| about.mode() & 0o7777)
}

/// What was done to mend something, or why it was not.
pub(super) type Mended = Result<String, String>;

/// Takes the rights of others from a file; says so, or why not.
pub(super) fn close(path: &Path, wanted: u32) -> Mended {
    use std::os::unix::fs::PermissionsExt as _;
    match std::fs::set_permissions(path, std::fs::Permissions::from_mode(wanted)) {
        Ok(()) => Ok(format!("set the mode of {} to {wanted:04o}", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Removes a file; says so, or why not.
pub(super) fn remove(path: &Path) -> Mended {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(format!("removed {}", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Writes a path as a word of a command line.
pub(super) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:@%".contains(char);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
