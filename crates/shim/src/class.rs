//! What becomes of a request whose daemon is gone.

/// What may be done about a request that nobody will answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Asking again means the same thing.
    Again,
    /// As above, and it never ends by itself: no daemon is started for its sake alone.
    Listens,
    /// It reads: asked again once, in case that reading is what ends the daemon.
    AgainOnce,
    /// Once with a server it may have run, and must not run twice.
    MayHaveRun,
}

/// What must be told to the next daemon, if this request succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    Initialize,
    Level,
    Subscribe,
    Unsubscribe,
    /// A list as the client knows it: the next daemon's may be another.
    List(ListKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Prompts,
}

impl ListKind {
    /// Returns the notification that the list has changed.
    pub(crate) fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }

    pub(crate) fn request(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Prompts => "prompts/list",
        }
    }
}

pub(crate) fn class(method: &str) -> Class {
    match method {
        "ping"
        | "initialize"
        | "server/discover"
        | "tools/list"
        | "resources/list"
        | "resources/templates/list"
        | "prompts/list"
        | "completion/complete"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "tasks/get"
        | "shutdown" => Class::Again,
        "subscriptions/listen" => Class::Listens,
        "resources/read" | "prompts/get" => Class::AgainOnce,
        _ => Class::MayHaveRun,
    }
}

pub(crate) fn lasting(method: &str) -> Option<Lasting> {
    Some(match method {
        "initialize" => Lasting::Initialize,
        "logging/setLevel" => Lasting::Level,
        "resources/subscribe" => Lasting::Subscribe,
        "resources/unsubscribe" => Lasting::Unsubscribe,
        "tools/list" => Lasting::List(ListKind::Tools),
        "resources/list" => Lasting::List(ListKind::Resources),
        "prompts/list" => Lasting::List(ListKind::Prompts),
        _ => return None,
    })
}
