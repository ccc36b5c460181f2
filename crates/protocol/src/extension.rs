//! Extensions to the protocol that servers and clients declare by name, whatever revision they speak.

use crate::model::Caller;
use crate::raw::Raw;

/// The extension that lets a call go on after it has been answered.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
pub const SKILLS: &str = "io.modelcontextprotocol/skills";
/// MCP Apps.
pub const UI: &str = "io.modelcontextprotocol/ui";

/// Returns whether a ClientCapabilities object declares the extension for tasks.
pub fn declares_tasks(capabilities: &Raw) -> bool {
    capabilities.path(&["extensions", TASKS]).is_some()
}

impl Caller {
    /// Returns whether a call of its may be answered with a task to ask about later.
    pub fn takes_tasks(&self) -> bool {
        // Clients with sessions are many, and their capabilities need not be read.
        self.retries && declares_tasks(&self.capabilities)
    }

    /// Returns the log level it wants for this one call. Whoever has a session says it once, by `logging/setLevel`.
    pub fn log_level_of_call(&self) -> Option<&Raw> {
        self.log_level.as_ref().filter(|_| self.retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_with_each_call_counts_for_those_who_say_all_of_it_anew() {
        let caller = |retries| Caller {
            capabilities: Raw::from_static(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
            info: None,
            log_level: Some(Raw::from_static(r#""debug""#)),
            retries,
            is_retry: false,
            words: Default::default(),
        };
        let told = |retries| (caller(retries).takes_tasks(), caller(retries).log_level_of_call().is_some());
        assert_eq!((told(true), told(false)), ((true, true), (false, false)));
        let plain = Caller { capabilities: Raw::from_static("{}"), ..caller(true) };
        assert!(!plain.takes_tasks());
    }
}
