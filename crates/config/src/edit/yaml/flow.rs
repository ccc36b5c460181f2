//! Cuts into what stands between brackets in one line: what is not changed keeps its bytes, for `012`, `1.10` and `on` are
//! not the same to every reader.

use std::ops::Range;

use super::super::Stuck;
use super::super::brackets::{Brackets, Comments, NewItem};
use super::super::change::{Change, Step, node, wrapped};
use super::super::json::{inline, quoted};
use super::super::lines::spliced;
use crate::file::Value;

const NO_MEMBER: Stuck = Stuck("there is no such member");
const UNREADABLE: Stuck = Stuck("what is between its brackets cannot be read");

pub(super) fn write(text: &str, change: &Change) -> Result<String, Stuck> {
    let mut scan = Scan { text, at: 0 };
    let whole = scan.part(0)?;
    if !text[scan.at..].trim().is_empty() {
        return Err(UNREADABLE);
    }
    match change {
        Change::Set { at, value } => set(text, &whole, at, value),
        Change::Push { list, value } => match find(&whole, list) {
            Ok(part @ Part { shape: Shape::List(_), .. }) => Ok(insert(text, part, inline(value))),
            Ok(_) => Err(Stuck("there is something else than a list")),
            Err(_) => set(text, &whole, list, &Value::List(vec![node(value.clone())])),
        },
        Change::Remove { at } => {
            let (last, way) = at.split_last().ok_or(NO_MEMBER)?;
            let holder = find(&whole, way).map_err(|_| NO_MEMBER)?;
            let index = holder.position(last).ok_or(NO_MEMBER)?;
            Ok(holder.brackets().remove(text, index))
        }
        Change::Rename { at, to } => {
            let (last, way) = at.split_last().ok_or(NO_MEMBER)?;
            let holder = find(&whole, way).map_err(|_| NO_MEMBER)?;
            let index = holder.position(last).ok_or(NO_MEMBER)?;
            let Shape::Map(members) = &holder.shape else { return Err(NO_MEMBER) };
            Ok(spliced(text, members[index].key.clone(), &quoted(to)))
        }
    }
}

fn set(text: &str, whole: &Part, at: &[Step], value: &Value) -> Result<String, Stuck> {
    match find(whole, at) {
        Ok(there) => Ok(spliced(text, there.span.clone(), &inline(value))),
        Err((holder @ Part { shape: Shape::Map(_), .. }, taken)) => {
            let (Step::Key(key), missing) = at[taken..].split_first().ok_or(NO_MEMBER)? else {
                return Err(Stuck("there is no such item in the list"));
            };
            let value = wrapped(missing, value.clone())?;
            Ok(insert(text, holder, format!("{}: {}", quoted(key), inline(&value))))
        }
        Err(_) => Err(Stuck("there is something else than an object")),
    }
}

fn insert(text: &str, holder: &Part, item: String) -> String {
    holder.brackets().insert(text, &NewItem { inline: item, open: &|_| String::new() })
}

/// Returns what stands there; else the last that does, and how many steps lead to it.
fn find<'p>(whole: &'p Part, path: &[Step]) -> Result<&'p Part, (&'p Part, usize)> {
    let mut here = whole;
    for (taken, step) in path.iter().enumerate() {
        here = here.position(step).and_then(|index| here.value(index)).ok_or((here, taken))?;
    }
    Ok(here)
}

/// A value, by where it stands.
struct Part {
    span: Range<usize>,
    shape: Shape,
}

enum Shape {
    Map(Vec<Member>),
    List(Vec<Part>),
    Scalar,
}

struct Member {
    name: String,
    key: Range<usize>,
    value: Part,
}

impl Part {
    fn position(&self, step: &Step) -> Option<usize> {
        match (step, &self.shape) {
            (Step::Key(key), Shape::Map(members)) => members.iter().position(|member| member.name == *key),
            (Step::Index(index), Shape::List(items)) => (*index < items.len()).then_some(*index),
            _ => None,
        }
    }

    fn value(&self, index: usize) -> Option<&Self> {
        match &self.shape {
            Shape::Map(members) => members.get(index).map(|member| &member.value),
            Shape::List(items) => items.get(index),
            Shape::Scalar => None,
        }
    }

    fn brackets(&self) -> Brackets {
        let items = match &self.shape {
            Shape::Map(members) => {
                members.iter().map(|member| member.key.start..member.value.span.end).collect()
            }
            Shape::List(items) => items.iter().map(|item| item.span.clone()).collect(),
            Shape::Scalar => Vec::new(),
        };
        Brackets::new(self.span.clone(), items, Comments::Hash)
    }
}

/// No config is deeper.
const MAX_DEPTH: usize = 24;

struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl Scan<'_> {
    /// Reads the value that begins here.
    fn part(&mut self, depth: usize) -> Result<Part, Stuck> {
        let start = self.at;
        let shape = match self.next() {
            _ if depth > MAX_DEPTH => return Err(UNREADABLE),
            Some('{') => Shape::Map(self.items('}', |scan| scan.member(depth + 1))?),
            Some('[') => Shape::List(self.items(']', |scan| scan.part(depth + 1))?),
            _ => {
                self.scalar()?;
                Shape::Scalar
            }
        };
        Ok(Part { span: start..self.at, shape })
    }

    fn items<T>(
        &mut self,
        end: char,
        mut item: impl FnMut(&mut Self) -> Result<T, Stuck>,
    ) -> Result<Vec<T>, Stuck> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blank();
            if self.next() == Some(end) {
                self.at += 1;
                return Ok(items);
            }
            items.push(item(self)?);
            self.skip_blank();
            match self.next() {
                Some(',') => self.at += 1,
                Some(close) if close == end => {}
                _ => return Err(UNREADABLE),
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<Member, Stuck> {
        let start = self.at;
        let name = self.scalar()?;
        let key = start..self.at;
        self.skip_blank();
        if self.next() != Some(':') || name.is_empty() {
            return Err(Stuck("a key between its brackets has no value"));
        }
        self.at += 1;
        self.skip_blank();
        Ok(Member { name, key, value: self.part(depth)? })
    }

    /// Reads a text, in quotes or without, and returns what it says as far as that is plain.
    fn scalar(&mut self) -> Result<String, Stuck> {
        match self.next() {
            Some('\'') => self.single_quoted(),
            Some('"') => self.double_quoted(),
            Some('&' | '*' | '!' | '#' | '|' | '>' | '@' | '`') => {
                Err(Stuck("it has an anchor, an alias or a tag"))
            }
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Result<String, Stuck> {
        let rest = &self.text[self.at..];
        let ends = |at: usize, c: char| match c {
            ',' | '{' | '}' | '[' | ']' => true,
            ':' => rest[at + 1..].chars().next().is_none_or(|next| " ,{}[]".contains(next)),
            _ => false,
        };
        let end = rest.char_indices().find(|(at, c)| ends(*at, *c)).map_or(rest.len(), |(at, _)| at);
        let text = rest[..end].trim_end();
        if text.contains(" #") || rest[end..].starts_with(['{', '[']) {
            return Err(UNREADABLE);
        }
        self.at += text.len();
        Ok(text.to_owned())
    }

    fn single_quoted(&mut self) -> Result<String, Stuck> {
        let rest = &self.text[self.at + 1..];
        let mut from = 0;
        loop {
            let quote = from + rest[from..].find('\'').ok_or(UNREADABLE)?;
            if !rest[quote + 1..].starts_with('\'') {
                self.at += quote + 2;
                return Ok(rest[..quote].replace("''", "'"));
            }
            from = quote + 2;
        }
    }

    fn double_quoted(&mut self) -> Result<String, Stuck> {
        let rest = &self.text[self.at + 1..];
        let mut is_escaped = false;
        for (at, c) in rest.char_indices() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    self.at += at + 2;
                    let name = &rest[..at];
                    // What is escaped is nobody's plain name.
                    let plain = serde_json::from_str::<String>(&format!("\"{name}\""));
                    return Ok(plain.unwrap_or_else(|_| name.to_owned()));
                }
                _ => {}
            }
        }
        Err(UNREADABLE)
    }

    fn skip_blank(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn next(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
}
