//! What passes between front ends, engine and upstreams, free of eras and transports.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::fault::Fault;
use crate::method::Method;
use crate::raw::Raw;

/// One request, neutral: a label we may rewrite and a payload we do not open.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub params: Option<Raw>,
    /// `None`: we ask ourselves, or nobody in particular does.
    pub caller: Option<Arc<Caller>>,
}

/// Who asks, as far as a server may know. A front end makes it: once per session, or anew for each request where the
/// client says it anew.
#[derive(Debug, Clone)]
pub struct Caller {
    /// A ClientCapabilities object.
    pub capabilities: Raw,
    /// An Implementation object.
    pub info: Option<Raw>,
    /// The least grave log message it wants to hear, by the protocol's name for it.
    pub log_level: Option<Raw>,
    /// Takes a request for input as an answer and comes back with it in a new call. Others are asked in mid-call.
    pub retries: bool,
    /// This call is such a coming back, with the server's own state.
    pub is_retry: bool,
    pub words: Words,
}

/// Who asks, in the words of a dialect: put together at the first call, for all of them. A copy has none yet, since it is
/// made to differ.
#[derive(Debug, Default)]
pub struct Words(OnceLock<Bytes>);

impl Words {
    pub(crate) fn get_or_write(&self, write: impl FnOnce() -> Bytes) -> &Bytes {
        self.0.get_or_init(write)
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Call {
    pub fn new(method: Method, params: Option<Raw>) -> Self {
        Self { method, params, caller: None }
    }

    pub fn by(self, caller: Arc<Caller>) -> Self {
        Self { caller: Some(caller), ..self }
    }

    /// Returns the text of one top-level member of the parameters.
    pub fn text_param(&self, key: &str) -> Option<String> {
        self.params.as_ref()?.get(key)?.to_text().map(|text| text.into_owned())
    }

    /// Returns where the text of one top-level member of the parameters stands, and the text.
    pub fn find_text_param(&self, key: &str) -> Option<(Range<usize>, String)> {
        let params = self.params.as_ref()?;
        let place = params.find(key)?;
        let text = params.slice(place.clone()).to_text()?.into_owned();
        Some((place, text))
    }

    /// Replaces the member that was found there; all else keeps its bytes.
    pub fn replace_param(&mut self, place: Range<usize>, value: &Raw) {
        self.params = self.params.as_ref().map(|params| params.replaced(place, value));
    }

    /// Replaces one top-level member of the parameters; all else keeps its bytes.
    pub fn set_param(&mut self, key: &str, value: Raw) {
        let mut object = self.params.take().and_then(|params| params.object()).unwrap_or_default();
        object.set(key, value);
        self.params = Some(object.into_raw());
    }
}

/// How a call ended: what it came to, or why there is nothing.
pub type Reply = Result<Answer, Failure>;

/// What a call came to. Each front end's dialect writes it in the words of its client.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A result's own bytes, and what is known of them without reading them again.
    Result { body: Raw, mark: Mark, loose: bool },
    /// One of our lists.
    List(Arc<List>),
}

/// What a result says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: its server knows no marks, or it is our own.
    None,
    /// Marked as the end of the call.
    Complete,
    /// The server wants to be asked again, with answers to its questions.
    InputRequired,
    /// An extension's: a task to ask about later.
    Extension,
}

/// A whole list, as the bytes of its array. Dialects add what stands around it.
#[derive(Debug)]
pub struct List {
    pub kind: Kind,
    pub items: Raw,
    /// The same for clients that refuse the whole list for one entry they cannot read.
    pub strict_items: Raw,
    pub freshness: Freshness,
}

/// For how long, and for whom, a copy may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Freshness {
    pub ttl_ms: u64,
    pub scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    #[default]
    Private,
    Public,
}

impl Freshness {
    /// What a part that is kept `other`wise leaves of it: the whole is as fresh and as public as its worst part.
    pub fn and(self, other: Self) -> Self {
        let scope = match (self.scope, other.scope) {
            (Scope::Public, Scope::Public) => Scope::Public,
            _ => Scope::Private,
        };
        Self { ttl_ms: self.ttl_ms.min(other.ttl_ms), scope }
    }
}

impl Answer {
    pub fn marked(body: Raw, mark: Mark) -> Self {
        Self::Result { body, mark, loose: false }
    }

    pub fn mark(&self) -> Mark {
        match self {
            Self::Result { mark, .. } => *mark,
            Self::List(_) => Mark::None,
        }
    }

    /// Notes that the structured content may be something else than an object.
    pub fn allow_any_structured(self) -> Self {
        match self {
            Self::Result { body, mark, .. } => Self::Result { body, mark, loose: true },
            Self::List(list) => Self::List(list),
        }
    }

    /// Rewrites a result's bytes.
    pub fn map(self, rewrite: impl FnOnce(Raw) -> Raw) -> Self {
        match self {
            Self::Result { body, mark, loose } => Self::Result { body: rewrite(body), mark, loose },
            Self::List(list) => Self::List(list),
        }
    }

    /// Returns the result as it is.
    pub fn into_body(self) -> Raw {
        match self {
            Self::Result { body, .. } => body,
            Self::List(list) => Self::List(list).plain(),
        }
    }

    /// Returns how many bytes it takes up, but for what stands around it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Result { body, .. } => body.as_bytes().len(),
            Self::List(list) => list.items.as_bytes().len(),
        }
    }

    /// Returns whether a tool says by its result that it failed.
    pub fn is_tool_error(&self) -> bool {
        matches!(self, Self::Result { body, .. } if body.get("isError").and_then(|flag| flag.bool()) == Some(true))
    }

    /// Returns the result without what the newest revision adds to it.
    pub fn plain(&self) -> Raw {
        crate::dialect::legacy::result(self)
    }
}

impl From<Raw> for Answer {
    fn from(body: Raw) -> Self {
        Self::marked(body, Mark::None)
    }
}

/// Why a call has no result.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Ours: it gets its code at the edge.
    Fault(Fault),
    /// The peer's own JSON-RPC error object; it passes untouched.
    Peer(Raw),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The four things a server lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The member of the list result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member of an item that names it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    pub fn list_method(self) -> Method {
        match self {
            Self::Tools => Method::ToolsList,
            Self::Resources => Method::ResourcesList,
            Self::Templates => Method::TemplatesList,
            Self::Prompts => Method::PromptsList,
        }
    }
}
