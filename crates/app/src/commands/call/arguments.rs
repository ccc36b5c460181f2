//! Arguments of a tool as they are typed: `key=value` converted as the tool's schema says, `key:=json` sent as it is,
//! files by `@`, lists by repetition, objects by dots. What comes out is the JSON text that is sent, in the order given.

pub(crate) mod convert;
pub(crate) mod pair;
pub(crate) mod schema;
mod tree;

#[cfg(test)]
mod tests;

use manifold_protocol::Raw;

use convert::json;
use pair::{Pair, ReadFile, text_of};
use schema::{Member, Schema};
use tree::Members;

/// Everything that was given.
pub(crate) struct Typed<'a> {
    /// What stood in the brackets of a function form, by name and JSON.
    pub(crate) function: &'a [(String, String)],
    pub(crate) pairs: &'a [String],
    /// The value of `--args`: JSON, `@file`, or `-` for standard input.
    pub(crate) args: Option<&'a str>,
}

/// Why arguments cannot be sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("`{argument}` is no argument: write `name=value`, or `name:=JSON`")]
    NoValue { argument: String },
    #[error("`{argument}` has no name before its value")]
    NoName { argument: String },
    #[error("`{key}:=` takes JSON, and `{}` is none; a text is written `{key}=…`", cut(text))]
    NotJson { key: String, text: String },
    #[error("`{key}`: the file `{file}` cannot be read: {why}")]
    Unreadable { key: String, file: String, why: String },
    #[error("`{path}` takes {expected}, and `{}` is none", cut(text))]
    Misfit { path: String, text: String, expected: String },
    #[error("`{path}` is given more than once, and takes {expected}")]
    Repeated { path: String, expected: String },
    #[error("`{path}` has no members: it takes {expected}")]
    NoMembers { path: String, expected: String },
    #[error("`{key}`: `{name}` is given as a whole and member by member; write one or the other")]
    Clash { key: String, name: String },
    #[error("there is no argument `{path}`{}", suggestion(name, known))]
    Unknown { path: String, name: String, known: Vec<String> },
    #[error("{} missing", listed(names))]
    Missing { names: Vec<String> },
    #[error("--args takes a JSON object, such as '{{\"name\": 1}}', @file, or - for standard input")]
    NoObject,
}

/// Returns the arguments as JSON text.
pub(crate) fn build(typed: &Typed<'_>, schema: &Schema, read: ReadFile<'_>) -> Result<String, ArgumentError> {
    check_names(typed, schema)?;
    let base = typed.args.map(|args| base(args, read)).transpose()?;
    let mut members = match &base {
        Some(object) => Members::of(object).ok_or(ArgumentError::NoObject)?,
        None => Members::default(),
    };
    for (name, json) in typed.function {
        members.place(Pair::literal(name.clone(), json.clone()), schema)?;
    }
    for argument in typed.pairs {
        members.place(Pair::parse(argument, read)?, schema)?;
    }
    let written = members.write(schema, "")?;
    match base {
        // Nothing was put into it: not even its spaces change.
        Some(object) if typed.pairs.is_empty() && typed.function.is_empty() => Ok(object.as_str().to_owned()),
        _ => Ok(written),
    }
}

/// Says that an argument is not there before a file is read for it: somebody would type into standard input for nothing.
fn check_names(typed: &Typed<'_>, schema: &Schema) -> Result<(), ArgumentError> {
    for argument in typed.pairs {
        let Some(name) = pair::plain_name(argument) else { continue };
        if matches!(schema.member(&name), Member::Unknown) {
            let known = schema.members().into_iter().map(|(known, ..)| known).collect();
            return Err(ArgumentError::Unknown { path: name.clone(), name, known });
        }
    }
    Ok(())
}

fn base(args: &str, read: ReadFile<'_>) -> Result<Raw, ArgumentError> {
    let text = match args.strip_prefix('@') {
        Some(file) => text_of("--args", file, read)?,
        None if args == "-" => text_of("--args", args, read)?,
        None => args.to_owned(),
    };
    let json = json(&text).ok_or(ArgumentError::NoObject)?;
    Raw::parse(json).map_err(|_| ArgumentError::NoObject)
}

/// Returns enough of a text to know it by.
fn cut(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", quoted.join(", "))
}

fn suggestion(name: &str, known: &[String]) -> String {
    match manifold_config::most_alike(name, known.iter().map(String::as_str)) {
        Some(best) => format!("; did you mean `{best}`?"),
        None if known.is_empty() => "; none can be given".to_owned(),
        None => format!("; there are {}", known.join(", ")),
    }
}
