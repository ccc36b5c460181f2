//! Questions that have to be answered before a server can be started, and the answers.

use std::collections::BTreeMap;

use crate::text::{MAX_VALUE_BYTES, check_plain};

/// Something only the user knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What it is about, and what answers are given by: `BRAVE_API_KEY`.
    pub name: String,
    /// Foreign words, as one line.
    pub description: String,
    /// Whether there is no entry without an answer; a default is one.
    pub required: bool,
    /// Whether the answer must be named and not written: `Answer::Secret` or `Answer::Variable`.
    pub secret: bool,
    /// What is taken if nothing is answered; several only if it may be repeated.
    pub default: Vec<String>,
    /// The only answers there are, if any are given.
    pub choices: Vec<String>,
    /// Whether there may be several.
    pub repeated: bool,
    pub kind: Kind,
    /// An example to show.
    pub placeholder: Option<String>,
}

/// What sort of text an answer is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    Number {
        min: Option<f64>,
        max: Option<f64>,
    },
    /// `true` or `false`.
    Boolean,
    File,
    Folder,
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A text as it is written in our config, so `${VAR}` in it stands for a variable.
    Text(String),
    Many(Vec<String>),
    /// The name of a secret in the store.
    Secret(String),
    /// The name of a variable of the environment.
    Variable(String),
}

/// Answers by the names of their questions.
#[derive(Debug, Clone, Default)]
pub struct Answers(BTreeMap<String, Answer>);

/// Why answers are not enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("`{0}` needs an answer")]
    Missing(String),
    #[error("`{0}` is a secret: it is not written into a file, but named (`${{secret:NAME}}`)")]
    InTheClear(String),
    #[error("`{name}` must be one of: {}", choices.join(", "))]
    NotAChoice { name: String, choices: Vec<String> },
    #[error("`{0}` must be a number within its bounds")]
    NotANumber(String),
    #[error("`{0}` must be true or false")]
    NotABoolean(String),
    #[error("`{0}` can have only one answer")]
    Several(String),
    #[error("the answer to `{0}` is too long or has control characters")]
    Unfit(String),
    #[error(
        "parts of a text would be read as a variable of yours where they meet; answer without `$` and `{{`"
    )]
    Meeting,
    #[error("nothing asks for `{0}`")]
    NotAsked(String),
    #[error("with these answers the server's address is none that can be asked")]
    Address,
}

impl Answers {
    /// Answers a question; a later answer takes the place of an earlier one.
    pub fn set(&mut self, name: impl Into<String>, answer: Answer) {
        self.0.insert(name.into(), answer);
    }

    pub fn get(&self, name: &str) -> Option<&Answer> {
        self.0.get(name)
    }
}

impl<N: Into<String>> FromIterator<(N, Answer)> for Answers {
    fn from_iter<I: IntoIterator<Item = (N, Answer)>>(answers: I) -> Self {
        Self(answers.into_iter().map(|(name, answer)| (name.into(), answer)).collect())
    }
}

impl Question {
    pub(crate) fn new(name: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: crate::text::described(description),
            required: false,
            secret: false,
            default: Vec::new(),
            choices: Vec::new(),
            repeated: false,
            kind: Kind::Text,
            placeholder: None,
        }
    }

    /// Returns a name for a secret's place in the store: that of its question, as variables are written.
    pub fn secret_name(&self) -> String {
        let safe = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
        let name: String = self.name.chars().map(safe).collect();
        if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
    }

    /// Checks one answer as it is typed.
    pub fn check(&self, answer: &Answer) -> Result<(), AnswerError> {
        self.values(answer).map(|_| ())
    }

    /// Returns what an answer puts into the entry.
    fn values(&self, answer: &Answer) -> Result<Vec<String>, AnswerError> {
        let texts = match answer {
            Answer::Secret(name) => return Ok(vec![format!("${{secret:{}}}", self.reference(name)?)]),
            Answer::Variable(name) => return Ok(vec![format!("${{{}}}", self.reference(name)?)]),
            _ if self.secret => return Err(AnswerError::InTheClear(self.name.clone())),
            Answer::Text(text) => std::slice::from_ref(text),
            Answer::Many(texts) if texts.len() > 1 && !self.repeated => {
                return Err(AnswerError::Several(self.name.clone()));
            }
            Answer::Many(texts) => texts,
        };
        texts.iter().try_for_each(|text| self.check_text(text))?;
        Ok(texts.to_vec())
    }

    fn reference<'n>(&self, name: &'n str) -> Result<&'n str, AnswerError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let is_name = (1..=128).contains(&name.len()) && name.bytes().all(is_allowed);
        if is_name { Ok(name) } else { Err(AnswerError::Unfit(self.name.clone())) }
    }

    fn check_text(&self, text: &str) -> Result<(), AnswerError> {
        let name = || self.name.clone();
        check_plain(text, MAX_VALUE_BYTES).map_err(|_| AnswerError::Unfit(name()))?;
        // What a variable holds is not known here.
        if text.contains("${") {
            return Ok(());
        }
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == text) {
            return Err(AnswerError::NotAChoice { name: name(), choices: self.choices.clone() });
        }
        match self.kind {
            Kind::Number { min, max } => match text.parse::<f64>() {
                Ok(number)
                    if number.is_finite()
                        && min.is_none_or(|min| number >= min)
                        && max.is_none_or(|max| number <= max) =>
                {
                    Ok(())
                }
                _ => Err(AnswerError::NotANumber(name())),
            },
            Kind::Boolean if !matches!(text, "true" | "false") => Err(AnswerError::NotABoolean(name())),
            _ => Ok(()),
        }
    }
}

/// Returns what the answers put into the entry, by the places of their questions; nothing where nothing is said.
pub(crate) fn resolve(questions: &[Question], answers: &Answers) -> Result<Vec<Vec<String>>, AnswerError> {
    if let Some(name) =
        answers.0.keys().find(|name| !questions.iter().any(|question| question.name == **name))
    {
        return Err(AnswerError::NotAsked(name.clone()));
    }
    let resolved = |question: &Question| {
        let values = match answers.get(&question.name) {
            Some(answer) => question.values(answer)?,
            None => question.default.clone(),
        };
        let is_said = values.iter().any(|value| !value.is_empty());
        match is_said || !question.required {
            true => Ok(if is_said { values } else { Vec::new() }),
            false => Err(AnswerError::Missing(question.name.clone())),
        }
    };
    questions.iter().map(resolved).collect()
}
