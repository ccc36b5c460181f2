//! Texts with places that answers fill in.

use std::collections::BTreeMap;

use crate::answer::{AnswerError, Kind, Question};
use crate::flaw::{Flaw, Refused, Shown};
use crate::server_json::Input;
use crate::text::check_value;

/// A text, parts of which are answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// The answer to the question at this place.
    Answer(usize),
}

/// What becomes of a text some part of which nobody gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lacking {
    LeavesItOut,
    IsEmpty,
}

impl Template {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    pub(crate) fn answer(question: usize) -> Self {
        Self(vec![Piece::Answer(question)])
    }

    pub(crate) fn has_answers(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Answer(_)))
    }

    /// Returns the text once for each repetition, or not at all.
    pub(crate) fn fill(&self, values: &[Vec<String>], lacking: Lacking) -> Result<Vec<String>, AnswerError> {
        let answers = self.0.iter().filter_map(|piece| match piece {
            Piece::Answer(question) => Some(values[*question].len()),
            Piece::Text(_) => None,
        });
        let counts: Vec<usize> = answers.collect();
        if counts.contains(&0) && lacking == Lacking::LeavesItOut {
            return Ok(Vec::new());
        }
        let times = counts.into_iter().max().unwrap_or(1).max(1);
        (0..times).map(|turn| self.filled(values, turn)).collect()
    }

    fn filled(&self, values: &[Vec<String>], turn: usize) -> Result<String, AnswerError> {
        let mut text = String::new();
        for piece in &self.0 {
            let part = match piece {
                Piece::Text(text) => text.as_str(),
                // Who is asked once is meant every time.
                Piece::Answer(question) => {
                    let values = &values[*question];
                    values.get(turn).or(values.last()).map_or("", String::as_str)
                }
            };
            // Each part was looked at alone: together they must not name what our config fills in.
            if text.ends_with('$') && part.starts_with('{') {
                return Err(AnswerError::Meeting);
            }
            text.push_str(part);
        }
        Ok(text)
    }

    /// Returns the text with `<name>` where answers go.
    pub(crate) fn shown(&self, questions: &[Question]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Answer(question) => format!("<{}>", questions[*question].name),
        };
        self.0.iter().map(piece).collect()
    }
}

/// The questions of a plan as they are found.
#[derive(Debug, Default)]
pub(crate) struct Questions(pub(crate) Vec<Question>);

impl Questions {
    /// Asks, unless the very same is asked already; two questions of one name get two names.
    pub(crate) fn ask(&mut self, mut question: Question) -> usize {
        let name = question.name.clone();
        let mut number = 1;
        loop {
            match self.0.iter().position(|asked| asked.name == question.name) {
                Some(at) if self.0[at] == question => return at,
                Some(_) => {
                    number += 1;
                    question.name = format!("{name}_{number}");
                }
                None => break,
            }
        }
        self.0.push(question);
        self.0.len() - 1
    }
}

/// What an input stands in.
pub(crate) struct Context<'a> {
    pub(crate) questions: &'a mut Questions,
    /// Where it is written, for errors.
    pub(crate) place: String,
    /// What a question for it is called.
    pub(crate) name: &'a str,
    pub(crate) is_repeated: bool,
}

/// What a variable takes over from the text it stands in.
#[derive(Clone, Copy)]
pub(crate) struct Outer {
    pub(crate) is_required: bool,
    pub(crate) is_secret: bool,
    pub(crate) is_repeated: bool,
}

impl Input {
    /// Returns the text an input stands for, and asks what it takes.
    pub(crate) fn template(
        &self,
        variables: &BTreeMap<String, Input>,
        context: Context<'_>,
    ) -> Result<Template, Refused> {
        let Context { questions, place, name, is_repeated } = context;
        let outer = Outer { is_required: self.is_required, is_secret: self.is_secret, is_repeated };
        let Some(value) = &self.value else {
            let question = self.question(name, outer).map_err(|flaw| flaw.at(place))?;
            return Ok(Template::answer(questions.ask(question)));
        };
        check_value(&value.0).map_err(|flaw| flaw.at(place.clone()))?;
        let mut pieces = Vec::new();
        for part in parts(&value.0) {
            let variable = part.name.and_then(|name| Some((name, variables.get(name)?)));
            pieces.push(match variable {
                None => Piece::Text(part.whole.to_owned()),
                Some((name, variable)) => variable
                    .piece(name, outer, questions)
                    .map_err(|flaw| flaw.at(format!("{place}.variables.{name}")))?,
            });
        }
        Ok(Template(pieces))
    }

    /// Returns what stands for a variable.
    pub(crate) fn piece(&self, name: &str, outer: Outer, questions: &mut Questions) -> Result<Piece, Flaw> {
        if let Some(value) = &self.value {
            check_value(&value.0)?;
            return Ok(Piece::Text(value.0.clone()));
        }
        let question = self.question(name, outer)?;
        Ok(Piece::Answer(questions.ask(question)))
    }

    fn question(&self, name: &str, outer: Outer) -> Result<Question, Flaw> {
        let secret = self.is_secret || outer.is_secret;
        check_value(name)?;
        let choices: Vec<String> = self.choices.iter().map(|choice| choice.0.clone()).collect();
        choices.iter().try_for_each(|choice| check_value(choice))?;
        let default = self.default.as_ref().map(|default| default.0.clone()).filter(|text| !text.is_empty());
        if let Some(default) = &default {
            check_value(default)?;
            if !choices.is_empty() && !choices.contains(default) {
                return Err(Flaw::Choice(Shown::new(default)));
            }
        }
        let kind = match self.format.as_deref() {
            Some("number") => Kind::Number { min: None, max: None },
            Some("boolean") => Kind::Boolean,
            Some("filepath") => Kind::File,
            _ => Kind::Text,
        };
        Ok(Question {
            required: self.is_required || outer.is_required,
            secret,
            // A secret that everybody can read is none.
            default: default.filter(|_| !secret).into_iter().collect(),
            choices,
            repeated: outer.is_repeated,
            kind,
            placeholder: self.placeholder.as_deref().map(crate::text::described),
            ..Question::new(name, self.description.as_deref().unwrap_or_default())
        })
    }
}

/// A part of a text: `{name}`, or what stands between such.
pub(crate) struct Part<'t> {
    pub(crate) whole: &'t str,
    pub(crate) name: Option<&'t str>,
}

/// Cuts a text at its `{name}`s.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let name = rest[open + 1..].split(['{', '}']).next().unwrap_or_default();
        let end = open + 1 + name.len();
        if !rest[end..].starts_with('}') || name.is_empty() {
            from = open + 1;
            continue;
        }
        if open > 0 {
            parts.push(Part { whole: &rest[..open], name: None });
        }
        parts.push(Part { whole: &rest[open..=end], name: Some(name) });
        rest = &rest[end + 1..];
        from = 0;
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Part { whole: rest, name: None });
    }
    parts
}
