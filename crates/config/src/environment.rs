//! The process environment, handed in so that a test needs none.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::secrets::Secrets;

/// The variables and directories a configuration is read with.
#[derive(Clone, Default)]
pub struct Environment {
    pub vars: BTreeMap<String, String>,
    pub home: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The program that runs, by its real path.
    pub program: Option<PathBuf>,
    /// What `${secret:NAME}` stands for.
    pub secrets: Secrets,
}

impl Environment {
    /// Takes a copy of our own environment. Variables that are not UTF-8 are left out.
    pub fn from_process() -> Self {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self {
            vars: vars.collect(),
            home: etcetera::home_dir().ok(),
            cwd: std::env::current_dir().unwrap_or_default(),
            program: std::env::current_exe().and_then(std::fs::canonicalize).ok(),
            secrets: Secrets::default(),
        }
    }

    /// Returns `$XDG_CONFIG_HOME`, else `~/.config`. A relative path there is invalid by the XDG rules.
    pub fn config_home(&self) -> Option<PathBuf> {
        self.folder("XDG_CONFIG_HOME", ".config")
    }

    /// Returns `$XDG_CACHE_HOME`, else `~/.cache`.
    pub fn cache_home(&self) -> Option<PathBuf> {
        self.folder("XDG_CACHE_HOME", ".cache")
    }

    /// Returns `$XDG_DATA_HOME`, else `~/.local/share`.
    pub fn data_home(&self) -> Option<PathBuf> {
        self.folder("XDG_DATA_HOME", ".local/share")
    }

    /// Returns `$XDG_STATE_HOME`, else `~/.local/state`.
    pub fn state_home(&self) -> Option<PathBuf> {
        self.folder("XDG_STATE_HOME", ".local/state")
    }

    fn folder(&self, variable: &str, usual: &str) -> Option<PathBuf> {
        let named = self.vars.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| Some(self.home.as_ref()?.join(usual)))
    }
}

/// Names only: the values hold the user's secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("vars", &self.vars.keys().collect::<Vec<_>>())
            .field("home", &self.home)
            .field("cwd", &self.cwd)
            .field("program", &self.program)
            .field("secrets", &self.secrets)
            .finish()
    }
}
