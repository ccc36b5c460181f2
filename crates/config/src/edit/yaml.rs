//! Cuts into YAML: lines of block style, and what stands between brackets in one line.

mod block;
mod flow;
mod render;

use super::Stuck;
use super::change::{Change, Step, node, wrapped};
use crate::file::Value;
use block::{Block, Entry, Item, Kind};
use render::{Style, key_text, lines_of, scalar};

const NO_MEMBER: Stuck = Stuck("there is no such member");

pub(super) fn write(text: &str, change: &Change) -> Result<String, Stuck> {
    let mut page = Page::of(text);
    match change {
        Change::Set { at, value } => page.set(at, value)?,
        Change::Push { list, value } => page.push(list, value)?,
        Change::Remove { at } => page.remove(at)?,
        Change::Rename { at, to } => page.rename(at, to)?,
    }
    Ok(page.into_text())
}

/// The lines of a file.
struct Page {
    lines: Vec<String>,
    style: Style,
}

/// Where a way ends.
enum Found {
    /// In a block: the entry itself.
    Entry(Entry),
    /// Between brackets that begin in an entry: the entry, and the rest of the way.
    Flow(Entry, usize),
    /// Nowhere: the block that has no such member, and how many steps lead to it. An entry without a value holds none yet.
    Missing(Holder, usize),
}

/// What a new member or item goes into.
enum Holder {
    Block(Block),
    /// An entry whose value is empty: nothing, `{}` or `[]`.
    Empty(Entry),
    /// The file, in which nothing stands.
    File,
}

impl Page {
    fn of(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let style = Style::of(&lines);
        Self { lines, style }
    }

    fn into_text(self) -> String {
        self.lines.into_iter().map(|line| line + "\n").collect()
    }

    fn find(&self, path: &[Step]) -> Result<Found, Stuck> {
        let Some(mut block) = Block::read(&self.lines, 0..self.lines.len(), 0)? else {
            return Ok(Found::Missing(Holder::File, 0));
        };
        for (taken, step) in path.iter().enumerate() {
            let Some(entry) = block.entry(step) else {
                return Ok(Found::Missing(Holder::Block(block), taken));
            };
            let entry = entry.clone();
            if taken + 1 == path.len() {
                return Ok(Found::Entry(entry));
            }
            match entry.kind(&self.lines)? {
                Kind::Block(inner) => block = inner,
                Kind::Empty => return Ok(Found::Missing(Holder::Empty(entry), taken + 1)),
                Kind::Flow => return Ok(Found::Flow(entry, taken + 1)),
                Kind::Scalar => return Err(Stuck("there is something else than an object")),
            }
        }
        Err(NO_MEMBER)
    }

    fn set(&mut self, at: &[Step], value: &Value) -> Result<(), Stuck> {
        match self.find(at)? {
            Found::Entry(entry) => self.replace(&entry, value),
            Found::Flow(entry, taken) => {
                let change = Change::Set { at: at[taken..].to_vec(), value: value.clone() };
                self.change_flow(&entry, &change)
            }
            Found::Missing(holder, taken) => {
                let (Step::Key(key), missing) = at[taken..].split_first().ok_or(NO_MEMBER)? else {
                    return Err(Stuck("there is no such item in the list"));
                };
                self.add(holder, Some(key), &wrapped(missing, value.clone())?)
            }
        }
    }

    fn push(&mut self, list: &[Step], value: &Value) -> Result<(), Stuck> {
        match self.find(list)? {
            Found::Entry(entry) => match entry.kind(&self.lines)? {
                Kind::Block(block) if block.is_list => self.add(Holder::Block(block), None, value),
                Kind::Empty => self.add(Holder::Empty(entry), None, value),
                Kind::Flow => {
                    self.change_flow(&entry, &Change::Push { list: Vec::new(), value: value.clone() })
                }
                _ => Err(Stuck("there is something else than a list")),
            },
            Found::Flow(entry, taken) => {
                self.change_flow(&entry, &Change::Push { list: list[taken..].to_vec(), value: value.clone() })
            }
            Found::Missing(..) => self.set(list, &Value::List(vec![node(value.clone())])),
        }
    }

    fn remove(&mut self, at: &[Step]) -> Result<(), Stuck> {
        match self.find(at)? {
            Found::Entry(entry) => {
                let parent = self.parent_of(at)?;
                self.cut(&entry, parent.as_ref())
            }
            Found::Flow(entry, taken) => {
                self.change_flow(&entry, &Change::Remove { at: at[taken..].to_vec() })
            }
            Found::Missing(..) => Err(NO_MEMBER),
        }
    }

    fn rename(&mut self, at: &[Step], to: &str) -> Result<(), Stuck> {
        match self.find(at)? {
            Found::Entry(Entry { item: Item::Member { span, .. }, lines, .. }) => {
                self.lines[lines.start].replace_range(span, &key_text(to));
                Ok(())
            }
            Found::Flow(entry, taken) => {
                self.change_flow(&entry, &Change::Rename { at: at[taken..].to_vec(), to: to.to_owned() })
            }
            _ => Err(NO_MEMBER),
        }
    }

    /// Returns the entry that holds what stands there, if it is not the file itself, and whether nothing else is in it.
    fn parent_of(&self, at: &[Step]) -> Result<Option<(Entry, bool)>, Stuck> {
        let way = &at[..at.len() - 1];
        if way.is_empty() {
            return Ok(None);
        }
        let Found::Entry(parent) = self.find(way)? else { return Ok(None) };
        let is_alone = matches!(parent.kind(&self.lines)?, Kind::Block(block) if block.entries.len() == 1);
        Ok(Some((parent, is_alone)))
    }

    /// Puts another value in an entry's place. What stands in one line keeps the comment behind it.
    fn replace(&mut self, entry: &Entry, value: &Value) -> Result<(), Stuck> {
        let head = entry.head(&self.lines);
        if let (Some(plain), Some(written)) = (scalar(value), entry.inline_value(&self.lines)) {
            self.lines[entry.lines.start].replace_range(written, &plain);
            return Ok(());
        }
        let (first, more) = lines_of(value, entry.indent, &self.style);
        let new = std::iter::once(format!("{head}{first}")).chain(more);
        self.lines.splice(entry.lines.clone(), new);
        Ok(())
    }

    fn add(&mut self, holder: Holder, key: Option<&str>, value: &Value) -> Result<(), Stuck> {
        let (at, indent) = match &holder {
            Holder::Block(block) if block.is_list == key.is_none() => (block.end(&self.lines), block.indent),
            Holder::Block(_) => return Err(Stuck("there is something else than an object")),
            Holder::Empty(entry) => {
                entry.clear_value(&mut self.lines)?;
                (entry.lines.start + 1, entry.indent + self.style.step)
            }
            Holder::File => (self.lines.len(), 0),
        };
        let label = key.map_or_else(|| "-".to_owned(), |key| format!("{}:", key_text(key)));
        // An item's members stand beside its mark.
        let (first, more) = match (key, value) {
            (None, Value::Object(object)) if !object.members.is_empty() => {
                render::item(object, indent, &self.style)
            }
            _ => lines_of(value, indent, &self.style),
        };
        let first = format!("{}{label}{first}", " ".repeat(indent));
        self.lines.splice(at..at, std::iter::once(first).chain(more));
        Ok(())
    }

    /// Takes an entry's lines out; the comment behind one that is a single line stays. A block of which nothing is left is `{}` or `[]`.
    fn cut(&mut self, entry: &Entry, parent: Option<&(Entry, bool)>) -> Result<(), Stuck> {
        let last = parent.filter(|(_, is_alone)| *is_alone).map(|(parent, _)| parent);
        if entry.shares_line(&self.lines) {
            return self.cut_first(entry, last.is_some());
        }
        let comment =
            entry.comment(&self.lines).map(|comment| format!("{}{comment}", " ".repeat(entry.indent)));
        self.lines.splice(entry.lines.clone(), comment);
        if let Some(parent) = last {
            let empty = if matches!(entry.item, Item::Element) { " []" } else { " {}" };
            let line = &mut self.lines[parent.lines.start];
            let at = parent.value_start(line);
            line.insert_str(at, empty);
        }
        Ok(())
    }

    /// Takes out the first member of an item of a list: the next one comes to stand beside the mark.
    fn cut_first(&mut self, entry: &Entry, is_alone: bool) -> Result<(), Stuck> {
        let next = entry.lines.end;
        if is_alone || next >= self.lines.len() {
            return Err(Stuck("nothing would be left of the item"));
        }
        let mark = self.lines[entry.lines.start][..entry.indent].to_owned();
        let is_member = |line: &String| {
            let indent = line.get(..entry.indent).is_some_and(|indent| indent.trim_matches(' ').is_empty());
            indent && !line.trim_start().starts_with('#') && !line.trim().is_empty()
        };
        if !is_member(&self.lines[next]) {
            return Err(Stuck("a comment stands between the members of the item"));
        }
        self.lines[next].replace_range(..entry.indent, &mark);
        self.lines.drain(entry.lines.clone());
        Ok(())
    }

    /// Changes what stands between brackets in one line.
    fn change_flow(&mut self, entry: &Entry, change: &Change) -> Result<(), Stuck> {
        let written = entry
            .inline_value(&self.lines)
            .ok_or(Stuck("what is between its brackets is several lines long"))?;
        let line = &mut self.lines[entry.lines.start];
        let new = flow::write(&line[written.clone()], change)?;
        line.replace_range(written, &new);
        Ok(())
    }
}
