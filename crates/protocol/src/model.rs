//! What passes between front ends, engine and upstreams, free of eras and transports.

use crate::fault::Fault;
use crate::method::Method;
use crate::raw::Raw;

/// One request, neutral: a label we may rewrite and a parcel we do not open.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub params: Option<Raw>,
}

impl Call {
    pub fn new(method: Method, params: Option<Raw>) -> Self {
        Self { method, params }
    }

    /// Returns the text of one top-level member of the parameters.
    pub fn text_param(&self, key: &str) -> Option<String> {
        self.params.as_ref()?.get(key)?.to_text().map(|text| text.into_owned())
    }

    /// Replaces one top-level member of the parameters; all else keeps its bytes.
    pub fn set_param(&mut self, key: &str, value: Raw) {
        let mut object = self.params.take().and_then(|params| params.object()).unwrap_or_default();
        object.set(key, value);
        self.params = Some(object.into_raw());
    }
}

/// How a call ended: the result's own bytes, or why there is none.
pub type Reply = Result<Raw, Failure>;

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
