//! The profiles: small bundles of defaults, one for each program whose users' files and habits we keep.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::Environment;

/// Whose defaults apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    Manifold,
    McpsProxy,
    McpStudio,
    McpAllInOne,
}

/// When servers start unless they say so themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartPolicy {
    Lazy,
    Eager,
}

/// What is checked of a call's arguments before it goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidateArguments {
    Off,
    Required,
    Full,
}

/// The set of error codes told to legacy clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCodes {
    Own,
    Standard,
}

/// Whether prompt names carry their server's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPrefix {
    Always,
    OnClash,
    Never,
}

/// What the program does when started without arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Http,
    Help,
}

/// A path below one of the user's directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserPath {
    /// Below `$XDG_CONFIG_HOME`, else `~/.config`.
    Config(&'static str),
    /// Below the home directory.
    Home(&'static str),
}

/// What one profile sets. Every entry but the first and the paths is also a config key.
#[derive(Debug, PartialEq, Eq)]
pub struct Defaults {
    pub bare: Bare,
    pub separator: &'static str,
    pub prefix_descriptions: bool,
    pub prefix_prompts: PromptPrefix,
    pub manager_tools_stdio: bool,
    pub manager_tools_http: bool,
    pub start: StartPolicy,
    pub validate_arguments: ValidateArguments,
    pub call_timeout: Duration,
    pub error_codes: ErrorCodes,
    pub server_name: &'static str,
    /// `None`: the version of the build.
    pub server_version: Option<&'static str>,
    pub config_file: UserPath,
    pub log_file: Option<UserPath>,
}

static MANIFOLD: Defaults = Defaults {
    bare: Bare::Http,
    separator: "__",
    prefix_descriptions: true,
    prefix_prompts: PromptPrefix::Always,
    manager_tools_stdio: true,
    manager_tools_http: false,
    start: StartPolicy::Lazy,
    validate_arguments: ValidateArguments::Off,
    call_timeout: Duration::from_secs(300),
    error_codes: ErrorCodes::Own,
    server_name: "manifold",
    server_version: None,
    config_file: UserPath::Config("manifold/config.json"),
    log_file: None,
};

static MCPS_PROXY: Defaults = Defaults {
    bare: Bare::Http,
    separator: "-",
    prefix_descriptions: false,
    prefix_prompts: PromptPrefix::OnClash,
    manager_tools_stdio: false,
    manager_tools_http: false,
    start: StartPolicy::Eager,
    validate_arguments: ValidateArguments::Required,
    call_timeout: Duration::from_secs(30),
    error_codes: ErrorCodes::Own,
    server_name: "mcps-proxy",
    server_version: None,
    config_file: UserPath::Home(".mcps-proxy/config.json"),
    log_file: Some(UserPath::Home(".mcps-proxy/logs/mcps-proxy.log")),
};

static MCP_STUDIO: Defaults = Defaults {
    bare: Bare::Help,
    separator: ".",
    prefix_descriptions: true,
    prefix_prompts: PromptPrefix::Always,
    manager_tools_stdio: true,
    manager_tools_http: true,
    start: StartPolicy::Lazy,
    validate_arguments: ValidateArguments::Off,
    call_timeout: Duration::from_secs(30),
    error_codes: ErrorCodes::Own,
    server_name: "mcp-studio",
    server_version: None,
    config_file: UserPath::Config("mcp-studio/config.json"),
    log_file: None,
};

static MCP_ALL_IN_ONE: Defaults = Defaults {
    bare: Bare::Help,
    separator: "__",
    prefix_descriptions: true,
    prefix_prompts: PromptPrefix::Always,
    manager_tools_stdio: false,
    manager_tools_http: false,
    start: StartPolicy::Eager,
    validate_arguments: ValidateArguments::Required,
    call_timeout: Duration::from_secs(30),
    error_codes: ErrorCodes::Standard,
    server_name: "mcp-all-in-one",
    server_version: Some("1.0.0"),
    config_file: UserPath::Home(".mcp-all-in-one/mcp.json"),
    log_file: None,
};

impl Profile {
    pub const ALL: [Self; 4] = [Self::Manifold, Self::McpsProxy, Self::McpStudio, Self::McpAllInOne];
    /// The names in the order of `ALL`.
    pub(crate) const NAMES: &[&str] = &["manifold", "mcps-proxy", "mcp-studio", "mcp-all-in-one"];

    /// Returns the profile's name, as `--profile` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manifold => "manifold",
            Self::McpsProxy => "mcps-proxy",
            Self::McpStudio => "mcp-studio",
            Self::McpAllInOne => "mcp-all-in-one",
        }
    }

    /// Returns the profile of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Returns the profile whose name the program was started under: a symlink or copy of ours.
    pub fn from_program(program: &str) -> Option<Self> {
        let file = Path::new(program).file_name()?.to_str()?;
        Self::from_name(file.strip_suffix(".exe").unwrap_or(file))
    }

    /// Returns what this profile sets.
    pub const fn defaults(self) -> &'static Defaults {
        match self {
            Self::Manifold => &MANIFOLD,
            Self::McpsProxy => &MCPS_PROXY,
            Self::McpStudio => &MCP_STUDIO,
            Self::McpAllInOne => &MCP_ALL_IN_ONE,
        }
    }
}

impl UserPath {
    /// Returns the full path, unless the user's directories are unknown.
    pub fn locate(self, environment: &Environment) -> Option<PathBuf> {
        match self {
            Self::Config(below) => Some(environment.config_home()?.join(below)),
            Self::Home(below) => Some(environment.home.as_ref()?.join(below)),
        }
    }
}

/// Returns where the config file is looked for when none is named.
pub fn default_config_path(profile: Profile, environment: &Environment) -> Option<PathBuf> {
    profile.defaults().config_file.locate(environment)
}
