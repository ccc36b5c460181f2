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

pub(crate) fn class(method: &[u8]) -> Class {
    match method {
        b"ping"
        | b"initialize"
        | b"server/discover"
        | b"tools/list"
        | b"resources/list"
        | b"resources/templates/list"
        | b"prompts/list"
        | b"completion/complete"
        | b"logging/setLevel"
        | b"resources/subscribe"
        | b"resources/unsubscribe"
        | b"tasks/get"
        | b"shutdown" => Class::Again,
        b"subscriptions/listen" => Class::Listens,
        b"resources/read" | b"prompts/get" => Class::AgainOnce,
        _ => Class::MayHaveRun,
    }
}

pub(crate) fn lasting(method: &[u8]) -> Option<Lasting> {
    Some(match method {
        b"initialize" => Lasting::Initialize,
        b"logging/setLevel" => Lasting::Level,
        b"resources/subscribe" => Lasting::Subscribe,
        b"resources/unsubscribe" => Lasting::Unsubscribe,
        b"tools/list" => Lasting::List(ListKind::Tools),
        b"resources/list" => Lasting::List(ListKind::Resources),
        b"prompts/list" => Lasting::List(ListKind::Prompts),
        _ => return None,
    })
}
