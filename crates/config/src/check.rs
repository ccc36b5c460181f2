//! Holds a file against the table of keys, and says where it differs.

#[cfg(test)]
mod tests;

use crate::alike::did_you_mean;
use crate::file::{Node, Object, Value, join};
use crate::keys::table::{
    DOOR_AUTH, INTROSPECTION, NAMED_TOKEN, NAMESPACE, PERMISSION, SCHEMA, SCOPE, SERVER,
};
use crate::keys::{Key, Kind, Section, Verdict};
use crate::meant::respelled;
use crate::problem::Problems;

/// Reports unknown keys, wrong kinds and odd numbers, here and below.
pub(crate) fn check(object: &Object, section: &Section, place: &str, problems: &mut Problems) {
    for (name, node) in &object.members {
        let Some(key) = section.key(name) else {
            if let Some(meant) = respelled(section, name) {
                tell_doubled(node, name, meant, section, place, problems);
                continue;
            }
            let hint = did_you_mean(name, section.keys.iter().map(|key| key.name));
            let what = format!("unknown key `{name}`");
            match is_of_the_door(section) {
                true => problems.refuse(node.line, place, what, hint),
                false => problems.warn(node.line, place, what, hint),
            }
            continue;
        };
        // An explicit null is as good as no key.
        if matches!(node.value, Value::Null) {
            continue;
        }
        let place = join(place, name);
        match key.kind.judge(node) {
            Verdict::Fits => {}
            // The server is marked as faulty for this, where it is resolved.
            Verdict::Wrong(_) if key.vital && section.name == SERVER.name => {}
            Verdict::Wrong(what) if key.vital => {
                problems.refuse(node.line, &place, what, Some(to_write(key)))
            }
            Verdict::Odd(what) => {
                problems.warn(node.line, &place, what, Some("it is used all the same".to_owned()))
            }
            Verdict::Wrong(what) => {
                let hint = (!key.default.is_empty()).then(|| format!("using the default ({})", key.default));
                problems.warn(node.line, &place, what, hint);
            }
        }
        descend(node, key.kind, &place, problems);
    }
}

fn descend(node: &Node, kind: Kind, place: &str, problems: &mut Problems) {
    match (kind, &node.value) {
        (Kind::Section(section), Value::Object(object)) => check(object, section, place, problems),
        (Kind::Map(section), Value::Object(object)) => {
            for (name, node) in &object.members {
                entry(node, section, &join(place, name), problems);
            }
        }
        (Kind::List(section), Value::List(items)) => {
            for (index, node) in items.iter().enumerate() {
                entry(node, section, &format!("{place}[{index}]"), problems);
            }
        }
        (Kind::OneOf(kinds), _) => {
            if let Some(kind) = kinds.iter().find(|kind| !matches!(kind.judge(node), Verdict::Wrong(_))) {
                descend(node, *kind, place, problems);
            }
        }
        _ => {}
    }
}

fn entry(node: &Node, section: &Section, place: &str, problems: &mut Problems) {
    match &node.value {
        Value::Object(object) => check(object, section, place, problems),
        _ if section.name == SERVER.name => {}
        // To go without a namespace or a rule would be to allow what it forbids.
        Value::Null => {}
        other
            if is_of_the_door(section)
                || [NAMESPACE.name, SCHEMA.name, PERMISSION.name].contains(&section.name) =>
        {
            let what = format!("expected an object, found {}", other.describe());
            problems.refuse(node.line, place, what, Some("write `{ … }`, or remove it".to_owned()));
        }
        other => {
            let what = format!("expected an object, found {}", other.describe());
            problems.warn(node.line, place, what, Some("it is left out".to_owned()));
        }
    }
}

/// Returns whether all that a section says restricts who comes in: an unknown key may be one that does.
fn is_of_the_door(section: &Section) -> bool {
    [NAMED_TOKEN.name, DOOR_AUTH.name, INTROSPECTION.name, SCOPE.name].contains(&section.name)
}

/// A key that restricts and another spelling of it: which of them counts is not ours to say. Servers are marked for it.
fn tell_doubled(
    node: &Node,
    name: &str,
    meant: &str,
    section: &Section,
    place: &str,
    problems: &mut Problems,
) {
    if section.name != SERVER.name {
        let what = format!("has both `{meant}` and `{name}`");
        problems.refuse(node.line, place, what, Some(format!("keep `{meant}`")));
    }
}

/// Returns what to write where a key that must be right is not.
pub(crate) fn to_write(key: &Key) -> String {
    match key.kind {
        Kind::Flag => "write true or false, without quotes".to_owned(),
        Kind::Texts if key.guard => format!("write a list such as `\"{}\": [\"name\"]`", key.name),
        Kind::FlagMap => format!("write `\"{}\": {{\"server\": true}}`", key.name),
        _ => "correct it".to_owned(),
    }
}
