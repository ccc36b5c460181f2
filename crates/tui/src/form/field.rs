//! One field: what is typed into it, and the JSON that is meant.

use super::json;

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) is_required: bool,
    pub(crate) is_nullable: bool,
    pub(crate) about: String,
    /// What holds where nothing is sent, as JSON.
    pub(crate) default: Option<String>,
    pub(crate) line: Line,
    /// An empty text is meant, and not nothing.
    pub(crate) is_empty_meant: bool,
    /// The schema does not know it; it was written in the editor.
    pub(crate) is_extra: bool,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Text {
        is_secret: bool,
    },
    Integer,
    Number,
    Flag,
    /// One of these, as JSON.
    Choice(Vec<String>),
    Json,
}

/// A line that is typed, with the place of the next character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// In bytes.
    pub(crate) at: usize,
}

impl Line {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len() }
    }

    pub(crate) fn insert(&mut self, c: char) {
        self.text.insert(self.at, c);
        self.at += c.len_utf8();
    }

    pub(crate) fn backspace(&mut self) {
        if let Some(before) = self.text[..self.at].chars().next_back() {
            self.at -= before.len_utf8();
            self.text.remove(self.at);
        }
    }

    pub(crate) fn delete(&mut self) {
        if self.at < self.text.len() {
            self.text.remove(self.at);
        }
    }

    pub(crate) fn left(&mut self) {
        self.at -= self.text[..self.at].chars().next_back().map_or(0, char::len_utf8);
    }

    pub(crate) fn right(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Field {
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            is_required: false,
            is_nullable: false,
            about: String::new(),
            default: None,
            line: Line::default(),
            is_empty_meant: false,
            is_extra: false,
        }
    }

    pub(super) fn text(name: &str, is_required: bool) -> Self {
        Self { is_required, ..Self::new(name, Kind::Text { is_secret: false }) }
    }

    pub(super) fn extra(name: &str, value: &str) -> Self {
        Self { line: Line::new(value), is_extra: true, ..Self::new(name, Kind::Json) }
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.is_empty_meant = false;
    }

    /// Takes over a value that was written as JSON.
    pub(super) fn take(&mut self, value: &str) {
        let text = match (&self.kind, json::text(value)) {
            (Kind::Text { .. }, Some(text)) => text,
            (Kind::Text { .. }, None) if value != "null" => {
                // Sent as it was written, whatever the schema says.
                self.kind = Kind::Json;
                value.to_owned()
            }
            _ => value.to_owned(),
        };
        self.is_empty_meant = text.is_empty();
        self.line = Line::new(&text);
    }

    /// Goes on to the next value of those there are to choose from; nothing is one of them where it may be left out.
    pub(crate) fn cycle(&mut self, is_forwards: bool) {
        let mut values: Vec<String> = match &self.kind {
            Kind::Flag => vec!["true".to_owned(), "false".to_owned()],
            Kind::Choice(values) => values.clone(),
            _ => return,
        };
        if self.is_nullable {
            values.push("null".to_owned());
        }
        if !self.is_required {
            values.insert(0, String::new());
        }
        let now = values.iter().position(|value| *value == self.line.text);
        let next = match (now, is_forwards) {
            (None, _) => 0,
            (Some(now), true) => (now + 1) % values.len(),
            (Some(now), false) => (now + values.len() - 1) % values.len(),
        };
        self.line = Line::new(&values[next]);
    }

    pub(crate) fn is_chosen(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::Choice(_))
    }

    /// Returns what is sent for it, as JSON; `None`: nothing.
    pub(crate) fn value(&self) -> Result<Option<String>, &'static str> {
        let text = self.line.text.as_str();
        if text.is_empty() {
            return match &self.kind {
                Kind::Text { .. } if self.is_required || self.is_empty_meant => Ok(Some("\"\"".to_owned())),
                _ if self.is_required => Err("it must be given"),
                _ => Ok(None),
            };
        }
        let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if self.is_nullable && text.trim() == "null" {
            return Ok(Some("null".to_owned()));
        }
        match &self.kind {
            Kind::Text { .. } => Ok(Some(json::string(text))),
            Kind::Flag | Kind::Choice(_) => Ok(Some(text.to_owned())),
            Kind::Integer => {
                let digits = text.trim().strip_prefix('-').unwrap_or(text.trim());
                match digits.bytes().all(|byte| byte.is_ascii_digit()) && is_json(text) {
                    true => Ok(Some(text.trim().to_owned())),
                    false => Err("a whole number is asked for"),
                }
            }
            Kind::Number => match is_json(text) && text.trim().parse::<f64>().is_ok() {
                true => Ok(Some(text.trim().to_owned())),
                false => Err("a number is asked for"),
            },
            Kind::Json if is_json(text) => Ok(Some(text.trim().to_owned())),
            Kind::Json => Err("JSON is asked for, such as [\"a\"] or {\"b\": 1}"),
        }
    }

    /// Says in a few words what it takes.
    pub(crate) fn takes(&self) -> String {
        let kind = match &self.kind {
            Kind::Text { .. } => "text",
            Kind::Integer => "whole number",
            Kind::Number => "number",
            Kind::Flag => "true or false",
            Kind::Choice(_) => "choice",
            Kind::Json => "JSON",
        };
        if self.is_nullable { format!("{kind} or null") } else { kind.to_owned() }
    }
}
