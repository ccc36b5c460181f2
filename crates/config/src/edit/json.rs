//! Cuts into JSON with comments.

mod render;

use jsonc_parser::ast::{self, Value as Ast};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use super::Stuck;
use super::brackets::{Brackets, Comments, NewItem};
use super::change::{Change, Step, wrapped};
use super::lines::{indent_unit, spliced};
use crate::file::Value;
use crate::syntax::json::options;
use render::Style;
pub(crate) use render::inline;
pub(super) use render::quoted;

pub(super) fn write(text: &str, change: &Change) -> Result<String, Stuck> {
    let whole;
    let text = if is_empty(text) {
        whole = format!(
            "{}{{}}\n",
            if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
        );
        &whole
    } else {
        text
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
    let parsed = parsed.map_err(|_| Stuck("the file is not JSON"))?;
    let root = parsed.value.ok_or(Stuck("the file is empty"))?;
    match change {
        Change::Set { at, value } => set(text, &root, at, value),
        Change::Push { list, value } => match find(&root, list) {
            Ok(Ast::Array(array)) => Ok(insert(text, &of_list(array), None, value)),
            _ => set(text, &root, list, &Value::List(vec![super::change::node(value.clone())])),
        },
        Change::Remove { at } => remove(text, &root, at),
        Change::Rename { at, to } => {
            let (Step::Key(key), way) = at.split_last().ok_or(Stuck("there is no such member"))? else {
                return Err(Stuck("an item of a list has no key"));
            };
            let Ok(Ast::Object(object)) = find(&root, way) else {
                return Err(Stuck("there is no such member"));
            };
            let named = object.properties.iter().rfind(|property| property.name.as_str() == key);
            let name = named.ok_or(Stuck("there is no such member"))?.name.range();
            Ok(spliced(text, name.start..name.end, &quoted(to)))
        }
    }
}

/// Nothing stands in it but comments.
fn is_empty(text: &str) -> bool {
    parse_to_ast(text, &CollectOptions::default(), &options()).is_ok_and(|parsed| parsed.value.is_none())
}

/// Returns what stands there; else the last that does, and how many steps lead to it. Of members of one name the last
/// counts.
fn find<'r, 't>(root: &'r Ast<'t>, path: &[Step]) -> Result<&'r Ast<'t>, (&'r Ast<'t>, usize)> {
    let mut here = root;
    for (taken, step) in path.iter().enumerate() {
        let next = match (step, here) {
            (Step::Key(key), Ast::Object(object)) => {
                let found = object.properties.iter().rfind(|property| property.name.as_str() == key);
                found.map(|property| &property.value)
            }
            (Step::Index(index), Ast::Array(array)) => array.elements.get(*index),
            _ => None,
        };
        here = next.ok_or((here, taken))?;
    }
    Ok(here)
}

fn set(text: &str, root: &Ast<'_>, at: &[Step], value: &Value) -> Result<String, Stuck> {
    match find(root, at) {
        Ok(there) => Ok(replace(text, there, value)),
        Err((Ast::Object(object), taken)) => match &at[taken..] {
            [Step::Key(key), missing @ ..] => {
                let value = wrapped(missing, value.clone())?;
                Ok(insert(text, &of_members(object), Some(key), &value))
            }
            _ => Err(Stuck("there is no such item in the list")),
        },
        Err((null @ Ast::NullKeyword(_), taken)) => {
            Ok(replace(text, null, &wrapped(&at[taken..], value.clone())?))
        }
        Err(_) => Err(Stuck("there is something else than an object")),
    }
}

fn of_members(object: &ast::Object<'_>) -> Brackets {
    let items = object.properties.iter().map(|property| property.start()..property.end());
    Brackets::new(object.start()..object.end(), items.collect(), Comments::Slash)
}

fn of_list(list: &ast::Array<'_>) -> Brackets {
    let items = list.elements.iter().map(|item| item.start()..item.end());
    Brackets::new(list.start()..list.end(), items.collect(), Comments::Slash)
}

fn insert(text: &str, into: &Brackets, key: Option<&str>, value: &Value) -> String {
    let label = key.map_or_else(String::new, |key| format!("{}: ", quoted(key)));
    let unit = indent_unit(text);
    let open = |indent: &str| format!("{label}{}", Style { indent, unit }.open(value));
    into.insert(text, &NewItem { inline: format!("{label}{}", inline(value)), open: &open })
}

fn replace(text: &str, there: &Ast<'_>, value: &Value) -> String {
    let range = there.start()..there.end();
    let style = Style::at(text, range.start);
    let is_open = match there {
        Ast::Object(object) => of_members(object).is_open(text),
        Ast::Array(array) => of_list(array).is_open(text),
        _ => text[..range.start].contains('\n'),
    };
    let new = if is_open { style.open(value) } else { inline(value) };
    spliced(text, range, &new)
}

fn remove(text: &str, root: &Ast<'_>, at: &[Step]) -> Result<String, Stuck> {
    let (last, way) = at.split_last().ok_or(Stuck("the file as a whole cannot be removed"))?;
    match (last, find(root, way)) {
        (Step::Key(key), Ok(Ast::Object(object))) => {
            // All of that name, or an earlier one would come back.
            let is_it = |at: &usize| object.properties[*at].name.as_str() == key;
            let all: Vec<usize> = (0..object.properties.len()).filter(is_it).collect();
            match all.as_slice() {
                [only] => Ok(of_members(object).remove(text, *only)),
                [] => Err(Stuck("there is no such member")),
                _ => Err(Stuck("it is written twice")),
            }
        }
        (Step::Index(index), Ok(Ast::Array(array))) if *index < array.elements.len() => {
            Ok(of_list(array).remove(text, *index))
        }
        _ => Err(Stuck("there is no such member")),
    }
}
