//! The methods we decide on. Everything else passes as `Other`.

use std::fmt;

use crate::envelope::MethodName;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// A request method.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// One we have no decision for.
            Other(MethodName),
        }

        impl Method {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name.as_str(),
                }
            }
        }

        impl From<MethodName> for Method {
            fn from(name: MethodName) -> Self {
                match name.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(name),
                }
            }
        }
    };
}

methods! {
    Initialize = "initialize",
    Ping = "ping",
    /// Seed S3's polite ending, not MCP's.
    Shutdown = "shutdown",
    ToolsList = "tools/list",
    ToolsCall = "tools/call",
    ResourcesList = "resources/list",
    TemplatesList = "resources/templates/list",
    ResourcesRead = "resources/read",
    ResourcesSubscribe = "resources/subscribe",
    ResourcesUnsubscribe = "resources/unsubscribe",
    PromptsList = "prompts/list",
    PromptsGet = "prompts/get",
    Complete = "completion/complete",
    SetLevel = "logging/setLevel",
    Discover = "server/discover",
    Listen = "subscriptions/listen",
    TasksGet = "tasks/get",
    TasksUpdate = "tasks/update",
    TasksCancel = "tasks/cancel",
    /// Of the revisions with sessions; what the newest has instead is part of `tasks/get`.
    TasksResult = "tasks/result",
    SkillsList = "skills/list",
    SkillsGet = "skills/get",
    DirectoryRead = "resources/directory/read",
    /// Asked by servers.
    CreateMessage = "sampling/createMessage",
    /// Asked by servers.
    Elicit = "elicitation/create",
    /// Asked by servers.
    ListRoots = "roots/list",
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Notification names that we act on.
pub mod notification {
    pub const INITIALIZED: &str = "notifications/initialized";
    pub const CANCELLED: &str = "notifications/cancelled";
    pub const PROGRESS: &str = "notifications/progress";
    pub const MESSAGE: &str = "notifications/message";
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub const TASKS: &str = "notifications/tasks";
    /// A visit to a URL that a client was asked for is over.
    pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
    /// Seed S3's way to end the process.
    pub const EXIT: &str = "notifications/exit";
}
