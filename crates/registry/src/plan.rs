//! How a server would be started: an entry of our config once its questions are answered.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::address::check_url;
use crate::answer::{AnswerError, Answers, Question, resolve};
use crate::template::{Lacking, Template};

/// Programs, and those that can take their places.
const ALIKE: [(&str, &str); 2] = [("docker", "podman"), ("python", "python3")];

/// An entry in the making.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) id: String,
    pub(crate) questions: Vec<Question>,
    pub(crate) remarks: Vec<String>,
    pub(crate) start: Start,
}

#[derive(Debug, Clone)]
pub(crate) enum Start {
    Command { command: String, args: Vec<Arg>, env: Vec<(String, Template)>, cwd: Option<String> },
    Remote { kind: &'static str, url: Template, headers: Vec<(String, Template)> },
}

/// A part of a command line.
#[derive(Debug, Clone)]
pub(crate) enum Arg {
    /// One argument, or as many as there are answers.
    Value(Template, Lacking),
    /// `--flag value` for each value.
    Flag(String, Template),
    /// `--flag=value` for each value.
    Joined(String, Template),
    /// `-e NAME` for each variable there is: a container gets only what it is told to take.
    EnvNames,
}

/// An entry as it is written.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Entry {
    Command {
        command: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        #[serde(skip_serializing_if = "Pairs::is_empty")]
        env: Pairs,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Remote {
        #[serde(rename = "type")]
        kind: &'static str,
        url: String,
        #[serde(skip_serializing_if = "Pairs::is_empty")]
        headers: Pairs,
    },
}

/// A JSON object whose members keep their order.
struct Pairs(Vec<(String, String)>);

impl Plan {
    /// Returns an id for the entry.
    pub fn suggested_id(&self) -> &str {
        &self.id
    }

    /// Returns what has to be answered, and what may be.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns what the user should hear before agreeing.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Takes another program that does the same where only that one is here.
    pub fn with_programs(mut self, is_there: impl Fn(&str) -> bool) -> Self {
        if let Start::Command { command, .. } = &mut self.start {
            let other =
                ALIKE.iter().find(|(usual, other)| command == usual && !is_there(usual) && is_there(other));
            if let Some((_, other)) = other {
                *command = (*other).to_owned();
            }
        }
        self
    }

    /// Returns what would be started or asked, with `<name>` where answers go: to be shown before agreeing.
    pub fn summary(&self) -> String {
        let shown = |template: &Template| template.shown(&self.questions);
        match &self.start {
            Start::Remote { url, .. } => shown(url),
            Start::Command { command, args, env, .. } => {
                let mut words = vec![command.clone()];
                for arg in args {
                    match arg {
                        Arg::Value(value, _) => words.push(shown(value)),
                        Arg::Flag(flag, value) => words.extend([flag.clone(), shown(value)]),
                        Arg::Joined(flag, value) => words.push(format!("{flag}={}", shown(value))),
                        Arg::EnvNames => {
                            words.extend(env.iter().flat_map(|(name, _)| ["-e".to_owned(), name.clone()]));
                        }
                    }
                }
                words.join(" ")
            }
        }
    }

    /// Returns the entry as a JSON object. Secrets are named in it, never written.
    pub fn entry(&self, answers: &Answers) -> Result<String, AnswerError> {
        let values = resolve(&self.questions, answers)?;
        let pairs = |pairs: &[(String, Template)]| -> Result<Pairs, AnswerError> {
            let filled = |(name, value): &(String, Template)| -> Result<_, AnswerError> {
                // Several folders in one variable are written as in `PATH`.
                let values = value.fill(&values, Lacking::LeavesItOut)?;
                Ok(if values.is_empty() { None } else { Some((name.clone(), values.join(":"))) })
            };
            Ok(Pairs(pairs.iter().filter_map(|pair| filled(pair).transpose()).collect::<Result<_, _>>()?))
        };
        let entry = match &self.start {
            Start::Command { command, args, env, cwd } => {
                let env = pairs(env)?;
                let mut all = Vec::new();
                for arg in args {
                    all.extend(arg.filled(&values, &env)?);
                }
                let args = all;
                Entry::Command { command: command.clone(), args, env, cwd: cwd.clone() }
            }
            Start::Remote { kind, url, headers } => {
                let url = url.fill(&values, Lacking::IsEmpty)?.into_iter().next().unwrap_or_default();
                // What a variable holds is not known here; the config is checked once it is.
                if !url.contains("${") {
                    check_url(&url).map_err(|_| AnswerError::Address)?;
                }
                Entry::Remote { kind, url, headers: pairs(headers)? }
            }
        };
        // Texts under texts: nothing in it can fail to be written.
        Ok(serde_json::to_string_pretty(&entry).unwrap_or_default())
    }
}

impl Arg {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Value(Template::text(text), Lacking::IsEmpty)
    }

    fn filled(&self, values: &[Vec<String>], env: &Pairs) -> Result<Vec<String>, AnswerError> {
        Ok(match self {
            Self::Value(value, lacking) => value.fill(values, *lacking)?,
            Self::Flag(flag, value) => {
                let values = value.fill(values, Lacking::LeavesItOut)?;
                values.into_iter().flat_map(|value| [flag.clone(), value]).collect()
            }
            Self::Joined(flag, value) => {
                let values = value.fill(values, Lacking::LeavesItOut)?;
                values.into_iter().map(|value| format!("{flag}={value}")).collect()
            }
            Self::EnvNames => env.0.iter().flat_map(|(name, _)| ["-e".to_owned(), name.clone()]).collect(),
        })
    }
}

impl Pairs {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
