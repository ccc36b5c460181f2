//! Taking back what an earlier change made of a file that has moved on since: only what is still as that change left it.

use std::path::Path;

use super::change::{Change, Step, agrees, key};
use super::lines::LineEnds;
use super::{EditError, check_tree, read, write};
use crate::file::{Node, Object, Value};

/// A text from which a change was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    pub text: String,
    /// Places that somebody has changed since; they are as they were found.
    pub left: Vec<String>,
}

/// Returns a text without what made `after` of `before`. Where `names` are given, only the members, and the items of lists,
/// of these names are looked at. An empty text is a file that is not there.
pub fn revert(
    text: &str,
    before: &str,
    after: &str,
    path: &Path,
    names: Option<&[String]>,
) -> Result<Reverted, EditError> {
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let ends = LineEnds::of(&text[mark.len()..]);
    let now = ends.unified(&text[mark.len()..]);
    let (syntax, document) = read(&now, Some(path))?;
    let tree = |text: &str| read(text.trim_start_matches('\u{feff}'), Some(path)).map(|(_, tree)| tree);
    let mut plan = Plan { names, changes: Vec::new(), left: Vec::new() };
    plan.members(&[], &tree(before)?, &tree(after)?, &document);
    let Plan { changes, left, .. } = plan;
    if changes.is_empty() {
        return Ok(Reverted { text: text.to_owned(), left });
    }
    let new = write(&now, syntax, &changes)?;
    check_tree(&document, &changes, &new, syntax)?;
    Ok(Reverted { text: format!("{mark}{}", ends.restored(&now, &new)), left })
}

struct Plan<'a> {
    names: Option<&'a [String]>,
    changes: Vec<Change>,
    left: Vec<String>,
}

/// What stands in one place: before the change, after it, and now.
#[derive(Clone, Copy)]
struct Three<'n> {
    before: Option<&'n Node>,
    after: Option<&'n Node>,
    now: Option<&'n Node>,
}

impl Plan<'_> {
    /// Plans for the members of an object; tells whether none of those that are there now will be left.
    fn members(&mut self, place: &[Step], before: &Object, after: &Object, now: &Object) -> bool {
        let mut gone = 0;
        let added = after.members.keys().filter(|key| !before.members.contains_key(*key));
        for name in before.members.keys().chain(added) {
            let three = Three {
                before: before.members.get(name),
                after: after.members.get(name),
                now: now.members.get(name),
            };
            let place: Vec<Step> = place.iter().cloned().chain([key(name)]).collect();
            gone += usize::from(self.member(&place, name, three));
        }
        gone > 0 && gone == now.members.len()
    }

    /// Plans for one member; tells whether it will be gone.
    fn member(&mut self, place: &[Step], name: &str, three: Three<'_>) -> bool {
        let Three { before, after, now } = three;
        if is_same(before, after) || is_same(before, now) {
            return false;
        }
        let is_named = self.names.is_some_and(|names| names.iter().any(|one| one == name));
        let is_ours = is_named || self.names.is_none();
        let is_untouched = is_ours && is_same(after, now);
        // An object that was there before and after keeps the comments in it, so only what differs is taken back.
        let has_inside = [before, after].iter().all(|node| node.is_some_and(|node| node.object().is_some()));
        if !is_named
            && (has_inside || !is_untouched)
            && let Some(is_gone) = self.below(place, three)
        {
            return is_gone;
        }
        if !is_untouched {
            self.left.extend(is_ours.then(|| spelt(place)));
            return false;
        }
        self.changes.push(match before {
            Some(before) => Change::Set { at: place.to_vec(), value: before.value.clone() },
            None => Change::Remove { at: place.to_vec() },
        });
        before.is_none()
    }

    /// Plans for what stands below, if these are objects that hold others, or lists; tells whether all of it will be gone.
    fn below(&mut self, place: &[Step], three: Three<'_>) -> Option<bool> {
        let nothing = Object::default();
        let now = three.now?;
        if let Some(now) = now.list() {
            self.items(place, list_or_nothing(three.before)?, list_or_nothing(three.after)?, now);
            return Some(false);
        }
        let before = three.before.map_or(Some(&nothing), Node::object)?;
        let after = three.after.map_or(Some(&nothing), Node::object)?;
        let now = now.object()?;
        let whole = if three.before.is_none() { after } else { before };
        let is_whole = three.before.is_none() || three.after.is_none();
        // A server is put in and taken out as a whole; what holds servers is not.
        if is_whole && self.names.is_none() && whole.members.values().any(|node| node.object().is_none()) {
            return None;
        }
        let planned = self.changes.len();
        let is_emptied = self.members(place, before, after, now) && three.before.is_none();
        if is_emptied {
            self.changes.truncate(planned);
            self.changes.push(Change::Remove { at: place.to_vec() });
        }
        Some(is_emptied)
    }

    /// Plans for the items of a list, which are known by their names, or by what they are.
    fn items(&mut self, place: &[Step], before: &[Node], after: &[Node], now: &[Node]) {
        let index = |at: usize| place.iter().cloned().chain([Step::Index(at)]).collect::<Vec<_>>();
        let has = |list: &[Node], item: &Node| list.iter().any(|one| is_same(Some(one), Some(item)));
        let names = self.names;
        let concerns = |item: &Node| {
            names.is_none_or(|names| name(item).is_some_and(|name| names.iter().any(|one| one == name)))
        };
        let mut gone = Vec::new();
        for item in after.iter().filter(|item| concerns(item) && !has(before, item)) {
            let earlier = same_name(before, item);
            match now.iter().position(|one| is_same(Some(one), Some(item))) {
                Some(at) => match earlier {
                    Some(earlier) => {
                        self.changes.push(Change::Set { at: index(at), value: earlier.value.clone() });
                    }
                    None => gone.push(at),
                },
                None if same_name(now, item).is_some() => self.left.push(spelt(place)),
                None => {}
            }
        }
        let missing = before.iter().filter(|item| {
            concerns(item) && !has(after, item) && same_name(after, item).is_none() && !has(now, item)
        });
        let (taken, free): (Vec<&Node>, Vec<&Node>) =
            missing.partition(|item| same_name(now, item).is_some());
        if !taken.is_empty() {
            self.left.push(spelt(place));
        }
        gone.sort_unstable();
        self.changes.extend(gone.into_iter().rev().map(|at| Change::Remove { at: index(at) }));
        let back =
            free.into_iter().map(|item| Change::Push { list: place.to_vec(), value: item.value.clone() });
        self.changes.extend(back);
    }
}

fn list_or_nothing(node: Option<&Node>) -> Option<&[Node]> {
    node.map_or(Some(&[]), Node::list)
}

fn name(item: &Node) -> Option<&str> {
    item.object()?.written("name")
}

/// Returns the item that goes by the name of this one.
fn same_name<'n>(list: &'n [Node], item: &Node) -> Option<&'n Node> {
    let wanted = name(item)?;
    list.iter().find(|one| name(one) == Some(wanted))
}

fn is_same(one: Option<&Node>, other: Option<&Node>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => agrees(None, one, other) && agrees(None, other, one),
        (None, None) => true,
        (Some(node), None) | (None, Some(node)) => matches!(node.value, Value::Null),
    }
}

/// Returns a place in words.
fn spelt(place: &[Step]) -> String {
    let steps = place.iter().map(|step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(index) => index.to_string(),
    });
    steps.collect::<Vec<_>>().join(".")
}
