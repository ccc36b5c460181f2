//! A text of the command line becomes the JSON its schema asks for, and never something nobody asked for: a value of no
//! known type is a string, and digits stay the digits they were.

use manifold_protocol::Raw;

use super::schema::{Branch, Kind, Schema};

/// Lists of lists may be lists of themselves; deeper ones are written as JSON.
const MAX_LISTS: usize = 4;

/// Returns a text as JSON, or `None` if it is nothing the schema takes.
pub(crate) fn convert(text: &str, schema: &Schema) -> Option<String> {
    convert_within(text, schema, MAX_LISTS)
}

fn convert_within(text: &str, schema: &Schema, lists: usize) -> Option<String> {
    let branches = schema.branches();
    if let Some(option) = branches.iter().find_map(|branch| option(text, branch)) {
        return Some(option);
    }
    let open = branches.iter().filter(|branch| branch.options().is_none());
    let kinds: Vec<Kind> = open
        .flat_map(|branch| match branch.kinds() {
            kinds if kinds.is_empty() => vec![Kind::String],
            kinds => kinds,
        })
        .collect();
    Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).find_map(|kind| fit(text, kind, schema, lists))
}

/// Returns the one of an enumeration that is meant: a string by its text, anything else by its JSON.
fn option(text: &str, branch: &Branch) -> Option<String> {
    let options = branch.options()?;
    let by_text = options.iter().find(|option| option.to_text().is_some_and(|known| known == text));
    let found = by_text.or_else(|| options.iter().find(|option| option.as_str() == text.trim()))?;
    Some(found.as_str().to_owned())
}

fn fit(text: &str, kind: Kind, schema: &Schema, lists: usize) -> Option<String> {
    // A file ends with a newline that its author does not see.
    let word = text.trim_end();
    match kind {
        Kind::Null => (word == "null").then(|| "null".to_owned()),
        Kind::Boolean => matches!(word, "true" | "false").then(|| word.to_owned()),
        Kind::Integer => is_integer(word).then(|| word.to_owned()),
        Kind::Number => is_number(word).then(|| word.to_owned()),
        Kind::String => Some(Raw::string(text).as_str().to_owned()),
        Kind::Array if lists == 0 => None,
        Kind::Array => convert_within(text, &schema.items(), lists - 1).map(|item| format!("[{item}]")),
        Kind::Object => json(text).filter(|json| json.starts_with('{')),
    }
}

/// Returns whether a value is of a kind that its schema takes, or one of those it names. Members of objects are the server's
/// to judge.
pub(crate) fn fits(value: &Raw, schema: &Schema) -> bool {
    fits_within(value, schema, MAX_LISTS)
}

fn fits_within(value: &Raw, schema: &Schema, lists: usize) -> bool {
    let kind = kind_of(value);
    let is_taken = |branch: &Branch| match branch.options() {
        Some(options) => options.iter().any(|option| is_same(option, value)),
        None => {
            let kinds = branch.kinds();
            kinds.is_empty()
                || kinds.contains(&kind)
                || kind == Kind::Integer && kinds.contains(&Kind::Number)
        }
    };
    if !schema.branches().iter().any(is_taken) {
        return false;
    }
    match value.elements().filter(|_| lists > 0 && kind == Kind::Array) {
        Some(items) => items.iter().all(|item| fits_within(item, &schema.items(), lists - 1)),
        None => true,
    }
}

fn kind_of(value: &Raw) -> Kind {
    let text = value.as_str();
    match text.as_bytes().first() {
        Some(b'n') => Kind::Null,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'"') => Kind::String,
        Some(b'[') => Kind::Array,
        Some(b'{') => Kind::Object,
        // `1.0` is an integer to a schema.
        _ if is_integer(text) || text.parse().is_ok_and(|number: f64| number.fract() == 0.0) => Kind::Integer,
        _ => Kind::Number,
    }
}

/// Returns whether two values are the same, however they are written.
fn is_same(one: &Raw, other: &Raw) -> bool {
    let value = |raw: &Raw| serde_json::from_str::<serde_json::Value>(raw.as_str()).ok();
    let number = |raw: &Raw| raw.as_str().parse::<f64>().ok();
    value(one) == value(other) || number(one).is_some_and(|one| number(other) == Some(one))
}

/// Returns a JSON text without the space around it, or `None` if it is none.
pub(crate) fn json(text: &str) -> Option<String> {
    let value: Box<serde_json::value::RawValue> = serde_json::from_str(text).ok()?;
    Some(value.get().to_owned())
}

fn is_integer(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    is_number(word) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// As JSON writes numbers: no leading zero, no plus, digits on both sides of the point.
pub(crate) fn is_number(word: &str) -> bool {
    let starts = word.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    starts && json(word).is_some_and(|json| json == word)
}

/// Says what a schema takes, for a sentence such as "`count` takes an integer".
pub(crate) fn expected(schema: &Schema) -> String {
    expected_within(schema, MAX_LISTS)
}

fn expected_within(schema: &Schema, lists: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut add = |part: String| {
        if !parts.contains(&part) {
            parts.push(part);
        }
    };
    for branch in schema.branches() {
        if let Some(options) = branch.options() {
            let options: Vec<String> = options.iter().map(shown).collect();
            add(if options.len() == 1 { options.concat() } else { format!("one of {}", options.join(", ")) });
            continue;
        }
        let kinds = branch.kinds();
        for kind in Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
            add(match kind {
                Kind::Null => "null".to_owned(),
                Kind::Boolean => "true or false".to_owned(),
                Kind::Integer => "an integer".to_owned(),
                Kind::Number => "a number".to_owned(),
                Kind::String => "a text".to_owned(),
                Kind::Array => match schema.items() {
                    items if items.branches().iter().all(Branch::is_silent) => "a list".to_owned(),
                    _ if lists == 0 => "a list".to_owned(),
                    items => format!("a list of which each is {}", expected_within(&items, lists - 1)),
                },
                Kind::Object => "an object".to_owned(),
            });
        }
        if branch.is_silent() {
            add("a text".to_owned());
        }
    }
    parts.join(" or ")
}

/// Returns a value as one would type it.
pub(crate) fn shown(value: &Raw) -> String {
    value.to_text().map_or_else(|| value.as_str().to_owned(), std::borrow::Cow::into_owned)
}
