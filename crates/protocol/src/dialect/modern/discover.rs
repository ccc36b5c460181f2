//! `server/discover`: what a server says of itself, written and read.

use super::REVISION;
use crate::dialect::ServerFacts;
use crate::extension::TASKS;
use crate::raw::{Raw, RawObject};

/// What a server needs to answer `server/discover`.
#[derive(Debug)]
pub struct DiscoverReply<'a> {
    pub instructions: Option<&'a str>,
    /// Extensions that servers behind us declare, in one object.
    pub extensions: RawObject,
}

impl DiscoverReply<'_> {
    pub fn encode(self) -> Raw {
        let mut extensions = self.extensions;
        extensions.set(TASKS, Raw::from_static("{}"));
        let mut capabilities = RawObject::default();
        capabilities.set("tools", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("resources", Raw::from_static(r#"{"subscribe":true,"listChanged":true}"#));
        capabilities.set("prompts", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("completions", Raw::from_static("{}"));
        capabilities.set("logging", Raw::from_static("{}"));
        capabilities.set("extensions", extensions.into_raw());
        let mut result = RawObject::default();
        result.set("supportedVersions", Raw::serialize(&[REVISION]));
        result.set("capabilities", capabilities.into_raw());
        if let Some(instructions) = self.instructions {
            result.set("instructions", Raw::string(instructions));
        }
        result.into_raw()
    }
}

/// Reads a server's answer to `server/discover`; `None` if it is none, or this revision is not among its own.
pub fn read_discover_result(result: &Raw) -> Option<ServerFacts> {
    let versions = result.get("supportedVersions")?.elements()?;
    if !versions.iter().any(|version| version.to_text().as_deref() == Some(REVISION)) {
        return None;
    }
    Some(ServerFacts {
        revision: REVISION.to_owned(),
        capabilities: result.get("capabilities").unwrap_or_else(|| Raw::from_static("{}")),
        instructions: result.get("instructions").and_then(|text| Some(text.to_lossy_text()?.into_owned())),
    })
}
