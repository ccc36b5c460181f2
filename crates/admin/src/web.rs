//! The page's way in: a code that is good for one use, and the session it is exchanged for.

use serde::{Deserialize, Serialize};

/// How far a page may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PageScope {
    /// It looks.
    #[default]
    View,
    /// It also calls tools and orders servers.
    Act,
    /// It also changes the config and clients' files, for an hour.
    Edit,
}

/// What is asked for when a page is to be opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WebSession {
    pub scope: PageScope,
    /// A folder that the page's files are read from instead, by those who work on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
}

/// Where the page is, and the code it is let in by, once.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WebGrant {
    pub url: String,
    pub code: String,
    pub scope: PageScope,
    pub expires_in_ms: u64,
}

/// What a page brings.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WebCode {
    pub code: String,
}

/// What a page shows with each request from then on.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WebToken {
    pub token: String,
    pub scope: PageScope,
    /// By which the audit names the page.
    pub session_id: String,
    /// When it ends: for *edit* whatever is done, else where nothing is.
    pub expires_in_ms: u64,
}

/// A command that changes users' files, as a page asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SetupChange {
    /// Whose file: `cursor`, `claude-code` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Which change is undone, by its id; the last one where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is only said what would be done.
    pub dry_run: bool,
}

/// `open --json`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WebOpened {
    /// With the code in its fragment, which browsers keep to themselves.
    pub url: String,
    pub scope: PageScope,
    pub expires_in_ms: u64,
    /// Whether a browser was started.
    pub opened: bool,
    /// Whose page it is: `daemon` or `http`.
    pub answered_by: String,
}

impl PageScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Act => "act",
            Self::Edit => "edit",
        }
    }
}
