//! What can only be meant one way is read so, with a warning: another spelling of a key that restricts, `"true"` where
//! true is wanted, one name where a list of names is. To leave such a key out would be to allow what it forbids.

#[cfg(test)]
mod tests;

use crate::clients;
use crate::file::{Node, Object, Value, join};
use crate::keys::table::{SERVER, TOP};
use crate::keys::{Key, Kind, Section, Verdict};
use crate::problem::Problems;

/// Rewrites a document as it is meant. What stays in doubt is left for those who read it to refuse.
pub(crate) fn read(document: &mut Object, problems: &mut Problems) {
    section(document, &TOP, "", problems);
}

/// Returns the key that restricts and is written another way here.
pub(crate) fn respelled(section: &Section, name: &str) -> Option<&'static str> {
    if section.key(name).is_some() {
        return None;
    }
    let same = |known: &str| plain(known) == plain(name);
    let own = section.keys.iter().find(|key| key.guard && same(key.name)).map(|key| key.name);
    own.or_else(|| {
        let ours = clients::respelled(same).filter(|_| section.name == SERVER.name)?;
        section.key(ours).filter(|key| key.guard).map(|key| key.name)
    })
}

/// What is left of a name once case and the marks between words are gone.
fn plain(name: &str) -> String {
    name.chars().filter(|char| !matches!(char, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

fn section(object: &mut Object, of: &'static Section, place: &str, problems: &mut Problems) {
    let names: Vec<(String, &'static str)> =
        object.members.keys().filter_map(|name| Some((name.clone(), respelled(of, name)?))).collect();
    for (name, meant) in names {
        // Beside the key itself nobody can tell which counts: whoever reads the section refuses it.
        if object.members.contains_key(meant) {
            continue;
        }
        if let Some(node) = object.members.shift_remove(&name) {
            let (what, hint) = (format!("`{name}` is read as `{meant}`"), format!("write `{meant}`"));
            problems.warn(node.line, place, what, Some(hint));
            object.members.insert(meant.to_owned(), node);
        }
    }
    for (name, node) in &mut object.members {
        let Some(key) = of.key(name) else { continue };
        let place = join(place, name);
        value(node, key, &place, problems);
        below(node, key.kind, &place, problems);
    }
}

fn below(node: &mut Node, kind: Kind, place: &str, problems: &mut Problems) {
    match (kind, &mut node.value) {
        (Kind::Section(of), Value::Object(object)) => section(object, of, place, problems),
        (Kind::Map(of), Value::Object(object)) => {
            for (name, node) in &mut object.members {
                if let Value::Object(object) = &mut node.value {
                    section(object, of, &join(place, name), problems);
                }
            }
        }
        (Kind::List(of), Value::List(items)) => {
            for (index, node) in items.iter_mut().enumerate() {
                if let Value::Object(object) = &mut node.value {
                    section(object, of, &format!("{place}[{index}]"), problems);
                }
            }
        }
        (Kind::FlagMap, Value::Object(object)) => {
            for (name, node) in &mut object.members {
                as_flag(node, &join(place, name), problems);
            }
        }
        (Kind::OneOf(kinds), _) => {
            let fits = kinds.iter().find(|kind| !matches!(kind.judge(node), Verdict::Wrong(_)));
            if let Some(kind) = fits {
                below(node, *kind, place, problems);
            }
        }
        _ => {}
    }
}

fn value(node: &mut Node, key: &Key, place: &str, problems: &mut Problems) {
    if !matches!(key.kind.judge(node), Verdict::Wrong(_)) {
        return;
    }
    let takes = |wanted: fn(&Kind) -> bool| match key.kind {
        Kind::OneOf(kinds) => kinds.iter().any(wanted),
        kind => wanted(&kind),
    };
    if takes(|kind| matches!(kind, Kind::Flag)) && as_flag(node, place, problems) {
        return;
    }
    let Value::Text(text) = &node.value else { return };
    let written = text.value.trim();
    let (value, what) = if !key.guard {
        return;
    } else if takes(|kind| matches!(kind, Kind::Texts)) && is_one_name(written) {
        (Value::List(vec![node.clone()]), "a single text is read as a list of one")
    } else if takes(|kind| matches!(kind, Kind::Number(_))) && written.parse::<u64>().is_ok() {
        (Value::Number(written.to_owned()), "the text is read as a number")
    } else {
        return;
    };
    let hint = if matches!(value, Value::List(_)) { "write `[\"…\"]`" } else { "write it without quotes" };
    problems.warn(node.line, place, what, Some(hint.to_owned()));
    node.value = value;
}

fn as_flag(node: &mut Node, place: &str, problems: &mut Problems) -> bool {
    let Value::Text(text) = &node.value else { return false };
    if let Some(flag) = text.flag {
        node.value = Value::Flag(flag);
        return true;
    }
    let flag = match text.value.trim().to_ascii_lowercase().as_str() {
        "true" => true,
        "false" => false,
        _ => return false,
    };
    problems.warn(
        node.line,
        place,
        format!("the text is read as {flag}"),
        Some("write it without quotes".to_owned()),
    );
    node.value = Value::Flag(flag);
    true
}

/// Several names in one text are no list, and no tool has such a name.
fn is_one_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|char: char| char.is_whitespace() || ",;|[]{}\"'".contains(char))
}
