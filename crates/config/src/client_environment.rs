//! What servers are started with for one client of the daemon: its variables and its folder. All else comes from the
//! daemon's own environment, and is alike for everybody.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Variables that say where a user is at home, which every server gets from the daemon.
const BASE: [&str; 10] =
    ["HOME", "LANG", "LOGNAME", "SHELL", "TERM", "TZ", "USER", "SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY"];
const BASE_PREFIXES: [&str; 3] = ["LC_", "XDG_", "DBUS_"];
/// Those a program needs to run at all, which `inheritEnv: false` leaves.
const BASICS: [&str; 6] = ["HOME", "LANG", "LOGNAME", "SHELL", "TERM", "USER"];

/// The variables and the folder of one client of the daemon.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientEnvironment {
    /// The variables of the client; those the config uses at the least. One that is not here is not set.
    pub values: BTreeMap<String, String>,
    /// The folder the client was started in.
    pub cwd: PathBuf,
    /// The project that folder belongs to (see [`project_root`]).
    pub project: PathBuf,
}

impl ClientEnvironment {
    /// Returns what somebody has who has the daemon's own variables and folder.
    pub fn of(own: &Environment) -> Self {
        Self { values: own.vars.clone(), cwd: own.cwd.clone(), project: project_root(&own.cwd) }
    }

    /// Returns the environment in which the client's servers are resolved.
    pub(crate) fn environment(&self, own: &Environment) -> Environment {
        Environment {
            vars: self.values.clone(),
            home: own.home.clone(),
            cwd: self.cwd.clone(),
            program: own.program.clone(),
            // Nobody brings secrets of its own: they are the user's.
            secrets: own.secrets.clone(),
        }
    }
}

/// Names only: the values hold the user's secrets.
impl fmt::Debug for ClientEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientEnvironment")
            .field("values", &self.values.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .field("project", &self.project)
            .finish()
    }
}

/// Returns the project a folder belongs to: the nearest one upwards that has a `.git`, else the folder itself.
pub fn project_root(cwd: &Path) -> PathBuf {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd).to_path_buf()
}

/// Returns the variables that every server gets from the daemon.
pub(crate) fn base(own: &Environment) -> impl Iterator<Item = (&String, &String)> {
    own.vars.iter().filter(|(name, _)| is_base_variable(name))
}

/// Returns whether a variable says where a user is at home, and so is alike for all of its clients.
pub fn is_base_variable(name: &str) -> bool {
    BASE.contains(&name) || BASE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the variables without which hardly a program runs.
pub(crate) fn basics(own: &Environment) -> impl Iterator<Item = (&String, &String)> {
    own.vars.iter().filter(|(name, _)| BASICS.contains(&name.as_str()))
}
