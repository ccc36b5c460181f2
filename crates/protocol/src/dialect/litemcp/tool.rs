use super::convert::{is_required, type_of};
use super::{TOOL_META, speaks, text_of, versioned};
use crate::members::litemcp;
use crate::raw::{Kind, Raw, RawObject};

/// The one tool of a server (S4-8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    pub name: String,
    pub description: Option<String>,
    pub example: Option<String>,
    /// In the order in which a call gives them.
    pub parameters: Vec<Parameter>,
}

/// One argument of a tool. Its type is a word for the model; what is sent is always a string.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameter {
    pub name: String,
    pub kind: String,
    pub description: Option<String>,
    pub example: Option<String>,
}

impl Tool {
    /// Reads a tool; `None` if it has no name for certain, or is of a version that is not spoken here.
    pub fn parse(raw: &Raw) -> Option<Self> {
        if litemcp::TOOL.flaw(raw).is_some() {
            return None;
        }
        let name = raw.get("name")?.to_text()?.into_owned();
        let parameters = match raw.get("parameters").filter(|list| list.kind() != Kind::Null) {
            Some(list) => list.elements()?.iter().map(Parameter::parse).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let tool = Self {
            name,
            description: text_of(raw, "description"),
            example: text_of(raw, "example"),
            parameters,
        };
        speaks(raw).then_some(tool)
    }

    pub fn encode(&self) -> Raw {
        let mut object = versioned();
        object.set("name", Raw::string(&self.name));
        set_texts(&mut object, self.description.as_deref(), self.example.as_deref());
        let parameters: Vec<Raw> = self.parameters.iter().map(Parameter::encode).collect();
        object.set("parameters", Raw::array(&parameters));
        object.into_raw()
    }

    /// Makes a tool of an MCP one; one that was made of a tool of LiteMCP becomes that again, under its present name.
    pub fn from_mcp(raw: &Raw) -> Option<Self> {
        let name = raw.get("name")?.to_text()?.into_owned();
        if let Some(original) = raw.path(&["_meta", TOOL_META]).as_ref().and_then(Self::parse) {
            return Some(Self { name, ..original });
        }
        let schema = raw.get("inputSchema").unwrap_or_else(|| Raw::from_static("{}"));
        let properties = schema.get("properties").and_then(|all| all.object()).unwrap_or_default();
        let parameters = properties
            .iter()
            .map(|(name, property)| Parameter::from_schema(&schema, &name, &property))
            .collect();
        let description = text_of(raw, "description").or_else(|| text_of(raw, "title"));
        Some(Self { name, description, example: None, parameters })
    }

    /// Writes the tool as MCP has it: its parameters are strings, all required, in their order (decision 28).
    pub fn to_mcp(&self) -> Raw {
        let mut properties = RawObject::default();
        for parameter in &self.parameters {
            properties.set(&parameter.name, parameter.to_schema());
        }
        let required: Vec<Raw> = properties.keys().map(|name| Raw::string(&name)).collect();
        let mut schema = RawObject::default();
        schema.set("type", Raw::from_static(r#""object""#));
        schema.set("properties", properties.into_raw());
        schema.set("required", Raw::array(&required));

        let mut tool = RawObject::default();
        tool.set("name", Raw::string(&self.name));
        if let Some(description) = with_notes(self.description.as_deref(), None, self.example.as_deref()) {
            tool.set("description", Raw::string(&description));
        }
        tool.set("inputSchema", schema.into_raw());
        let mut meta = RawObject::default();
        meta.set(TOOL_META, self.encode());
        tool.set("_meta", meta.into_raw());
        tool.into_raw()
    }
}

impl Parameter {
    fn parse(raw: &Raw) -> Option<Self> {
        Some(Self {
            name: raw.get("name")?.to_text()?.into_owned(),
            kind: text_of(raw, "type").unwrap_or_else(|| "string".to_owned()),
            description: text_of(raw, "description"),
            example: text_of(raw, "example"),
        })
    }

    fn encode(&self) -> Raw {
        let mut object = RawObject::default();
        object.set("name", Raw::string(&self.name));
        object.set("type", Raw::string(&self.kind));
        set_texts(&mut object, self.description.as_deref(), self.example.as_deref());
        object.into_raw()
    }

    fn from_schema(schema: &Raw, name: &str, property: &Raw) -> Self {
        let example = property
            .get("examples")
            .and_then(|examples| examples.elements()?.into_iter().next())
            .or_else(|| property.get("example"))
            .or_else(|| property.get("default"))
            .filter(|example| example.kind() != Kind::Null);
        let mut description = text_of(property, "description").or_else(|| text_of(property, "title"));
        if let Some(choices) = property.get("enum") {
            push_note(&mut description, &format!("one of {choices}"));
        }
        if !is_required(schema, name) {
            push_note(&mut description, "optional");
        }
        Self {
            name: name.to_owned(),
            kind: type_of(schema, property),
            description,
            example: example.map(|example| match example.to_lossy_text() {
                Some(text) => text.into_owned(),
                None => example.as_str().to_owned(),
            }),
        }
    }

    fn to_schema(&self) -> Raw {
        let mut property = RawObject::default();
        property.set("type", Raw::from_static(r#""string""#));
        let kind = (!self.kind.is_empty()).then_some(&*self.kind);
        if let Some(description) = with_notes(self.description.as_deref(), kind, self.example.as_deref()) {
            property.set("description", Raw::string(&description));
        }
        property.into_raw()
    }
}

fn set_texts(object: &mut RawObject, description: Option<&str>, example: Option<&str>) {
    for (key, text) in [("description", description), ("example", example)] {
        if let Some(text) = text {
            object.set(key, Raw::string(text));
        }
    }
}

fn with_notes(description: Option<&str>, kind: Option<&str>, example: Option<&str>) -> Option<String> {
    let kind = kind.map(|kind| format!("type: {kind}"));
    let example = example.map(|example| format!("example: {example}"));
    let notes: Vec<String> = [kind, example].into_iter().flatten().collect();
    let mut description = description.map(str::to_owned);
    if !notes.is_empty() {
        push_note(&mut description, &notes.join("; "));
    }
    description
}

fn push_note(description: &mut Option<String>, note: &str) {
    let text = description.get_or_insert_default();
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&format!("({note})"));
}
