//! The lines of block style: which entries a block has, and which lines are each one's.

use std::ops::Range;

use super::super::Stuck;
use super::super::change::Step;
use crate::file::Value;
use crate::problem::Problems;
use crate::syntax::Syntax;

/// Entries side by side.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) indent: usize,
    pub(super) is_list: bool,
    pub(super) entries: Vec<Entry>,
}

/// A member or an item, with all its lines.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) item: Item,
    pub(super) indent: usize,
    /// Up to the last one that says something; comments behind it are nobody's.
    pub(super) lines: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A key, and where in the line it is.
    Member { key: String, span: Range<usize> },
    /// Behind a `-`.
    Element,
}

/// What an entry's value is.
pub(super) enum Kind {
    Block(Block),
    /// Nothing, `{}` or `[]`.
    Empty,
    Flow,
    Scalar,
}

impl Block {
    /// Reads the entries in some lines; the first line counts from `column` on. `None` where nothing stands in them.
    pub(super) fn read(lines: &[String], within: Range<usize>, column: usize) -> Result<Option<Self>, Stuck> {
        let significant =
            |at: &usize| is_significant(&lines[*at], if *at == within.start { column } else { 0 });
        let Some(first) = within.clone().find(significant) else { return Ok(None) };
        let indent_of = |at: usize| indent(&lines[at], if at == within.start { column } else { 0 });
        let indent = indent_of(first);
        let is_list = is_element(&lines[first][indent..]);
        let mut block = Self { indent, is_list, entries: Vec::new() };
        for at in (first..within.end).filter(significant) {
            let starts = indent_of(at) == indent && is_element(&lines[at][indent..]) == is_list;
            if indent_of(at) < indent {
                return Err(Stuck("its lines are not indented alike"));
            }
            match block.entries.last_mut() {
                _ if starts => block.entries.push(entry(&lines[at], at, indent, is_list)?),
                Some(last) => last.lines.end = at + 1,
                None => return Err(Stuck("its lines are not indented alike")),
            }
        }
        Ok(Some(block))
    }

    pub(super) fn entry(&self, step: &Step) -> Option<&Entry> {
        match step {
            Step::Key(wanted) => self
                .entries
                .iter()
                .find(|entry| matches!(&entry.item, Item::Member { key, .. } if key == wanted)),
            Step::Index(index) => self.entries.get(*index).filter(|_| self.is_list),
        }
    }

    /// Returns the line behind the last entry, and behind the comments that are indented as its lines are.
    pub(super) fn end(&self, lines: &[String]) -> usize {
        let end = self.entries.last().map_or(0, |last| last.lines.end);
        let is_its_comment =
            |line: &&String| line.trim_start().starts_with('#') && indent(line, 0) > self.indent;
        end + lines[end..].iter().take_while(is_its_comment).count()
    }
}

impl Entry {
    /// Returns where the value may begin in the entry's first line.
    pub(super) fn value_start(&self, line: &str) -> usize {
        match &self.item {
            Item::Member { span, .. } => span.end + line[span.end..].find(':').map_or(0, |colon| colon + 1),
            Item::Element => self.indent + 1,
        }
    }

    /// Returns the first line up to where the value may begin.
    pub(super) fn head(&self, lines: &[String]) -> String {
        let line = &lines[self.lines.start];
        line[..self.value_start(line)].to_owned()
    }

    /// Returns where the value is in the first line, if all of it is there.
    pub(super) fn inline_value(&self, lines: &[String]) -> Option<Range<usize>> {
        let line = &lines[self.lines.start];
        let start = self.value_start(line);
        let rest = &line[start..];
        let from = start + rest.len() - rest.trim_start().len();
        let to = start + without_comment(rest).trim_end().len();
        (self.lines.len() == 1 && from < to).then_some(from..to)
    }

    /// Returns the comment behind an entry that is one line.
    pub(super) fn comment<'l>(&self, lines: &'l [String]) -> Option<&'l str> {
        let line = &lines[self.lines.start];
        let rest = &line[self.value_start(line)..];
        let comment = &rest[without_comment(rest).len()..];
        (self.lines.len() == 1 && !comment.is_empty()).then_some(comment)
    }

    pub(super) fn kind(&self, lines: &[String]) -> Result<Kind, Stuck> {
        let line = &lines[self.lines.start];
        let start = self.value_start(line);
        let value = without_comment(&line[start..]).trim();
        match value {
            "{}" | "[]" if self.lines.len() == 1 => Ok(Kind::Empty),
            "" if self.lines.len() == 1 => Ok(Kind::Empty),
            "" => {
                let within = self.lines.start + 1..self.lines.end;
                let block = Block::read(lines, within, 0)?;
                Ok(block.map_or(Kind::Empty, Kind::Block))
            }
            _ if value.starts_with(['&', '*', '!']) => Err(Stuck("it has an anchor, an alias or a tag")),
            _ if value.starts_with(['{', '[']) => Ok(Kind::Flow),
            _ if matches!(self.item, Item::Element) && (is_element(value) || key_of(value).is_some()) => {
                let block = Block::read(lines, self.lines.clone(), start)?;
                Ok(block.map_or(Kind::Empty, Kind::Block))
            }
            _ => Ok(Kind::Scalar),
        }
    }

    /// Takes the `{}` or `[]` away from an entry that is to get lines of its own.
    pub(super) fn clear_value(&self, lines: &mut [String]) -> Result<(), Stuck> {
        let start = self.value_start(&lines[self.lines.start]);
        if let Some(value) = self.inline_value(lines) {
            lines[self.lines.start].replace_range(start..value.end, "");
        }
        Ok(())
    }

    /// Tells whether a `-` stands before it in its line.
    pub(super) fn shares_line(&self, lines: &[String]) -> bool {
        lines[self.lines.start][..self.indent].contains('-')
    }
}

fn entry(line: &str, at: usize, indent: usize, is_list: bool) -> Result<Entry, Stuck> {
    let item = if is_list {
        Item::Element
    } else {
        let (key, length) = key_of(&line[indent..]).ok_or(Stuck("a line of it is no `key: value`"))?;
        Item::Member { key, span: indent..indent + length }
    };
    Ok(Entry { item, indent, lines: at..at + 1 })
}

/// Returns the key a line begins with, and how long it is as written.
fn key_of(line: &str) -> Option<(String, usize)> {
    let length = match line.chars().next()? {
        quote @ ('"' | '\'') => {
            let mut escaped = false;
            let end = line[1..].char_indices().find(|(_, char)| {
                let ends = *char == quote && !escaped;
                escaped = quote == '"' && *char == '\\' && !escaped;
                ends
            });
            end?.0 + 2
        }
        '?' | '{' | '[' | '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' => return None,
        _ => line.find(": ").or_else(|| line.strip_suffix(':').map(str::len)).or_else(|| line.find(":\t"))?,
    };
    let (written, rest) = line.split_at(length);
    let is_key = rest
        .trim_start()
        .strip_prefix(':')
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let written = written.trim_end();
    if !is_key || written.contains(" #") {
        return None;
    }
    let read = Syntax::Yaml.read(&format!("{written}: 0"), &mut Problems::default()).ok()??;
    match read.value {
        Value::Object(object) if object.members.len() == 1 => {
            Some((object.members.keys().next()?.clone(), written.len()))
        }
        _ => None,
    }
}

/// Returns a line without the comment behind what it says.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    let mut escaped = false;
    for (at, char) in line.char_indices() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if char == '\\' => escaped = true,
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None if char == '#' && before.is_whitespace() => return &line[..at],
            None if (char == '"' || char == '\'') && (before.is_whitespace() || "[{,:".contains(before)) => {
                quote = Some(char);
            }
            None => {}
        }
        before = char;
    }
    line
}

fn is_element(rest: &str) -> bool {
    rest == "-" || rest.starts_with("- ")
}

fn indent(line: &str, column: usize) -> usize {
    let rest = line.get(column..).unwrap_or_default();
    column + rest.len() - rest.trim_start_matches(' ').len()
}

fn is_significant(line: &str, column: usize) -> bool {
    let rest = line.get(column..).unwrap_or_default().trim();
    !rest.is_empty() && !rest.starts_with('#') && rest != "---" && rest != "..."
}
