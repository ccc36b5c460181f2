//! Strings ⇄ JSON values, by a tool's `inputSchema`.

use crate::raw::{Kind, Raw, RawObject};

/// How many references are followed to find out what a property is.
const MAX_REFERENCES: usize = 8;
const KINDS: [(&str, Kind); 7] = [
    ("string", Kind::String),
    ("number", Kind::Number),
    ("integer", Kind::Number),
    ("boolean", Kind::Bool),
    ("object", Kind::Object),
    ("array", Kind::Array),
    ("null", Kind::Null),
];

/// The arguments of one call, both ways they are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// What the tool gets: an object of values as its schema wants them.
    pub values: Raw,
    /// What the caller gave, by name, as strings.
    pub params: Raw,
}

/// Why strings are no arguments of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("{given} arguments were given, but there are {wanted} parameters: {names}")]
    TooMany { given: usize, wanted: usize, names: String },
    #[error("only {given} arguments were given, and '{missing}' is required; the parameters are: {names}")]
    TooFew { given: usize, missing: String, names: String },
    #[error("argument '{name}' is not of type {wanted}")]
    WrongType { name: String, wanted: String },
    #[error("argument '{0}' is missing")]
    Missing(String),
}

impl Arguments {
    /// Gives names and types to strings, which come in the order of the schema's properties.
    ///
    /// Those at the end may be left out if none of them is required.
    pub fn convert(schema: &Raw, given: &[Raw]) -> Result<Self, ArgumentError> {
        let properties = schema.get("properties").and_then(|all| all.object()).unwrap_or_default();
        let mut values = RawObject::default();
        let names = || properties.keys().collect::<Vec<_>>().join(", ");
        if given.len() > properties.len() {
            let wanted = properties.len();
            return Err(ArgumentError::TooMany { given: given.len(), wanted, names: names() });
        }
        let mut given_left = given.iter();
        for (name, property) in properties.iter() {
            let required = is_required(schema, &name);
            let Some(text) = given_left.next() else {
                if required {
                    let missing = name.into_owned();
                    return Err(ArgumentError::TooFew { given: given.len(), missing, names: names() });
                }
                continue;
            };
            match convert(schema, &property, text) {
                Some(value) => values.set(&name, value),
                // The only way to leave out an argument that others follow.
                None if !required && text.as_bytes() == br#""""# => {}
                None => {
                    let wanted = type_of(schema, &property);
                    return Err(ArgumentError::WrongType { name: name.into_owned(), wanted });
                }
            }
        }
        Ok(Self { values: values.into_raw(), params: named(schema, given) })
    }
}

/// Tells strings by the names they would have, as far as there are names for them.
pub fn named(schema: &Raw, given: &[Raw]) -> Raw {
    let properties = schema.get("properties").and_then(|all| all.object()).unwrap_or_default();
    let mut params = RawObject::default();
    for (name, text) in properties.keys().zip(given) {
        params.set(&name, text.clone());
    }
    params.into_raw()
}

pub(super) fn is_required(schema: &Raw, name: &str) -> bool {
    let names = schema.get("required").and_then(|names| names.elements()).unwrap_or_default();
    names.iter().any(|one| one.to_text().as_deref() == Some(name))
}

/// Returns the words for what a property may be.
pub(super) fn type_of(schema: &Raw, property: &Raw) -> String {
    let words = words_of(schema, property, MAX_REFERENCES);
    if words.is_empty() { "any".to_owned() } else { words.join(" or ") }
}

/// Reads a string as what its property may be. A value keeps the spelling of the text.
fn convert(schema: &Raw, property: &Raw, text: &Raw) -> Option<Raw> {
    let words = words_of(schema, property, MAX_REFERENCES);
    let allows = |kind: Kind| words.is_empty() || words.iter().any(|word| kind_of(word) == Some(kind));
    if !words.is_empty() && words.iter().all(|word| kind_of(word) == Some(Kind::String)) {
        return Some(text.clone());
    }
    let plain = text.to_lossy_text()?;
    let value = Raw::parse(plain.trim().to_owned()).ok().or_else(|| word_in_capitals(&plain));
    match value {
        Some(value) if value.kind() != Kind::String && allows(value.kind()) => Some(value),
        _ => allows(Kind::String).then(|| text.clone()),
    }
}

/// Models that think in Python write `True`.
fn word_in_capitals(text: &str) -> Option<Raw> {
    let word = text.trim().to_ascii_lowercase();
    ["true", "false", "null"].into_iter().find(|one| *one == word).map(Raw::from_static)
}

fn kind_of(word: &str) -> Option<Kind> {
    KINDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
}

/// Gathers the types of a schema: its own, those of its alternatives, those of its values, or those it refers to.
fn words_of(root: &Raw, schema: &Raw, references: usize) -> Vec<String> {
    let texts = |list: &[Raw]| list.iter().filter_map(|one| Some(one.to_text()?.into_owned())).collect();
    if let Some(word) = schema.get("type") {
        return match word.elements() {
            Some(list) => texts(&list),
            None => texts(&[word]),
        };
    }
    if references == 0 {
        return Vec::new();
    }
    if let Some(found) = schema.get("$ref").and_then(|reference| resolve(root, &reference)) {
        return words_of(root, &found, references - 1);
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.elements());
    if let Some(alternatives) = alternatives {
        let mut words: Vec<String> = Vec::new();
        for alternative in &alternatives {
            for word in words_of(root, alternative, references - 1) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        return words;
    }
    let values = schema.get("enum").and_then(|values| values.elements());
    let values = values.or_else(|| Some(vec![schema.get("const")?])).unwrap_or_default();
    let mut words = Vec::new();
    for value in &values {
        let word = KINDS.iter().find(|(_, kind)| *kind == value.kind()).map(|(word, _)| (*word).to_owned());
        words.extend(word.filter(|word| !words.contains(word)));
    }
    words
}

/// Follows a reference within the schema itself.
fn resolve(root: &Raw, reference: &Raw) -> Option<Raw> {
    let reference = reference.to_text()?;
    let mut keys = reference.strip_prefix("#/")?.split('/');
    keys.try_fold(root.clone(), |schema, key| schema.get(&key.replace("~1", "/").replace("~0", "~")))
}
