//! The keys we know. One table, used both to check a file and to write its JSON Schema.

pub(crate) mod table;
#[cfg(test)]
mod tests;

use crate::file::{Node, Value};

/// The keys of one kind of object.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
}

pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// In words, for messages and for the schema; empty where nothing takes its place.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
    /// A wrong kind of value here is not replaced by the default: a server with one cannot work, as its resolver says, and
    /// anything else with one cannot be used.
    pub(crate) vital: bool,
    /// It restricts. Another spelling of its name and what can only be meant are read as meant (`meant.rs`), for to leave
    /// it out would be to allow.
    pub(crate) guard: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Flag,
    Text,
    Choice(&'static [&'static str]),
    Number(Range),
    /// Bytes: a number, or text such as `10MB`.
    Size,
    Texts,
    /// Name → text.
    TextMap,
    /// Name → flag.
    FlagMap,
    /// An object that is none of ours.
    Members,
    Section(&'static Section),
    /// Name → section.
    Map(&'static Section),
    List(&'static Section),
    OneOf(&'static [Self]),
    /// Known from another program and not used by us.
    Unused,
}

/// The numbers a key should have, and those it can have.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) unit: Unit,
    /// Outside `min..=max` but inside this a number is used all the same, with a warning.
    pub(crate) usable: (u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Plain,
    Milliseconds,
    Seconds,
}

/// What is to be thought of a value.
pub(crate) enum Verdict {
    Fits,
    /// Used, but said.
    Odd(String),
    /// Not used; the text says what was expected instead.
    Wrong(String),
}

impl Section {
    pub(crate) fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Kind {
    /// Judges a value by itself; the members of sections are judged one by one elsewhere.
    pub(crate) fn judge(&self, node: &Node) -> Verdict {
        match (self, &node.value) {
            (Self::Unused, _)
            | (Self::Flag, Value::Flag(_))
            | (Self::Text, Value::Text(_))
            | (Self::Section(_) | Self::Map(_) | Self::Members, Value::Object(_))
            | (Self::List(_), Value::List(_)) => Verdict::Fits,
            (Self::Choice(choices), Value::Text(text)) if choices.contains(&text.value.as_str()) => {
                Verdict::Fits
            }
            (Self::Number(range), Value::Number(number)) => range.judge(number),
            (Self::Size, _) if size(node).is_some() => Verdict::Fits,
            (Self::Texts, Value::List(items)) => self.judge_all(items.iter()),
            (Self::TextMap, Value::Object(object)) => self.judge_all(object.members.values()),
            (Self::FlagMap, Value::Object(object))
                if object.members.values().all(|node| matches!(node.value, Value::Flag(_) | Value::Null)) =>
            {
                Verdict::Fits
            }
            (Self::OneOf(kinds), _) => {
                let mut verdicts = kinds.iter().map(|kind| kind.judge(node));
                verdicts
                    .find(|verdict| !matches!(verdict, Verdict::Wrong(_)))
                    .unwrap_or_else(|| self.wrong(node))
            }
            _ => self.wrong(node),
        }
    }

    fn judge_all<'a>(&self, nodes: impl Iterator<Item = &'a Node> + Clone) -> Verdict {
        let mut nodes = nodes.filter(|node| !matches!(node.value, Value::Null));
        if nodes.clone().all(|node| matches!(node.value, Value::Text(_))) {
            Verdict::Fits
        } else if nodes.all(|node| scalar(node).is_some()) {
            Verdict::Odd("numbers and flags are used as text here".to_owned())
        } else {
            Verdict::Wrong(format!("expected {} and nothing else in it", self.describe()))
        }
    }

    fn wrong(&self, node: &Node) -> Verdict {
        let found = match (self, &node.value) {
            // As written, for what a variable stands for is not ours to show.
            (Self::Choice(_), Value::Text(text)) => format!("`{}`", text.raw.escape_debug()),
            (_, value) => value.describe().to_owned(),
        };
        Verdict::Wrong(format!("expected {}, found {found}", self.describe()))
    }

    /// Returns the kind in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Choice(choices) => {
                let quoted: Vec<_> =
                    choices.iter().map(|choice| format!("`{}`", choice.escape_debug())).collect();
                match quoted.as_slice() {
                    [only] => only.clone(),
                    _ => format!("one of {}", quoted.join(", ")),
                }
            }
            Self::Number(_) => "a number".to_owned(),
            Self::Size => "a size such as `10MB`".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::TextMap => "an object of texts".to_owned(),
            Self::FlagMap => "an object of true and false".to_owned(),
            Self::Section(_) | Self::Map(_) | Self::Members => "an object".to_owned(),
            Self::List(_) => "a list of objects".to_owned(),
            Self::OneOf(kinds) => kinds.iter().map(Self::describe).collect::<Vec<_>>().join(", or "),
            Self::Unused => "anything".to_owned(),
        }
    }
}

impl Range {
    /// Returns the number, rounded, if it is one we can use.
    pub(crate) fn read(&self, number: &str) -> Option<u64> {
        let number: f64 = number.parse().ok()?;
        let (least, most) = self.usable;
        let rounded = number.round();
        (rounded >= least as f64 && rounded <= most as f64).then_some(rounded as u64)
    }

    fn judge(&self, number: &str) -> Verdict {
        let outside = format!("{number} is outside {} to {}", self.min, self.max);
        match self.read(number) {
            Some(read) if (self.min..=self.max).contains(&read) => Verdict::Fits,
            Some(_) => Verdict::Odd(outside),
            None => Verdict::Wrong(outside),
        }
    }
}

/// Returns a text, number or flag as text.
pub(crate) fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) => Some(text.value.clone()),
        Value::Number(number) => Some(number.clone()),
        Value::Flag(flag) => Some(flag.to_string()),
        Value::Null | Value::List(_) | Value::Object(_) => None,
    }
}

/// Returns the bytes of a size: a number, or text such as `10MB`, in powers of 1024.
pub(crate) fn size(node: &Node) -> Option<u64> {
    let text = match &node.value {
        Value::Number(number) => number.clone(),
        Value::Text(text) => text.value.trim().to_ascii_uppercase(),
        _ => return None,
    };
    let text = text.strip_suffix('B').unwrap_or(&text);
    let text = text.strip_suffix('I').unwrap_or(text);
    let (digits, power) = match text.char_indices().last() {
        Some((at, 'K')) => (&text[..at], 1),
        Some((at, 'M')) => (&text[..at], 2),
        Some((at, 'G')) => (&text[..at], 3),
        Some((at, 'T')) => (&text[..at], 4),
        _ => (text, 0),
    };
    let bytes = digits.trim().parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))?;
    (bytes > 0).then_some(bytes)
}
