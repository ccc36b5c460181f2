//! Changes of a config file that keep all else in it as it is written.

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// The whole text.
    Text(String),
    /// A server's entry, as JSON; one that is there is replaced.
    PutServer {
        id: String,
        entry: String,
    },
    RemoveServer {
        id: String,
    },
    SetEnabled {
        id: String,
        enabled: bool,
    },
    /// The rule for one item of a server in a namespace; `None` leaves it to the default.
    SetPermission {
        namespace: String,
        server: String,
        kind: PermissionKind,
        /// As the server calls it.
        name: String,
        allow: Option<bool>,
    },
}

/// What a permission can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionKind {
    Tool,
    Prompt,
    Resource,
}
