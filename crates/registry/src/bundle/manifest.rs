//! `manifest.json` of a bundle, versions 0.1 to 0.4. What we do not use is not read.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Runtime;
use crate::flaw::{Flaw, Refused, Shown};
use crate::text::{check_plain, described};

const FORMATS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];
const MAX_MEMBERS: usize = 256;

/// What a bundle says of itself.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    #[serde(default)]
    manifest_version: Option<String>,
    /// What it was called at first.
    #[serde(default)]
    dxt_version: Option<String>,
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub display_name: Option<String>,
    #[serde(default)]
    pub description: String,
    pub(super) server: Server,
    #[serde(default)]
    compatibility: Option<Compatibility>,
    #[serde(default)]
    pub(super) user_config: BTreeMap<String, Setting>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Server {
    #[serde(rename = "type")]
    pub(super) kind: ServerType,
    pub(super) entry_point: String,
    #[serde(default)]
    pub(super) mcp_config: Option<McpConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ServerType {
    Node,
    Python,
    Binary,
    Uv,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct McpConfig {
    pub(super) command: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) platform_overrides: BTreeMap<String, Override>,
}

/// What is different on one system.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Override {
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Compatibility {
    #[serde(default)]
    platforms: Vec<String>,
    #[serde(default)]
    runtimes: BTreeMap<String, String>,
}

/// Something the user sets.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Setting {
    #[serde(rename = "type")]
    pub(super) kind: SettingType,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) default: Option<Values>,
    #[serde(default)]
    pub(super) multiple: bool,
    #[serde(default)]
    pub(super) sensitive: bool,
    #[serde(default)]
    pub(super) min: Option<f64>,
    #[serde(default)]
    pub(super) max: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SettingType {
    String,
    Number,
    Boolean,
    Directory,
    File,
}

/// One value or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    Text(String),
    Boolean(bool),
    Number(serde_json::Number),
    Several(Vec<String>),
}

impl Values {
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Boolean(boolean) => vec![boolean.to_string()],
            Self::Number(number) => vec![number.to_string()],
            Self::Several(texts) => texts.clone(),
        }
    }
}

impl Manifest {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Refused> {
        let unreadable =
            |error: serde_json::Error| Flaw::Unreadable(described(&error.to_string())).at("manifest.json");
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut manifest: Self = serde_json::from_slice(text).map_err(unreadable)?;
        let format = manifest.manifest_version.as_deref().or(manifest.dxt_version.as_deref());
        let format = format.ok_or_else(|| Flaw::Missing.at("manifest_version"))?;
        if !FORMATS.contains(&format) {
            return Err(Flaw::Format(Shown::new(format)).at("manifest_version"));
        }
        for (place, text) in [("name", &manifest.name), ("version", &manifest.version)] {
            check_plain(text, 200).map_err(|flaw| flaw.at(place))?;
            if text.is_empty() {
                return Err(Flaw::Missing.at(place));
            }
        }
        if manifest.user_config.len() > MAX_MEMBERS {
            return Err(Flaw::TooMany(MAX_MEMBERS).at("user_config"));
        }
        manifest.description = described(&manifest.description);
        manifest.display_name = manifest.display_name.map(|name| described(&name));
        Ok(manifest)
    }

    /// Accepts a bundle for this system.
    pub(super) fn check_platform(&self) -> Result<(), Refused> {
        let platforms = self.compatibility.as_ref().map(|compatibility| compatibility.platforms.as_slice());
        match platforms.unwrap_or_default() {
            [] => Ok(()),
            platforms if platforms.iter().any(|named| named == platform()) => Ok(()),
            platforms => Err(Flaw::Platform(Shown::new(&platforms.join(", "))).at("compatibility.platforms")),
        }
    }

    /// Returns the programs it needs, and in which versions.
    pub fn runtimes(&self) -> Vec<Runtime> {
        let versions = |name: &str| {
            let runtimes = &self.compatibility.as_ref()?.runtimes;
            runtimes.get(name).map(|versions| described(versions))
        };
        let needed = match self.server.kind {
            ServerType::Node => ("node", versions("node")),
            ServerType::Python => ("python3", versions("python")),
            // It fetches the Python it needs.
            ServerType::Uv => ("uv", None),
            ServerType::Binary => return Vec::new(),
        };
        vec![Runtime { program: needed.0, versions: needed.1.unwrap_or_default() }]
    }
}

impl McpConfig {
    /// Returns what holds on this system.
    pub(super) fn here(&self) -> Self {
        let mut config = self.clone();
        if let Some(Override { command, args, env }) = self.platform_overrides.get(platform()) {
            config.command = command.clone().filter(|command| !command.is_empty()).unwrap_or(config.command);
            config.args = args.clone().unwrap_or(config.args);
            config.env = env.clone().unwrap_or(config.env);
        }
        config
    }
}

/// Returns what Node.js calls this system.
fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}
