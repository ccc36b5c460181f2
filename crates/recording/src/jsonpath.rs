//! Where two JSON values differ, and which places do not count.

use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::canonical::canonical_value;

/// One place where two values are not alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// As in `$.content[0].text`.
    pub path: String,
    /// As JSON; `None`: it is not there.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A path whose differences do not count: `$.a.b`, `$..name`, `[3]`, `[*]`, `.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no JSON path: write it as in `$.content[0].text`, `$..timestamp` or `$.items[*].id`")]
pub struct NoPath(String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
    Any,
    /// However deep.
    Below,
}

/// Returns where two values differ, in the order of the names.
pub fn differences(before: &RawValue, after: &RawValue, ignored: &[Ignored]) -> Vec<Difference> {
    let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
    let mut found = Vec::new();
    compare(Some(&read(before)), Some(&read(after)), &mut Vec::new(), ignored, &mut found);
    found
}

fn compare(
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut Vec<Step>,
    ignored: &[Ignored],
    found: &mut Vec<Difference>,
) {
    if before == after || ignored.iter().any(|ignored| fits(&ignored.0, path)) {
        return;
    }
    match (before, after) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            // Whether a map keeps its order depends on who else is built with us.
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                path.push(Step::Member(name.clone()));
                compare(one.get(name), other.get(name), path, ignored, found);
                path.pop();
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for place in 0..one.len().max(other.len()) {
                path.push(Step::Item(place));
                compare(one.get(place), other.get(place), path, ignored, found);
                path.pop();
            }
        }
        _ => found.push(Difference {
            path: written(path),
            before: before.map(canonical_value),
            after: after.map(canonical_value),
        }),
    }
}

impl Ignored {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, NoPath> {
        let wrong = || NoPath(text.to_owned());
        let mut rest = text.strip_prefix('$').ok_or_else(wrong)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(below) = rest.strip_prefix("..") {
                steps.push(Step::Below);
                rest = below;
                if rest.starts_with('[') {
                    continue;
                }
            } else if let Some(bracket) = rest.strip_prefix('[') {
                let (inside, after) = bracket.split_once(']').ok_or_else(wrong)?;
                steps.push(in_brackets(inside).ok_or_else(wrong)?);
                rest = after;
                continue;
            } else {
                rest = rest.strip_prefix('.').ok_or_else(wrong)?;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            match name {
                "" => return Err(wrong()),
                "*" => steps.push(Step::Any),
                name => steps.push(Step::Member(name.to_owned())),
            }
            rest = after;
        }
        if steps.is_empty() || steps.last() == Some(&Step::Below) {
            return Err(wrong());
        }
        Ok(Self(steps))
    }
}

fn in_brackets(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::Any);
    }
    let quoted = |mark| inside.strip_prefix(mark)?.strip_suffix(mark);
    match quoted('\'').or_else(|| quoted('"')) {
        Some(name) => Some(Step::Member(name.to_owned())),
        None => inside.parse().ok().map(Step::Item),
    }
}

/// Returns whether a pattern is of this place. Places below it are never reached.
fn fits(pattern: &[Step], path: &[Step]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((Step::Below, rest)), _) => {
            (0..=path.len()).any(|from| fits(rest, path.get(from..).unwrap_or_default()))
        }
        (Some((wanted, pattern)), Some((step, path))) => {
            (*wanted == Step::Any || wanted == step) && fits(pattern, path)
        }
        _ => false,
    }
}

fn written(path: &[Step]) -> String {
    let mut text = "$".to_owned();
    for step in path {
        match step {
            Step::Item(place) => text.push_str(&format!("[{place}]")),
            Step::Member(name) if is_plain(name) => text.push_str(&format!(".{name}")),
            Step::Member(name) => text.push_str(&format!("['{name}']")),
            Step::Any | Step::Below => {}
        }
    }
    text
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, ignored: &[&str], expected: &[&str]) {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let ignored: Vec<Ignored> = ignored.iter().map(|path| Ignored::parse(path).unwrap()).collect();
        let found = differences(&raw(before), &raw(after), &ignored);
        let paths: Vec<&str> = found.iter().map(|difference| difference.path.as_str()).collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn each_difference_has_a_path() {
        check(r#"{"a":1,"b":[1,2]}"#, r#"{"b":[1,2],"a":1}"#, &[], &[]);
        check(r#"{"content":[{"text":"x"}]}"#, r#"{"content":[{"text":"y"}]}"#, &[], &["$.content[0].text"]);
        check(r#"{"a":[1]}"#, r#"{"a":[1,2],"b c":0}"#, &[], &["$.a[1]", "$['b c']"]);
        check("1", "[1]", &[], &["$"]);
    }

    #[test]
    fn what_is_ignored_does_not_count() {
        let (before, after) =
            (r#"{"x":{"at":1,"v":1},"l":[{"at":1}]}"#, r#"{"x":{"at":2,"v":2},"l":[{"at":3}]}"#);
        check(before, after, &[], &["$.l[0].at", "$.x.at", "$.x.v"]);
        check(before, after, &["$..at"], &["$.x.v"]);
        check(before, after, &["$.x"], &["$.l[0].at"]);
        check(before, after, &["$.l[*].at", "$.x.*"], &[]);
        check(before, after, &["$['x']['at']", "$.l[0].at"], &["$.x.v"]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", "a", "$", "$.", "$..", "$[", "$[x]", "$a", "$.a."] {
            assert!(Ignored::parse(wrong).is_err(), "{wrong}");
        }
    }
}
