//! What a request says in its HTTP headers as well, so that whoever stands in between can read it without the body.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::method::Method;
use crate::raw::{Kind, Raw};

pub const VERSION: &str = "mcp-protocol-version";
pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const PARAM_PREFIX: &str = "mcp-param-";

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";
/// How deep a schema is looked into for arguments that go into headers.
const MAX_DEPTH: usize = 16;

/// Writes text as a header value: as it is where that is safe, else wrapped.
pub fn encode(text: &str) -> Cow<'_, str> {
    let visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let trimmed = !text.starts_with(' ') && !text.ends_with(' ');
    if visible && trimmed && !looks_wrapped(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{OPENING}{}{CLOSING}", BASE64_STANDARD.encode(text)))
}

/// Reads a header value; `None` if it is wrapped and cannot be unwrapped.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?;
    if !looks_wrapped(text) {
        return Some(Cow::Borrowed(text));
    }
    let inner = text.get(OPENING.len()..text.len() - CLOSING.len())?;
    let bytes = BASE64_STANDARD.decode(inner).ok()?;
    Some(Cow::Owned(String::from_utf8(bytes).ok()?))
}

fn looks_wrapped(text: &str) -> bool {
    text.len() >= OPENING.len() + CLOSING.len() && text.starts_with(OPENING) && text.ends_with(CLOSING)
}

/// Returns what `Mcp-Name` must say for a request, if it must say anything.
pub fn name_of(method: &Method, params: Option<&Raw>) -> Option<String> {
    let key = match method {
        Method::ToolsCall | Method::PromptsGet => "name",
        Method::ResourcesRead => "uri",
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => "taskId",
        _ => return None,
    };
    Some(params?.get(key)?.to_text()?.into_owned())
}

/// An argument that must be said in a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The header's name after its prefix, as the schema spells it.
    pub header: String,
    /// The names of properties that lead to it.
    pub path: Vec<String>,
}

impl Mirror {
    /// Returns the whole name of the header, in lower case.
    pub fn header_name(&self) -> String {
        format!("{PARAM_PREFIX}{}", self.header.to_ascii_lowercase())
    }

    /// Returns the argument's value as a header has it; `None` where there is nothing to say.
    pub fn value(&self, arguments: Option<&Raw>) -> Option<String> {
        let argument = self.argument(arguments)?;
        match argument.kind() {
            // What is no text cannot be said in a header.
            Kind::String => argument.to_text().map(Cow::into_owned),
            _ => Some(argument.as_str().to_owned()),
        }
    }

    /// Returns the argument itself where a header must say it.
    pub fn argument(&self, arguments: Option<&Raw>) -> Option<Raw> {
        let value = self.path.iter().try_fold(arguments?.clone(), |value, key| value.get(key))?;
        matches!(value.kind(), Kind::String | Kind::Number | Kind::Bool).then_some(value)
    }

    /// Returns whether a header says what the argument says; numbers, and only they, are compared as such.
    pub fn agrees(said: &str, argument: &Raw) -> bool {
        let value = argument.as_str();
        match argument.kind() {
            Kind::String => argument.to_text().is_some_and(|text| text == said),
            Kind::Number => match (said.parse::<i128>(), value.parse::<i128>()) {
                // Large ones would run together as floats.
                (Ok(said), Ok(value)) => said == value,
                _ => matches!((said.parse::<f64>(), value.parse::<f64>()), (Ok(a), Ok(b)) if a == b),
            },
            Kind::Bool | Kind::Null | Kind::Array | Kind::Object => said == value,
        }
    }
}

/// Finds the arguments of a tool that must be said in headers too. The error says why the tool is not valid.
pub fn mirrors(input_schema: &Raw) -> Result<Vec<Mirror>, String> {
    let mut found = Vec::new();
    // Almost no schema has any.
    if memchr::memmem::find(input_schema.as_bytes(), b"x-mcp-header").is_none() {
        return Ok(found);
    }
    look(input_schema, &mut Vec::new(), Reach::Root, &mut found)?;
    let mut names: Vec<String> = found.iter().map(Mirror::header_name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two arguments claim the header `{}`", pair[0])),
        None => Ok(found),
    }
}

/// How a part of the schema was come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Root,
    /// Through `properties` alone: a header may be asked for here.
    Property,
    /// Through anything else: not here.
    Elsewhere,
}

fn look(schema: &Raw, path: &mut Vec<String>, reach: Reach, found: &mut Vec<Mirror>) -> Result<(), String> {
    if path.len() > MAX_DEPTH {
        return Err("the schema is nested too deep".to_owned());
    }
    if let Some(elements) = schema.elements() {
        return elements.iter().try_for_each(|one| look(one, path, Reach::Elsewhere, found));
    }
    let Some(object) = schema.object() else { return Ok(()) };
    if let Some(header) = object.get("x-mcp-header") {
        if reach != Reach::Property {
            return Err("`x-mcp-header` may stand on a property only".to_owned());
        }
        let header = header.to_text().map(Cow::into_owned).unwrap_or_default();
        if header.is_empty() || !header.bytes().all(is_token) {
            return Err(format!("`{header}` cannot be the name of a header"));
        }
        let kind = object.get("type");
        let kind = kind.as_ref().and_then(|kind| kind.to_text());
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(format!("the argument for the header `{header}` is no string, integer or boolean"));
        }
        found.push(Mirror { header, path: path.clone() });
    }
    for (key, value) in object.iter() {
        match &*key {
            "properties" => {
                let Some(properties) = value.object() else { continue };
                let reach = if reach == Reach::Elsewhere { Reach::Elsewhere } else { Reach::Property };
                for (name, property) in properties.iter() {
                    path.push(name.into_owned());
                    look(&property, path, reach, found)?;
                    path.pop();
                }
            }
            // Data, not schemas.
            "x-mcp-header" | "default" | "enum" | "const" | "examples" => {}
            _ => {
                path.push(key.into_owned());
                look(&value, path, Reach::Elsewhere, found)?;
                path.pop();
            }
        }
    }
    Ok(())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
