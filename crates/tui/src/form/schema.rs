//! From a JSON schema to fields.

use super::field::{Field, Kind};
use super::json;

/// How deep references are followed: a schema may refer to itself.
const MAX_REFERENCES: usize = 8;

/// Returns the fields of an object, in the schema's order.
pub(super) fn fields(schema: &str) -> Vec<Field> {
    let whole = resolved(schema, schema);
    let required =
        json::member(&whole, "required").and_then(|list| json::elements(&list)).unwrap_or_default();
    let required: Vec<String> = required.iter().filter_map(|name| json::text(name)).collect();
    let properties = json::member(&whole, "properties").and_then(|text| json::members(&text).ok());
    let field = |(name, property): (String, String)| {
        let property = resolved(&property, schema);
        let about = |member| json::member(&property, member).and_then(|text| json::text(&text));
        let (kind, is_nullable) = kind(&property, schema);
        Field {
            is_required: required.contains(&name),
            is_nullable,
            about: about("description").or_else(|| about("title")).unwrap_or_default(),
            default: json::member(&property, "default"),
            ..Field::new(&name, kind)
        }
    };
    // What `false` stands for must not be there.
    let may_be = |(_, property): &(String, String)| property.trim() != "false";
    properties.unwrap_or_default().into_iter().filter(may_be).map(field).collect()
}

/// Follows a reference within the schema; any other is left alone.
fn resolved(schema: &str, whole: &str) -> String {
    let mut schema = schema.to_owned();
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = json::member(&schema, "$ref").and_then(|text| json::text(&text)) else { break };
        let Some(path) = reference.strip_prefix("#/") else { break };
        let step =
            |at: Option<String>, name: &str| json::member(&at?, &name.replace("~1", "/").replace("~0", "~"));
        let Some(found) = path.split('/').fold(Some(whole.to_owned()), step) else { break };
        schema = found;
    }
    schema
}

/// Returns what kind of value it takes, and whether it takes `null`.
fn kind(property: &str, whole: &str) -> (Kind, bool) {
    if let Some(constant) = json::member(property, "const") {
        return (Kind::Choice(vec![constant]), false);
    }
    if let Some(values) = json::member(property, "enum").and_then(|list| json::elements(&list)) {
        let is_nullable = values.iter().any(|value| value == "null");
        return (Kind::Choice(values.into_iter().filter(|value| value != "null").collect()), is_nullable);
    }
    for several in ["anyOf", "oneOf"] {
        let branches = json::member(property, several).and_then(|list| json::elements(&list));
        let Some(branches) = branches else { continue };
        let branches: Vec<String> = branches.iter().map(|branch| resolved(branch, whole)).collect();
        let is_null = |branch: &&String| type_of(branch).as_deref() == Some("null");
        let is_nullable = branches.iter().any(|branch| is_null(&branch));
        let rest: Vec<&String> = branches.iter().filter(|branch| !is_null(branch)).collect();
        return match rest.as_slice() {
            [only] => (kind(only, whole).0, is_nullable),
            // Constants with titles are a choice as well.
            several => {
                let constants = several.iter().map(|branch| json::member(branch, "const"));
                let constants: Option<Vec<String>> = constants.collect();
                (constants.map_or(Kind::Json, Kind::Choice), is_nullable)
            }
        };
    }
    let types = match json::member(property, "type") {
        Some(list) if list.starts_with('[') => {
            let types = json::elements(&list).unwrap_or_default();
            types.iter().filter_map(|one| json::text(one)).collect()
        }
        Some(one) => json::text(&one).into_iter().collect(),
        None => Vec::new(),
    };
    let is_nullable = types.iter().any(|one| one == "null");
    let rest: Vec<&str> = types.iter().map(String::as_str).filter(|one| *one != "null").collect();
    let kind = match rest.as_slice() {
        ["string"] => Kind::Text { is_secret: is_secret(property) },
        ["integer"] => Kind::Integer,
        ["number"] => Kind::Number,
        ["boolean"] => Kind::Flag,
        _ => Kind::Json,
    };
    (kind, is_nullable)
}

fn type_of(schema: &str) -> Option<String> {
    json::member(schema, "type").and_then(|text| json::text(&text))
}

fn is_secret(property: &str) -> bool {
    let is = |member, value: &str| json::member(property, member).as_deref() == Some(value);
    is("format", "\"password\"") || is("writeOnly", "true")
}
