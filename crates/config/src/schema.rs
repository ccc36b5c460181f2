//! The JSON Schema of the configuration file, written from the same table the file is checked with.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::keys::table::TOP;
use crate::keys::{Key, Kind, Range, Section};

/// Returns the schema of every format we read, as pretty JSON (draft 2020-12).
pub fn schema() -> String {
    let mut definitions = Map::new();
    let mut root = object(&TOP, &mut definitions);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Manifold configuration");
    root["$defs"] = Value::Object(definitions);
    format!("{root:#}\n")
}

fn object(section: &Section, definitions: &mut Map<String, Value>) -> Value {
    let properties: Map<String, Value> =
        section.keys.iter().map(|key| (key.name.to_owned(), property(key, definitions))).collect();
    json!({
        "type": "object",
        "description": section.about,
        "properties": properties,
        // Unknown keys only draw a warning from us; an editor should draw it too.
        "additionalProperties": false,
    })
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = kind(&key.kind, definitions);
    let default = if key.default.is_empty() { String::new() } else { format!(" Default: {}.", key.default) };
    schema["description"] = json!(format!("{}{default}", key.about));
    schema
}

fn kind(kind_: &Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind_ {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string"}),
        // A placeholder may stand for any choice.
        Kind::Choice(choices) => {
            json!({"anyOf": [{"enum": choices}, {"type": "string", "pattern": "\\$\\{.+\\}"}]})
        }
        Kind::Number(Range { min, max, .. }) => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Size => json!({"anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^[0-9]+ ?[KMGTkmgt]?[Ii]?[Bb]?$"},
        ]}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::TextMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::FlagMap => json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        Kind::Members => json!({"type": "object"}),
        Kind::Section(section) => reference(section, definitions),
        Kind::Map(section) => {
            json!({"type": "object", "additionalProperties": reference(section, definitions)})
        }
        Kind::List(section) => json!({"type": "array", "items": reference(section, definitions)}),
        Kind::OneOf(kinds) => {
            let kinds: Vec<_> = kinds.iter().map(|one| kind(one, definitions)).collect();
            json!({"anyOf": kinds})
        }
        Kind::Unused => json!({}),
    }
}

fn reference(section: &Section, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(section.name) {
        // Holds the place, so that a section that contains itself would end here.
        definitions.insert(section.name.to_owned(), Value::Null);
        let schema = object(section, definitions);
        definitions.insert(section.name.to_owned(), schema);
    }
    json!({"$ref": format!("#/$defs/{}", section.name)})
}
