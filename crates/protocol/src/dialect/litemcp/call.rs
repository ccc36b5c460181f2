use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use super::convert::ArgumentError;
use super::{TYPE_META, Tool, as_string, speaks, text_of, versioned};
use crate::members::litemcp;
use crate::raw::{Kind, Raw, RawObject};

/// A request to use the tool (S4-9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    pub tool: String,
    /// JSON strings, in the order of the tool's parameters.
    pub arguments: Vec<Raw>,
    /// Whether it is of a version that is spoken here.
    pub is_spoken: bool,
}

/// What a call came to (S4-9, S4-11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// An object: each argument by its parameter's name.
    pub params: Raw,
    pub content: Vec<Item>,
    pub error: bool,
}

/// One piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub kind: String,
    /// A JSON string; its bytes go through as they came.
    pub data: Raw,
}

impl ToolCall {
    /// Writes down a call of a tool with the arguments of an MCP call; values that are no strings go as their JSON.
    pub fn positional(tool: &Tool, arguments: Option<&Raw>) -> Result<Self, ArgumentError> {
        let given = arguments.and_then(|arguments| arguments.object()).unwrap_or_default();
        let argument = |name: &str| given.get(name).ok_or_else(|| ArgumentError::Missing(name.to_owned()));
        let texts = tool.parameters.iter().map(|parameter| Ok(as_string(&argument(&parameter.name)?)));
        Ok(Self { tool: tool.name.clone(), arguments: texts.collect::<Result<_, _>>()?, is_spoken: true })
    }

    /// Reads a call; `None` if it names no tool or its arguments are no list, or nobody can tell which.
    pub fn parse(raw: &Raw) -> Option<Self> {
        if litemcp::CALL.flaw(raw).is_some() {
            return None;
        }
        let arguments = match raw.get("arguments").filter(|list| list.kind() != Kind::Null) {
            Some(list) => list.elements()?.iter().map(as_string).collect(),
            None => Vec::new(),
        };
        Some(Self { tool: raw.get("tool")?.to_text()?.into_owned(), arguments, is_spoken: speaks(raw) })
    }

    pub fn encode(&self) -> Raw {
        let mut object = versioned();
        object.set("tool", Raw::string(&self.tool));
        object.set("arguments", Raw::array(&self.arguments));
        object.into_raw()
    }
}

impl CallResult {
    /// A call that failed, and why.
    pub fn failure(params: Option<Raw>, why: &str) -> Self {
        let params = params.unwrap_or_else(|| Raw::from_static("{}"));
        Self { params, content: vec![Item::text(Raw::string(why))], error: true }
    }

    pub fn parse(raw: &Raw) -> Option<Self> {
        if litemcp::RESULT.flaw(raw).is_some() {
            return None;
        }
        let response = raw.get("response")?;
        let items = match response.get("content").filter(|items| items.kind() != Kind::Null) {
            Some(items) => items.elements()?.iter().map(Item::parse).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let params = raw.get("params").filter(|params| params.kind() == Kind::Object);
        let result = Self {
            params: params.unwrap_or_else(|| Raw::from_static("{}")),
            content: items,
            error: response.get("error").and_then(|error| error.bool()).unwrap_or(false),
        };
        speaks(raw).then_some(result)
    }

    pub fn encode(&self) -> Raw {
        let items: Vec<Raw> = self.content.iter().map(Item::encode).collect();
        let mut response = RawObject::default();
        response.set("content", Raw::array(&items));
        response.set("error", Raw::boolean(self.error));
        let mut object = versioned();
        object.set("params", self.params.clone());
        object.set("response", response.into_raw());
        object.into_raw()
    }

    /// Makes an MCP CallToolResult a result of LiteMCP: each piece of its content is an item, and so is its structured
    /// content.
    pub fn from_mcp(params: Raw, result: &Raw) -> Self {
        let blocks = result.get("content").and_then(|content| content.elements()).unwrap_or_default();
        let mut content: Vec<Item> = blocks.iter().map(Item::from_mcp).collect();
        if let Some(structured) = result.get("structuredContent") {
            content.push(Item { kind: "structured".to_owned(), data: Raw::string(structured.as_str()) });
        }
        let error = result.get("isError").and_then(|error| error.bool()).unwrap_or(false);
        Self { params, content, error }
    }

    /// Writes the result as MCP has it: items are text blocks that remember their type (decision 28).
    pub fn to_mcp(&self) -> Raw {
        let blocks: Vec<Raw> = self.content.iter().map(Item::to_mcp).collect();
        let mut result = RawObject::default();
        result.set("content", Raw::array(&blocks));
        result.set("isError", Raw::boolean(self.error));
        result.into_raw()
    }
}

impl Item {
    fn text(data: Raw) -> Self {
        Self { kind: "text".to_owned(), data }
    }

    fn parse(raw: &Raw) -> Option<Self> {
        let kind = text_of(raw, "type").unwrap_or_else(|| "text".to_owned());
        Some(Self { kind, data: as_string(&raw.get("data")?) })
    }

    fn encode(&self) -> Raw {
        let mut object = RawObject::default();
        object.set("type", Raw::string(&self.kind));
        object.set("data", self.data.clone());
        object.into_raw()
    }

    /// Text goes as it is, pictures and sound as `data:` URIs, all else as its JSON.
    fn from_mcp(block: &Raw) -> Self {
        let kind = text_of(block, "type").unwrap_or_else(|| "text".to_owned());
        let string = |key: &str| block.get(key).filter(|value| value.kind() == Kind::String);
        let whole = || Raw::string(block.as_str());
        let data = match &*kind {
            "text" => {
                let kind = block.path(&["_meta", TYPE_META]);
                let kind = kind.as_ref().and_then(|kind| kind.to_text()).unwrap_or(Cow::Borrowed("text"));
                let data = string("text").unwrap_or_else(whole);
                return Self { kind: kind.into_owned(), data };
            }
            "image" | "audio" => match (string("data"), string("mimeType")) {
                (Some(data), Some(mime)) => data_uri(&mime, &data),
                _ => whole(),
            },
            "resource" => block.get("resource").map_or_else(whole, |resource| Raw::string(resource.as_str())),
            _ => whole(),
        };
        Self { kind, data }
    }

    fn to_mcp(&self) -> Raw {
        let mut meta = RawObject::default();
        meta.set(TYPE_META, Raw::string(&self.kind));
        let mut block = RawObject::default();
        block.set("type", Raw::from_static(r#""text""#));
        block.set("text", self.data.clone());
        block.set("_meta", meta.into_raw());
        block.into_raw()
    }
}

/// Puts two JSON strings together as they are spelled: what is between their quotes stays valid between others.
fn data_uri(mime: &Raw, base64: &Raw) -> Raw {
    let inner = |string: &Raw| string.bytes().slice(1..string.as_bytes().len() - 1);
    let mut uri = BytesMut::with_capacity(mime.as_bytes().len() + base64.as_bytes().len() + 16);
    uri.put_slice(b"\"data:");
    uri.put_slice(&inner(mime));
    uri.put_slice(b";base64,");
    uri.put_slice(&inner(base64));
    uri.put_u8(b'"');
    Raw::trusted(uri.freeze())
}
