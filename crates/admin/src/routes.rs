//! Every resource of the control API, and the word of the command line for it.

/// One thing that can be asked or ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: Method,
    /// With `{…}` where a name goes.
    pub path: &'static str,
    /// The verbs of the command line that come to it. The audit has the first of them.
    pub verbs: &'static [&'static str],
    pub effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// What a route does beside answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It asks servers, as any client may, or has something looked at.
    Asks,
    /// It changes how things are: each time is a line of the audit.
    Changes,
}

const fn reads(path: &'static str, verbs: &'static [&'static str]) -> Route {
    Route { method: Method::Get, path, verbs, effect: Effect::Reads }
}

const fn asks(path: &'static str, verbs: &'static [&'static str]) -> Route {
    Route { method: Method::Post, path, verbs, effect: Effect::Asks }
}

const fn changes(method: Method, path: &'static str, verbs: &'static [&'static str]) -> Route {
    Route { method, path, verbs, effect: Effect::Changes }
}

/// All of them.
pub const ROUTES: &[Route] = &[
    reads("/v1/about", &["status", "daemon status"]),
    reads("/v1/snapshot", &["status"]),
    reads("/v1/events", &["wait"]),
    reads("/v1/servers", &["list"]),
    reads("/v1/servers/{id}", &["get", "wait"]),
    changes(Method::Post, "/v1/servers/{id}/start", &["start"]),
    changes(Method::Post, "/v1/servers/{id}/stop", &["stop"]),
    changes(Method::Post, "/v1/servers/{id}/restart", &["restart"]),
    changes(Method::Post, "/v1/servers/{id}/enable", &["enable"]),
    changes(Method::Post, "/v1/servers/{id}/disable", &["disable"]),
    changes(Method::Post, "/v1/servers/{id}/refresh", &["refresh"]),
    changes(Method::Post, "/v1/servers/{id}/login", &["login"]),
    changes(Method::Post, "/v1/servers/{id}/logout", &["logout"]),
    reads("/v1/servers/{id}/logs", &["logs"]),
    reads("/v1/tools", &["tools", "tool"]),
    reads("/v1/resources", &["resources"]),
    reads("/v1/prompts", &["prompts"]),
    asks("/v1/call", &["call"]),
    asks("/v1/read", &["read"]),
    asks("/v1/prompt", &["prompt"]),
    asks("/v1/complete", &["complete"]),
    asks("/v1/questions/{id}", &["call"]),
    reads("/v1/clients", &["clients"]),
    reads("/v1/clients/{id}", &["clients"]),
    changes(Method::Delete, "/v1/clients/{id}", &["clients disconnect"]),
    reads("/v1/namespaces", &["ns"]),
    reads("/v1/permissions", &["ns"]),
    changes(Method::Put, "/v1/permissions", &["ns allow", "ns deny"]),
    reads("/v1/config", &["config show"]),
    asks("/v1/config/check", &["config check"]),
    changes(
        Method::Put,
        "/v1/config",
        &["config edit", "add", "add-json", "import", "remove", "rename", "undo"],
    ),
    changes(Method::Put, "/v1/config/servers/{id}", &["add", "add-json", "import"]),
    changes(Method::Delete, "/v1/config/servers/{id}", &["remove"]),
    changes(Method::Post, "/v1/config/servers/{id}/rename", &["rename"]),
    reads("/v1/traffic", &["watch"]),
    reads("/v1/recordings", &["record list"]),
    changes(Method::Post, "/v1/recordings", &["record start"]),
    reads("/v1/recordings/{id}", &["record export"]),
    changes(Method::Delete, "/v1/recordings/{id}", &["record stop"]),
    reads("/v1/audit", &["audit"]),
    reads("/v1/doctor", &["doctor"]),
    reads("/v1/setup/clients", &["install"]),
    changes(Method::Post, "/v1/setup/install", &["install"]),
    changes(Method::Post, "/v1/setup/uninstall", &["uninstall"]),
    changes(Method::Post, "/v1/setup/import", &["import"]),
    reads("/v1/setup/undo", &["undo"]),
    changes(Method::Post, "/v1/setup/undo", &["undo"]),
    reads("/v1/daemon", &["daemon status"]),
    changes(Method::Post, "/v1/daemon/reload", &["daemon reload"]),
    changes(Method::Post, "/v1/daemon/upgrade", &["daemon upgrade"]),
    changes(Method::Post, "/v1/daemon/restart", &["daemon restart"]),
    changes(Method::Post, "/v1/daemon/stop", &["daemon stop"]),
    changes(Method::Post, "/v1/web/session", &["open"]),
    changes(Method::Post, "/v1/web/token", &["open"]),
];

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}
