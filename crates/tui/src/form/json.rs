//! JSON as text: members in their order and with their spelling, which a map of values would lose.

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the members of an object in their order.
pub(crate) fn members(text: &str) -> Result<Vec<(String, String)>, String> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, String)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                members.push((name, value.get().to_owned()));
            }
            Ok(members)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Members).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(members)
}

/// Returns a member of an object.
pub(crate) fn member(text: &str, name: &str) -> Option<String> {
    members(text).ok()?.into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// Returns the elements of an array.
pub(crate) fn elements(text: &str) -> Option<Vec<String>> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
    Some(elements.iter().map(|element| element.get().to_owned()).collect())
}

/// Returns what a string of JSON says.
pub(crate) fn text(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// Returns a text as a string of JSON.
pub(crate) fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Writes JSON over several lines; names, numbers and texts keep their spelling.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = chars.next() {
        if is_text {
            out.push(c);
            is_text = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        match c {
            '"' => {
                is_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                let close = if c == '{' { '}' } else { ']' };
                if chars.next_if_eq(&close).is_some() {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}
