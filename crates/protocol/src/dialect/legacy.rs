//! The revisions with `initialize` and a session (2024-11-05 to 2025-11-25).

use crate::raw::{Raw, RawObject};
use crate::version::Revision;

/// What a server needs to answer `initialize`.
#[derive(Debug)]
pub struct InitializeReply<'a> {
    pub revision: Revision,
    pub name: &'a str,
    pub version: &'a str,
    pub instructions: Option<&'a str>,
    /// Client capabilities to echo, as one profile does (decision 26).
    pub echoed: &'a [&'a str],
}

impl InitializeReply<'_> {
    /// Writes the result. Every list may change, so every list says so.
    pub fn encode(&self) -> Raw {
        let mut capabilities = RawObject::default();
        capabilities.set("tools", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("resources", Raw::from_static(r#"{"subscribe":true,"listChanged":true}"#));
        capabilities.set("prompts", Raw::from_static(r#"{"listChanged":true}"#));
        capabilities.set("logging", Raw::from_static("{}"));
        // 2024-11-05 knows completion but no capability for it.
        if self.revision > Revision::V2024_11_05 {
            capabilities.set("completions", Raw::from_static("{}"));
        }
        for capability in self.echoed {
            capabilities.set(capability, Raw::from_static("{}"));
        }
        let mut info = RawObject::default();
        info.set("name", Raw::string(self.name));
        info.set("version", Raw::string(self.version));

        let mut result = RawObject::default();
        result.set("protocolVersion", Raw::string(self.revision.as_str()));
        result.set("capabilities", capabilities.into_raw());
        result.set("serverInfo", info.into_raw());
        if let Some(instructions) = self.instructions {
            result.set("instructions", Raw::string(instructions));
        }
        result.into_raw()
    }
}

/// Writes the parameters of our own `initialize` to a server.
pub fn initialize_params(revision: Revision, capabilities: &Raw, client_info: &Raw) -> Raw {
    let mut params = RawObject::default();
    params.set("protocolVersion", Raw::string(revision.as_str()));
    params.set("capabilities", capabilities.clone());
    params.set("clientInfo", client_info.clone());
    params.into_raw()
}

/// What a server said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializeResult {
    pub revision: String,
    pub capabilities: Raw,
    pub instructions: Option<String>,
}

/// Reads a server's answer to `initialize`.
pub fn read_initialize_result(result: &Raw) -> Option<InitializeResult> {
    let text = |key: &str| Some(result.get(key)?.to_text()?.into_owned());
    Some(InitializeResult {
        revision: text("protocolVersion")?,
        capabilities: result.get("capabilities").unwrap_or_else(|| Raw::from_static("{}")),
        instructions: text("instructions"),
    })
}
