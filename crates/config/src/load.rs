//! Finding, reading and checking the configuration file.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::client_environment::ClientEnvironment;
use crate::clients;
use crate::environment::Environment;
use crate::expand::expand_home;
use crate::meant;
use crate::model::{Config, Format, Source};
use crate::problem::{Problem, Problems};
use crate::profile::{Profile, default_config_path};
use crate::resolve::{self, Origin, Surroundings};
use crate::syntax;

/// The configuration when there is no file: a gateway that works, with nothing written to disk.
const EMBEDDED: &str = r#"{
  "mcpServers": {
    "time": {"builtin": "time"}
  }
}
"#;

/// What decides which file is read, and how.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// `--config`.
    pub path: Option<PathBuf>,
    /// `--profile`, or its variable.
    pub profile: Option<Profile>,
    /// The name the program was started under.
    pub program_profile: Option<Profile>,
    /// Set where we serve over HTTP: a server at our own address is ourselves.
    pub own_port: Option<OwnPort>,
    pub environment: Environment,
    /// Set where servers are resolved for a client of the daemon: with its variables and in its folder.
    pub client: Option<ClientEnvironment>,
}

/// The port we serve at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnPort {
    /// As the config says.
    Configured,
    /// `--port`.
    Given(u16),
}

/// Why there is no configuration: everything that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    pub problems: Vec<Problem>,
    /// Whose file it is and what is in it, where that could be told and it is another program's.
    pub recognized: Option<String>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}

/// Returns where the configuration is read from, or would be if it were there.
pub fn config_path(options: &LoadOptions) -> Option<PathBuf> {
    match &options.path {
        Some(named) => Some(with_home(named, &options.environment)),
        None => default_config_path(default_profile(options), &options.environment),
    }
}

/// The file's own `profile` cannot say where the file is.
fn default_profile(options: &LoadOptions) -> Profile {
    options.profile.or(options.program_profile).unwrap_or(Profile::Manifold)
}

/// Reads the named file, else the one at the profile's default path, else the embedded default.
pub fn load(options: &LoadOptions) -> Result<Config, LoadError> {
    let (text, path) = written(options)?;
    load_text(&text, path.as_deref(), options)
}

/// Returns the text of the configuration, and the file it is from.
pub fn written(options: &LoadOptions) -> Result<(String, Option<PathBuf>), LoadError> {
    if let Some(named) = &options.path {
        let path = with_home(named, &options.environment);
        return Ok((read(&path)?, Some(path)));
    }
    match config_path(options) {
        // Where we may not look, the file counts as there, and reading it tells why not.
        Some(path) if path.try_exists().unwrap_or(true) => Ok((read(&path)?, Some(path))),
        _ => Ok((EMBEDDED.to_owned(), None)),
    }
}

/// Checks text as if it were read from `path`; without a path it counts as the embedded default.
pub fn load_text(text: &str, path: Option<&Path>, options: &LoadOptions) -> Result<Config, LoadError> {
    let mut problems = Problems::new(path);
    let Some(document) = syntax::parse(text, path, clients::is_known, &mut problems) else {
        return Err(LoadError { problems: problems.into_sorted(), recognized: None });
    };
    let of_client = options.client.as_ref().map(|client| client.environment(&options.environment));
    let environment = of_client.as_ref().unwrap_or(&options.environment);
    let mut reading = clients::read(document, path, environment, &mut problems);
    reading.fill(path, environment, &options.environment);
    if let Some(root) = &reading.root {
        problems.call("mcpServers", root);
    }
    meant::read(&mut reading.document, &mut problems);
    let withheld = resolve::withheld(&reading.document);
    let origin = Origin {
        path,
        client: reading.client,
        root: reading.root.as_deref(),
        format: path.is_none().then_some(Format::Embedded),
        profile: options.profile,
        program_profile: options.program_profile,
        own_port: options.own_port,
        start: Surroundings {
            environment,
            own: &options.environment,
            client: options.client.as_ref(),
            withheld: &withheld,
        },
    };
    resolve::resolve(&reading.document, origin, problems)
        .map_err(|problems| LoadError { problems: problems.into_sorted(), recognized: reading.summary() })
}

/// Returns a configuration without servers for a file that is there and cannot be used. Clients of the gateway are told
/// why, and what to do.
pub fn stand_in(why: LoadError, options: &LoadOptions) -> Result<Config, LoadError> {
    let config = load_text("{}", None, options)?;
    let source = Source { path: config_path(options), format: Format::McpServers, client: None, root: None };
    Ok(Config { source, unread: Some(why.to_string()), problems: why.problems, ..config })
}

/// What a config may hold.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

pub(crate) fn read(path: &Path) -> Result<String, LoadError> {
    let found = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => {
            failure(path, "does not exist", "name an existing file, or leave out --config for the default")
        }
        _ => failure(path, &format!("cannot be read: {error}"), "check its permissions"),
    };
    let about = std::fs::metadata(path).map_err(found)?;
    if !about.is_dir() && !about.is_file() {
        return Err(failure(path, "is not a regular file", "save it as a file"));
    }
    if about.len() > MAX_BYTES {
        return Err(failure(path, "is larger than 64 MiB", "it is hardly a config; name another file"));
    }
    let bytes = std::fs::read(path).map_err(found)?;
    String::from_utf8(bytes).map_err(|_| failure(path, "is not UTF-8 text", "save it as UTF-8"))
}

pub(crate) fn failure(path: &Path, what: &str, hint: &str) -> LoadError {
    let mut problems = Problems::new(Some(path));
    problems.whole_file(what, Some(hint.to_owned()));
    LoadError { problems: problems.into_sorted(), recognized: None }
}

/// A client's config passes `~/…` to us without a shell in between (S1-4).
fn with_home(path: &Path, environment: &Environment) -> PathBuf {
    path.to_str().map_or_else(|| path.to_path_buf(), |text| expand_home(text, environment).into())
}
