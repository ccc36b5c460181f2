//! What differs between two recordings: the tools there are, and what calls gave.

use std::collections::{BTreeMap, HashMap};

use manifold_admin::{CallDifference, RecordingDiff, ToolChange};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::canonical::{canonical, canonical_value};
use crate::exchange::{Exchange, Outcome, Side, exchanges};
use crate::jsonpath::{Ignored, differences};
use crate::message::Members;
use crate::reader::Recorded;

/// What of a tool is compared, in the order it is told.
const PARTS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

/// Compares what clients saw.
pub fn diff(first: &Recorded, second: &Recorded, ignored: &[Ignored]) -> RecordingDiff {
    let mut diff = RecordingDiff::default();
    compare_tools(&tools(first), &tools(second), &mut diff);
    let (one, other) = (calls(first), calls(second));
    for (key, made) in &one {
        let again = other.get(key).map(Vec::as_slice).unwrap_or_default();
        for (place, call) in made.iter().enumerate() {
            let Some(after) = again.get(place) else {
                diff.only_in_first.push(format!("{} {}", key.0, key.1));
                continue;
            };
            let paths = paths(call, after, ignored);
            if !paths.is_empty() {
                let (tool, arguments) = key.clone();
                diff.calls.push(CallDifference { tool, arguments, paths });
            }
        }
    }
    for (key, made) in &other {
        let more = made.len().saturating_sub(one.get(key).map_or(0, Vec::len));
        diff.only_in_second.extend((0..more).map(|_| format!("{} {}", key.0, key.1)));
    }
    diff
}

/// Returns the tools as clients saw them, the last list of each counting.
pub(crate) fn tools(recorded: &Recorded) -> BTreeMap<String, Box<RawValue>> {
    let mut found = BTreeMap::new();
    let mut note = |tool: &RawValue| {
        if let Some(name) = Members::of(tool).and_then(|members| members.text("name")) {
            found.insert(name, tool.to_owned());
        }
    };
    for exchange in exchanges(recorded, &Side::Client) {
        if let (Some(Outcome::Result(result)), "tools/list") = (&exchange.outcome, exchange.method.as_str()) {
            listed(result, "tools").iter().for_each(|tool| note(tool));
        }
    }
    found
}

/// Returns the items of a list result.
pub(crate) fn listed(result: &RawValue, member: &str) -> Vec<Box<RawValue>> {
    let items = Members::of(result).and_then(|members| members.get(member).map(ToOwned::to_owned));
    items.and_then(|items| serde_json::from_str(items.get()).ok()).unwrap_or_default()
}

fn compare_tools(
    one: &BTreeMap<String, Box<RawValue>>,
    other: &BTreeMap<String, Box<RawValue>>,
    diff: &mut RecordingDiff,
) {
    // Where one has no list at all, nothing can be said.
    if one.is_empty() || other.is_empty() {
        return;
    }
    diff.tools_added = other.keys().filter(|name| !one.contains_key(*name)).cloned().collect();
    for (name, before) in one {
        let Some(after) = other.get(name) else {
            diff.tools_removed.push(name.clone());
            continue;
        };
        let value = |tool: &RawValue, part: &str| {
            let members = Members::of(tool)?;
            let value: Value = serde_json::from_str(members.get(part)?.get()).ok()?;
            Some(canonical_value(&value))
        };
        let parts = PARTS.into_iter().filter(|part| value(before, part) != value(after, part));
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        if !parts.is_empty() {
            diff.tools_changed.push(ToolChange { tool: name.clone(), parts });
        }
    }
}

fn calls(recorded: &Recorded) -> BTreeMap<(String, String), Vec<Exchange>> {
    let mut calls: BTreeMap<(String, String), Vec<Exchange>> = BTreeMap::new();
    // What follows a question belongs to the call that was asked it.
    let mut begun: HashMap<u64, (String, String)> = HashMap::new();
    for exchange in exchanges(recorded, &Side::Client) {
        let Some(tool) = exchange.tool.clone() else { continue };
        let key = (tool, canonical(exchange.arguments().as_deref()));
        if let Some(parent) = exchange.parent.filter(|parent| exchange.call != Some(*parent))
            && let Some(made) = begun.get(&parent).and_then(|key| calls.get_mut(key))
            && let Some(last) = made.last_mut()
        {
            last.outcome = exchange.outcome;
            continue;
        }
        if let Some(call) = exchange.call {
            begun.insert(call, key.clone());
        }
        calls.entry(key).or_default().push(exchange);
    }
    calls
}

fn paths(before: &Exchange, after: &Exchange, ignored: &[Ignored]) -> Vec<String> {
    let (one, other) = match (&before.outcome, &after.outcome) {
        (Some(Outcome::Result(one)), Some(Outcome::Result(other)))
        | (Some(Outcome::Error(one)), Some(Outcome::Error(other))) => (one, other),
        (None, None) => return Vec::new(),
        _ => return vec!["$".to_owned()],
    };
    differences(one, other, ignored).into_iter().map(|difference| difference.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, recorded};

    #[test]
    fn tools_and_results_are_compared() {
        let tool = |description: &str| {
            format!(r#"{{"tools":[{{"name":"a","description":"{description}"}},{{"name":"X"}}]}}"#)
        };
        let one = recorded(
            Script::default()
                .exchange("tools/list", "{}", &tool("before").replace('X', "gone"))
                .call("a", r#"{"x":1}"#, r#"{"content":[{"text":"1"}],"at":1}"#)
                .call("a", r#"{"x":2}"#, r#"{"content":[]}"#),
        );
        let other = recorded(
            Script::default()
                .exchange("tools/list", "{}", &tool("after").replace('X', "new"))
                .call("a", r#"{ "x": 1 }"#, r#"{"content":[{"text":"2"}],"at":2}"#)
                .call("a", r#"{"x":3}"#, r#"{"content":[]}"#),
        );
        let found = diff(&one, &other, &[Ignored::parse("$.at").unwrap()]);
        assert_eq!(
            (found.tools_added.join(","), found.tools_removed.join(",")),
            ("new".into(), "gone".into())
        );
        assert_eq!(found.tools_changed, [ToolChange { tool: "a".into(), parts: vec!["description".into()] }]);
        assert_eq!(found.calls.len(), 1);
        assert_eq!(found.calls[0].paths, ["$.content[0].text"]);
        assert_eq!(
            (found.only_in_first, found.only_in_second),
            (vec!["a {\"x\":2}".into()], vec!["a {\"x\":3}".into()])
        );
        assert!(diff(&one, &one, &[]).is_empty());
    }
}
