//! What is to be done outside of the state, and what comes of it.

use manifold_admin::{
    About, AskEvent, CommandError, Event, LogLine, Method, QuestionAnswer, Recording, Server, Snapshot,
    TrafficItem,
};
use serde_json::value::RawValue;

use crate::model::tools::Listing;

/// What the loop is asked to do.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Quit,
    Suspend,
    Redraw,
    /// Asks for something that comes back as news.
    Fetch(Fetch),
    /// Has something done; `said` is told once it is.
    Order {
        method: Method,
        path: String,
        body: Option<Box<RawValue>>,
        said: String,
    },
    /// Shows the answer to a question.
    Show {
        path: String,
        title: String,
    },
    /// Asks a server; what comes of it bears the number.
    Ask {
        number: u64,
        path: &'static str,
        body: Box<RawValue>,
    },
    /// Hangs up, which cancels it at its server.
    HangUp {
        number: u64,
    },
    Answer {
        id: String,
        answer: Option<QuestionAnswer>,
    },
    /// Opens the stream of frames, in the place of one that is open.
    Traffic {
        run: u64,
        filter: String,
    },
    CloseTraffic,
    Copy {
        text: String,
        what: String,
    },
    /// Has a text edited by the user's own editor.
    Edit {
        text: String,
        /// What its name ends with, such as `json`.
        kind: String,
    },
    /// Has the gateway take over another text of the config, in the place of the revision it was made of.
    PutConfig {
        draft: ConfigDraft,
    },
    /// Reads everything anew.
    Reread,
}

/// A text that is to be the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigDraft {
    pub(crate) text: String,
    /// The revision it was made of.
    pub(crate) revision: String,
    /// What the file's name ends with.
    pub(crate) kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fetch {
    Servers,
    Tools,
    Tool(String),
    Logs(Vec<String>),
    Recordings,
    Config,
}

/// What the loop hears.
#[derive(Debug)]
pub(crate) enum News {
    Connected {
        about: Box<About>,
        snapshot: Box<Snapshot>,
    },
    Event(Box<Event>),
    /// The connection is gone, and is tried again so soon.
    Lost {
        why: String,
        retry_ms: u64,
    },
    Servers(Vec<Server>),
    Tools(Result<Listing, String>),
    Tool {
        name: String,
        item: Result<Option<Box<RawValue>>, String>,
    },
    Logs(Vec<LogLine>),
    Recordings(Option<Vec<Recording>>),
    Config(ConfigDraft),
    /// The gateway has taken over what was edited, or says why not.
    ConfigPut(Result<(), Box<CommandError>>),
    Done {
        said: String,
    },
    Failed {
        what: String,
        error: Box<CommandError>,
    },
    Shown {
        title: String,
        text: String,
    },
    Asked {
        number: u64,
        event: AskEvent,
    },
    Traffic {
        run: u64,
        item: Frames,
    },
    Edited(Result<String, String>),
    Copied(String),
}

/// What a stream of frames says.
#[derive(Debug)]
pub(crate) enum Frames {
    Open,
    Item(TrafficItem),
    Missing,
    Refused(String),
    Ended,
}
