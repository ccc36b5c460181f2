//! Cuts into TOML.

mod body;
mod render;

use toml_edit::{Array, Document, InlineTable, Item, Table, TableLike, Value as Toml};

use super::Stuck;
use super::brackets::{Brackets, Comments, NewItem};
use super::change::{Change, Step, wrapped};
use super::lines::{indent_at, line_end, line_start, spliced};
use crate::file::{Object, Value};
use body::{body_end, cut_lines, cut_tables, gap_before, next_table, tables_of};
use render::{array_head, dotted, inline, key_text, table_head, table_lines};

const NO_MEMBER: Stuck = Stuck("there is no such member");

pub(super) fn write(text: &str, change: &Change) -> Result<String, Stuck> {
    let text = &if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let document = Document::parse(text.as_str()).map_err(|_| Stuck("the file is not TOML"))?;
    let root = document.as_table();
    match change {
        Change::Set { at, value } => set(text, root, at, value),
        Change::Push { list, value } => push(text, root, list, value),
        Change::Remove { at } => remove(text, root, at),
        Change::Rename { at, to } => rename(text, root, at, to),
    }
}

/// A place in the file.
#[derive(Clone, Copy)]
enum Here<'d> {
    Table(&'d Table),
    Inline(&'d InlineTable),
    Item(&'d Item),
    Value(&'d Toml),
}

impl<'d> Here<'d> {
    fn of(item: &'d Item) -> Self {
        match item {
            Item::Table(table) => Self::Table(table),
            Item::Value(value) => Self::of_value(value),
            other => Self::Item(other),
        }
    }

    fn of_value(value: &'d Toml) -> Self {
        match value {
            Toml::InlineTable(table) => Self::Inline(table),
            other => Self::Value(other),
        }
    }

    fn step(self, step: &Step) -> Option<Self> {
        match (self, step) {
            (Self::Table(table), Step::Key(key)) => table.get(key).map(Self::of),
            (Self::Inline(table), Step::Key(key)) => TableLike::get(table, key).map(Self::of),
            (Self::Value(Toml::Array(array)), Step::Index(index)) => array.get(*index).map(Self::of_value),
            (Self::Item(Item::ArrayOfTables(tables)), Step::Index(index)) => {
                tables.get(*index).map(Self::Table)
            }
            _ => None,
        }
    }
}

/// Returns what stands there; else the last that does, and how many steps lead to it.
fn find<'d>(root: &'d Table, path: &[Step]) -> Result<Here<'d>, (Here<'d>, usize)> {
    let mut here = Here::Table(root);
    for (taken, step) in path.iter().enumerate() {
        here = here.step(step).ok_or((here, taken))?;
    }
    Ok(here)
}

fn set(text: &str, root: &Table, at: &[Step], value: &Value) -> Result<String, Stuck> {
    let (here, taken) = match find(root, at) {
        Ok(Here::Value(there)) => {
            let span = there.span().ok_or(NO_MEMBER)?;
            return Ok(spliced(text, span, &inline(value)?));
        }
        Ok(Here::Inline(there)) => {
            let span = there.span().ok_or(Stuck("its keys are written apart"))?;
            return Ok(spliced(text, span, &inline(value)?));
        }
        Ok(_) => return Err(Stuck("there are tables in its place")),
        Err(missing) => missing,
    };
    let (Step::Key(key), missing) = at[taken..].split_first().ok_or(NO_MEMBER)? else {
        return Err(Stuck("there is no such item in the list"));
    };
    match here {
        Here::Inline(table) => {
            let member = format!("{} = {}", key_text(key), inline(&wrapped(missing, value.clone())?)?);
            Ok(insert(text, &members_of(table)?, member))
        }
        Here::Table(table) if table.is_dotted() => Err(Stuck("its keys are written with dots")),
        Here::Table(table) => match value {
            Value::Object(object) if taken == 0 || table.get_values().is_empty() => {
                add_table(text, root, &at[..taken], &table_head(at)?, object)
            }
            _ => {
                let line = format!("{} = {}\n", key_text(key), inline(&wrapped(missing, value.clone())?)?);
                add_line(text, table, taken == 0, &line)
            }
        },
        _ => Err(Stuck("there is something else than a table")),
    }
}

/// Adds a table behind those of the one it belongs to.
fn add_table(
    text: &str,
    root: &Table,
    parent: &[Step],
    head: &str,
    object: &Object,
) -> Result<String, Stuck> {
    let last = match find(root, parent) {
        Ok(Here::Table(table)) if !parent.is_empty() => {
            tables_of(table).into_iter().filter_map(body_end).max()
        }
        _ => None,
    };
    let at = last.map_or(text.len(), |end| next_table(text, end));
    let gap = gap_before(text, at);
    Ok(spliced(text, at..at, &format!("{gap}{head}\n{}", table_lines(object)?)))
}

fn add_line(text: &str, table: &Table, is_root: bool, line: &str) -> Result<String, Stuck> {
    match body::last_value_end(table).or_else(|| Some(table.span()?.end)) {
        Some(end) if !is_root || !table.get_values().is_empty() => {
            let at = (line_end(text, end) + 1).min(text.len());
            let indent = indent_at(text, end);
            Ok(spliced(text, at..at, &format!("{indent}{line}")))
        }
        _ if is_root => Ok(spliced(text, 0..0, line)),
        _ => Err(Stuck("its table has no head")),
    }
}

fn push(text: &str, root: &Table, list: &[Step], value: &Value) -> Result<String, Stuck> {
    match (find(root, list), value) {
        (Ok(Here::Item(Item::ArrayOfTables(tables))), Value::Object(object)) => {
            let ends = tables.iter().flat_map(tables_of).filter_map(body_end);
            let at = next_table(text, ends.max().ok_or(NO_MEMBER)?);
            let (gap, lines) = (gap_before(text, at), table_lines(object)?);
            Ok(spliced(text, at..at, &format!("{gap}{}\n{lines}", array_head(list)?)))
        }
        (Ok(Here::Value(Toml::Array(array))), _) => Ok(insert(text, &items_of(array)?, inline(value)?)),
        (Err(_), Value::Object(object)) => add_table(text, root, &[], &array_head(list)?, object),
        (Err(_), _) => set(text, root, list, &Value::List(vec![super::change::node(value.clone())])),
        _ => Err(Stuck("there is something else than a list")),
    }
}

fn remove(text: &str, root: &Table, at: &[Step]) -> Result<String, Stuck> {
    let (last, way) = at.split_last().ok_or(NO_MEMBER)?;
    let holder = find(root, way).map_err(|_| NO_MEMBER)?;
    let there = holder.step(last).ok_or(NO_MEMBER)?;
    match (holder, there, last) {
        (Here::Table(_) | Here::Item(_), Here::Table(table), _) => cut_tables(text, &tables_of(table)),
        (Here::Item(_) | Here::Table(_), Here::Item(Item::ArrayOfTables(tables)), _) => {
            cut_tables(text, &tables.iter().flat_map(tables_of).collect::<Vec<_>>())
        }
        (Here::Table(table), _, Step::Key(key)) => {
            let (name, value) = table.get_key_value(key).ok_or(NO_MEMBER)?;
            let (start, end) = name
                .span()
                .zip(value.span())
                .map(|(name, value)| (name.start, value.end))
                .ok_or(NO_MEMBER)?;
            if line_start(text, start) != start - indent_at(text, start).len() {
                return Err(Stuck("its key is written with dots"));
            }
            Ok(cut_lines(text, start, end))
        }
        (Here::Inline(table), _, Step::Key(key)) => {
            let index = TableLike::iter(table).position(|(name, _)| name == key).ok_or(NO_MEMBER)?;
            Ok(members_of(table)?.remove(text, index))
        }
        (Here::Value(Toml::Array(array)), _, Step::Index(index)) => Ok(items_of(array)?.remove(text, *index)),
        _ => Err(NO_MEMBER),
    }
}

/// Returns where an inline table and its members stand.
fn members_of(table: &InlineTable) -> Result<Brackets, Stuck> {
    let member =
        |(key, item): (&str, &Item)| Some(TableLike::key(table, key)?.span()?.start..item.span()?.end);
    let members: Option<Vec<_>> = TableLike::iter(table).map(member).collect();
    let (span, members) = table.span().zip(members).ok_or(Stuck("its keys are written apart"))?;
    Ok(Brackets::new(span, members, Comments::Hash))
}

fn items_of(array: &Array) -> Result<Brackets, Stuck> {
    let items = array.iter().map(Toml::span).collect::<Option<Vec<_>>>();
    let (span, items) = array.span().zip(items).ok_or(NO_MEMBER)?;
    Ok(Brackets::new(span, items, Comments::Hash))
}

fn insert(text: &str, into: &Brackets, item: String) -> String {
    // An inline table has space within its brackets.
    let inline = if into.is_empty() && item.contains(" = ") && !item.starts_with(['{', '"', '[']) {
        format!(" {item} ")
    } else {
        item.clone()
    };
    into.insert(text, &NewItem { inline, open: &|_| item.clone() })
}

fn rename(text: &str, root: &Table, at: &[Step], to: &str) -> Result<String, Stuck> {
    let (Step::Key(key), way) = at.split_last().ok_or(NO_MEMBER)? else { return Err(NO_MEMBER) };
    let name = match find(root, way) {
        Ok(Here::Table(table)) => match table.get_key_value(key).ok_or(NO_MEMBER)? {
            (_, Item::Table(inner)) if !inner.is_dotted() => return rename_heads(text, inner, at, to),
            (_, Item::Table(_) | Item::ArrayOfTables(_)) => return Err(Stuck("its keys are written apart")),
            (name, _) => name.span(),
        },
        Ok(Here::Inline(table)) => TableLike::key(table, key).and_then(toml_edit::Key::span),
        _ => None,
    };
    Ok(spliced(text, name.ok_or(NO_MEMBER)?, &key_text(to)))
}

/// Writes the heads of a table, and of those below it, with another name in them.
fn rename_heads(text: &str, table: &Table, at: &[Step], to: &str) -> Result<String, Stuck> {
    let mut heads: Vec<_> = tables_of(table).iter().filter_map(|table| table.span()).collect();
    heads.sort_by_key(|head| std::cmp::Reverse(head.start));
    let mut text = text.to_owned();
    for head in heads {
        let written = &text[head.clone()];
        let inner = written.trim_start_matches('[').trim_end_matches(']');
        let mut keys = toml_edit::Key::parse(inner).map_err(|_| Stuck("its head cannot be read"))?;
        let own = keys.get_mut(at.len() - 1).ok_or(Stuck("its head cannot be read"))?;
        *own = toml_edit::Key::new(to);
        let names: Vec<&str> = keys.iter().map(toml_edit::Key::get).collect();
        let brackets = written.len() - written.trim_start_matches('[').len();
        let new = format!("{}{}{}", "[".repeat(brackets), dotted(&names), "]".repeat(brackets));
        text = spliced(&text, head, &new);
    }
    Ok(text)
}
