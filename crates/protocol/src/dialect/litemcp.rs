//! LiteMCP 1.0.0: a server is one tool, and everything said to it or by it is a string.
//!
//! Both sides speak through here: a front end reads [`Word::Get`] and [`Word::Call`] and writes the answers, an
//! upstream does the opposite. Over HTTP a [`Tool`], a [`ToolCall`] or a [`CallResult`] goes without the
//! [`Message`] around it.

mod call;
mod convert;
#[cfg(test)]
mod tests;
mod tool;

use bytes::Bytes;

use crate::id::Id;
use crate::members::{self, Flaw};
use crate::raw::{Kind, Raw, RawObject};
use crate::scan::ScanError;

pub use call::{CallResult, Item, ToolCall};
pub use convert::{ArgumentError, Arguments, named};
pub use tool::{Parameter, Tool};

/// Where an MCP text block says which type it had as an item of LiteMCP (decision 28).
pub const TYPE_META: &str = "litemcp/type";
/// Where an MCP tool keeps the tool of LiteMCP that it was made of, so that it can become the same again.
pub const TOOL_META: &str = "litemcp/tool";

/// What is spoken here, in the spelling of the protocol's samples.
const VERSION: &str = "[1,0,0]";

/// One message on a pipe or a WebSocket, an `IOBasic` (S4-7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub version: Option<Version>,
    pub id: Id,
    pub word: Word,
    /// Null and absent are the same.
    pub data: Option<Raw>,
}

/// What a message is: the two requests and the answer to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Get,
    Info,
    Call,
    Result,
}

/// The protocol's version, which comes as `[1,0,0]` or as `{"major":1,"minor":0,"patch":0}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

/// Why something is no message of LiteMCP. There is nobody to answer then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error(transparent)]
    NotJson(#[from] ScanError),
    #[error(transparent)]
    Flawed(#[from] Flaw),
    #[error("not a JSON object")]
    NotAnObject,
    #[error("`id` is not an integer")]
    NoId,
    #[error("`type` is {0}, not one of get, info, call and result")]
    UnknownType(String),
}

impl Message {
    pub fn new(id: Id, word: Word, data: Option<Raw>) -> Self {
        Self { version: Some(Version::SPOKEN), id, word, data }
    }

    pub fn parse(text: impl Into<Bytes>) -> Result<Self, MessageError> {
        let message = Raw::parse(text)?;
        if let Some(flaw) = members::litemcp::MESSAGE.flaw(&message) {
            return Err(flaw.into());
        }
        let object = message.object().ok_or(MessageError::NotAnObject)?;
        let id = object.get("id").as_ref().and_then(integer_id).ok_or(MessageError::NoId)?;
        let word = match object.get("type") {
            None => return Err(MessageError::UnknownType("missing".to_owned())),
            Some(word) => Word::parse(&word).ok_or_else(|| MessageError::UnknownType(format!("{word:?}")))?,
        };
        let version = object.get("version").and_then(|version| Version::parse(&version));
        let data = object.get("data").filter(|data| data.kind() != Kind::Null);
        Ok(Self { version, id, word, data })
    }

    pub fn encode(&self) -> Raw {
        let mut object = versioned();
        object.set("id", self.id.to_raw());
        object.set("type", Raw::from_static(self.word.quoted()));
        object.set("data", self.data.clone().unwrap_or_else(Raw::null));
        object.into_raw()
    }

    /// Returns whether it is of a version that is spoken here: any of our own major.
    pub fn is_spoken(&self) -> bool {
        self.version.is_some_and(Version::is_spoken)
    }
}

impl Word {
    fn parse(raw: &Raw) -> Option<Self> {
        match raw.to_text()?.as_ref() {
            "get" => Some(Self::Get),
            "info" => Some(Self::Info),
            "call" => Some(Self::Call),
            "result" => Some(Self::Result),
            _ => None,
        }
    }

    fn quoted(self) -> &'static str {
        match self {
            Self::Get => r#""get""#,
            Self::Info => r#""info""#,
            Self::Call => r#""call""#,
            Self::Result => r#""result""#,
        }
    }
}

impl Version {
    pub const SPOKEN: Self = Self { major: 1, minor: 0, patch: 0 };

    pub fn parse(raw: &Raw) -> Option<Self> {
        match raw.kind() {
            Kind::Array => {
                let numbers: Vec<u64> = raw.elements()?.iter().map(Raw::u64).collect::<Option<_>>()?;
                let [major, minor, patch] = numbers.try_into().ok()?;
                Some(Self { major, minor, patch })
            }
            Kind::Object => {
                let number = |key: &str| raw.get(key).map_or(Some(0), |number| number.u64());
                raw.get("major")?;
                Some(Self { major: number("major")?, minor: number("minor")?, patch: number("patch")? })
            }
            _ => None,
        }
    }

    pub fn is_spoken(self) -> bool {
        self.major == Self::SPOKEN.major
    }
}

/// Returns whether something inside a message is of a version that is spoken here; one that says none is.
fn speaks(nested: &Raw) -> bool {
    nested.get("version").is_none_or(|version| {
        version.kind() == Kind::Null || Version::parse(&version).is_some_and(Version::is_spoken)
    })
}

fn versioned() -> RawObject {
    let mut object = RawObject::default();
    object.set("version", Raw::from_static(VERSION));
    object
}

/// Ids are whole numbers of any size, and echoed as they were spelled.
fn integer_id(raw: &Raw) -> Option<Id> {
    let is_whole = raw.kind() == Kind::Number && !raw.as_bytes().iter().any(|byte| b".eE".contains(byte));
    is_whole.then(|| Id::from_raw(raw)).flatten()
}

/// Returns a member that is a string, for people and models to read; others are taken as their JSON text, null as none.
fn text_of(object: &Raw, key: &str) -> Option<String> {
    let value = object.get(key).filter(|value| value.kind() != Kind::Null)?;
    Some(value.to_lossy_text().map_or_else(|| value.as_str().to_owned(), |text| text.into_owned()))
}

/// Returns a value as a JSON string: itself if it is one, else its JSON text as one.
fn as_string(value: &Raw) -> Raw {
    if value.kind() == Kind::String { value.clone() } else { Raw::string(value.as_str()) }
}
