//! The config as a text that operators read, check and write.

use serde::{Deserialize, Serialize};

use crate::command::ReloadReport;
use crate::error::Problem;

/// `GET /v1/config`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigFile {
    /// `None`: what is built in; the first change makes the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// As it is written, secrets and all: it goes over the control socket alone.
    pub text: String,
    /// Another for every other text.
    pub revision: String,
    pub problems: Vec<Problem>,
}

/// `POST /v1/config/check`, `PUT /v1/config`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigText {
    pub text: String,
}

/// `POST /v1/config/servers/{id}/rename`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ServerRename {
    /// The id it gets.
    pub to: String,
}

/// What would come of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigCheck {
    /// Why it cannot be used at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub problems: Vec<Problem>,
    /// What taking it over would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<ReloadReport>,
}

/// What came of a change that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigChanged {
    pub path: String,
    /// Before and after; both alike where nothing was to be changed.
    pub before: String,
    pub revision: String,
    pub report: ReloadReport,
    /// What `POST /v1/setup/undo` takes the change back by, where the gateway keeps its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}
