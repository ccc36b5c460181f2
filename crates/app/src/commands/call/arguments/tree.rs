//! What was given, put in its places: first where each argument goes, then how each is written.

use manifold_protocol::Raw;

use super::ArgumentError;
use super::convert::{convert, expected, fits};
use super::pair::{Given, Pair};
use super::schema::{Kind, Member, Schema};

/// An object of arguments, its members in the order they were first named.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Node)>);

#[derive(Debug)]
enum Node {
    /// Of `--args`: as it was written there, until something is said of the same name.
    Base(Raw),
    /// One value, or the elements of a list.
    Values(Vec<Given>),
    Members(Members),
}

impl Members {
    /// Takes over an object of JSON.
    pub(super) fn of(object: &Raw) -> Option<Self> {
        let object = object.object()?;
        Some(Self(object.iter().map(|(name, value)| (name.into_owned(), Node::Base(value))).collect()))
    }

    /// Puts one argument in its place.
    pub(super) fn place(&mut self, pair: Pair, schema: &Schema) -> Result<(), ArgumentError> {
        let Pair { key, steps, value } = pair;
        self.place_at(&key, &steps, value, schema)
    }

    fn place_at(
        &mut self,
        key: &str,
        steps: &[String],
        value: Given,
        schema: &Schema,
    ) -> Result<(), ArgumentError> {
        let (name, rest, below) = first_name(steps, schema);
        let clash = || ArgumentError::Clash { key: key.to_owned(), name: name.clone() };
        let at = self.0.iter().position(|(known, _)| *known == name);
        if rest.is_empty() {
            match at.and_then(|at| self.0.get_mut(at)) {
                None => self.0.push((name, Node::Values(vec![value]))),
                Some((_, node @ Node::Base(_))) => *node = Node::Values(vec![value]),
                Some((_, Node::Values(values))) => values.push(value),
                Some((_, Node::Members(_))) => return Err(clash()),
            }
            return Ok(());
        }
        let at = at.unwrap_or_else(|| {
            self.0.push((name.clone(), Node::Members(Self::default())));
            self.0.len() - 1
        });
        let Some((_, node)) = self.0.get_mut(at) else { return Err(clash()) };
        if let Node::Base(value) = node {
            *node = Node::Members(Self::of(value).ok_or_else(clash)?);
        }
        match node {
            Node::Members(members) => members.place_at(key, rest, value, &below),
            _ => Err(clash()),
        }
    }

    /// Writes the object.
    pub(super) fn write(&self, schema: &Schema, path: &str) -> Result<String, ArgumentError> {
        let mut text = String::from("{");
        for (name, node) in &self.0 {
            let path = joined(path, name);
            let below = match schema.member(name) {
                Member::Declared(below) | Member::Extra(below) => below,
                Member::Unknown => {
                    let known = schema.members().into_iter().map(|(known, ..)| known).collect();
                    return Err(ArgumentError::Unknown { path, name: name.clone(), known });
                }
            };
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(Raw::string(name).as_str());
            text.push(':');
            text.push_str(&node.write(&below, &path)?);
        }
        text.push('}');
        let given: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        let missing = schema.missing(&given);
        if missing.is_empty() {
            return Ok(text);
        }
        Err(ArgumentError::Missing { names: missing.iter().map(|name| joined(path, name)).collect() })
    }
}

impl Node {
    fn write(&self, schema: &Schema, path: &str) -> Result<String, ArgumentError> {
        match self {
            Self::Base(value) => write_typed(value.as_str(), schema, path),
            Self::Members(members) if schema.takes(Kind::Object) => members.write(schema, path),
            Self::Members(_) => {
                Err(ArgumentError::NoMembers { path: path.to_owned(), expected: expected(schema) })
            }
            Self::Values(values) => match values.as_slice() {
                [value] => write_value(value, schema, path),
                values if schema.takes(Kind::Array) => {
                    let items = schema.items();
                    let written: Result<Vec<String>, _> =
                        values.iter().map(|value| write_value(value, &items, path)).collect();
                    Ok(format!("[{}]", written?.join(",")))
                }
                _ => Err(ArgumentError::Repeated { path: path.to_owned(), expected: expected(schema) }),
            },
        }
    }
}

fn write_value(value: &Given, schema: &Schema, path: &str) -> Result<String, ArgumentError> {
    match value {
        Given::Json(json) => Ok(json.clone()),
        Given::Typed(json) => write_typed(json, schema, path),
        Given::Text(text) => convert(text, schema).ok_or_else(|| ArgumentError::Misfit {
            path: path.to_owned(),
            text: text.clone(),
            expected: expected(schema),
        }),
    }
}

/// Writes JSON that came with a type of its own.
fn write_typed(json: &str, schema: &Schema, path: &str) -> Result<String, ArgumentError> {
    let fits = Raw::parse(json.to_owned()).is_ok_and(|value| fits(&value, schema));
    let misfit =
        || ArgumentError::Misfit { path: path.to_owned(), text: json.to_owned(), expected: expected(schema) };
    if fits { Ok(json.to_owned()) } else { Err(misfit()) }
}

/// Returns the name the first steps of a key make, the steps after it, and the schema of what it names. A declared name
/// may have dots of its own, and the longest that is declared is meant.
fn first_name<'a>(steps: &'a [String], schema: &Schema) -> (String, &'a [String], Schema) {
    for count in (1..=steps.len()).rev() {
        let (first, rest) = steps.split_at(count);
        let name = first.join(".");
        match schema.member(&name) {
            Member::Declared(below) => return (name, rest, below),
            Member::Extra(below) if count == 1 => return (name, rest, below),
            _ => {}
        }
    }
    let (first, rest) = steps.split_at(1.min(steps.len()));
    (first.concat(), rest, Schema::silent())
}

/// Returns a key as one would type it.
fn joined(path: &str, name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('.', "\\.").replace('=', "\\=");
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
