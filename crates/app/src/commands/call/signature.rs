//! A tool in one line, and how to call it: what is shown to whoever called it wrongly.

use super::arguments::convert::shown;
use super::arguments::schema::{Branch, Kind, Schema};

/// More options than these are not told apart at a glance.
const MAX_OPTIONS: usize = 8;
const MAX_LISTS: usize = 4;

/// Returns a tool with the names and types of its arguments: `time__convert(time: string, zone?: string)`.
pub(crate) fn signature(name: &str, schema: &Schema) -> String {
    let argument = |(name, schema, required): (String, Schema, bool)| {
        let mark = if required { "" } else { "?" };
        format!("{name}{mark}: {}", type_of(&schema, MAX_LISTS))
    };
    let arguments: Vec<String> = schema.members().into_iter().map(argument).collect();
    format!("{name}({})", arguments.join(", "))
}

/// Returns a command line that would do: every required argument, or else the first there is.
pub(crate) fn example(verb: &str, name: &str, schema: &Schema) -> String {
    let mut members = schema.members();
    if members.iter().any(|(.., required)| *required) {
        members.retain(|(.., required)| *required);
    } else {
        members.truncate(1);
    }
    let mut line = format!("manifold {verb} {name}");
    for (name, schema, _) in members {
        line.push(' ');
        line.push_str(&quoted(&assignment(&name.replace('.', "\\."), &schema)));
    }
    line
}

fn type_of(schema: &Schema, lists: usize) -> String {
    let mut types: Vec<String> = Vec::new();
    for branch in schema.branches() {
        for one in types_of(&branch, schema, lists) {
            if !types.contains(&one) {
                types.push(one);
            }
        }
    }
    types.join(" | ")
}

fn types_of(branch: &Branch, schema: &Schema, lists: usize) -> Vec<String> {
    if let Some(options) = branch.options() {
        let mut shown: Vec<String> =
            options.iter().take(MAX_OPTIONS).map(|option| option.as_str().to_owned()).collect();
        if options.len() > MAX_OPTIONS {
            shown.push("…".to_owned());
        }
        return shown;
    }
    let of_kind = |kind: Kind| match kind {
        Kind::Array if lists == 0 => "array".to_owned(),
        Kind::Array => match type_of(&schema.items(), lists - 1) {
            items if items.contains(' ') => format!("({items})[]"),
            items => format!("{items}[]"),
        },
        kind => kind.word().to_owned(),
    };
    match branch.kinds() {
        kinds if kinds.is_empty() => vec!["any".to_owned()],
        kinds => kinds.into_iter().map(of_kind).collect(),
    }
}

/// Returns an argument with a value that would be taken.
fn assignment(name: &str, schema: &Schema) -> String {
    let examples = schema.value("examples").and_then(|examples| examples.elements()?.first().cloned());
    let options = schema.branches().iter().find_map(Branch::options);
    let known = schema.value("default").or(examples).or_else(|| options?.first().cloned());
    if let Some(value) = known {
        let is_plain = !value.as_str().starts_with(['{', '[']);
        return if is_plain { format!("{name}={}", shown(&value)) } else { format!("{name}:={value}") };
    }
    let kinds: Vec<Kind> = schema.branches().iter().flat_map(Branch::kinds).collect();
    let items = schema.items().branches().iter().flat_map(Branch::kinds).next();
    let first = kinds.into_iter().find(|kind| *kind != Kind::Null);
    match (first, items) {
        (Some(Kind::Boolean), _) | (Some(Kind::Array), Some(Kind::Boolean)) => format!("{name}=true"),
        (Some(Kind::Integer | Kind::Number), _) | (Some(Kind::Array), Some(Kind::Integer | Kind::Number)) => {
            format!("{name}=1")
        }
        (Some(Kind::Object), _) => format!("{name}:={{}}"),
        (Some(Kind::Array), Some(Kind::Object)) => format!("{name}:=[{{}}]"),
        _ => format!("{name}=TEXT"),
    }
}

/// Returns a word as a shell wants it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@,+%".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
