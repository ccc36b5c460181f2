//! What a server is told: from the command line, or from whoever was asked.

use std::collections::BTreeMap;
use std::path::Path;

use manifold_config::Environment;
use manifold_registry::{Answer, Answers, Kind, Question};

use super::super::secrets::Keeper;
use crate::output::{Failure, Suggestion};

/// Answers by the names of their questions, secrets still among them.
#[derive(Default)]
pub(super) struct Told(BTreeMap<String, Vec<String>>);

/// What an answer's place in the entry and in the store is made of.
pub(super) struct Naming<'a> {
    pub(super) id: &'a str,
    pub(super) is_bundle: bool,
    pub(super) environment: &'a Environment,
}

impl Told {
    /// Takes the answers among what was given. Returns what is left of `env`: variables that nothing asks for.
    pub(super) fn of(
        questions: &[Question],
        set: &[String],
        env: &[String],
    ) -> Result<(Self, Vec<String>), Failure> {
        let mut told = Self::default();
        for pair in set {
            let (name, value) = pair_of(pair);
            if !questions.iter().any(|question| question.name == name) {
                let names = questions.iter().map(|question| question.name.as_str());
                let all: Vec<&str> = names.clone().collect();
                let all = if all.is_empty() { "nothing".to_owned() } else { all.join(", ") };
                let hint = Suggestion::among(names, name).or(&format!("it asks for {all}"));
                return Err(Failure::usage(format!("the server does not ask for '{name}'")).hint(hint));
            }
            told.add(name, value);
        }
        let mut left = Vec::new();
        for pair in env {
            let (name, value) = pair_of(pair);
            match questions.iter().any(|question| question.name == name) {
                true => told.add(name, value),
                false => left.push(pair.clone()),
            }
        }
        Ok((told, left))
    }

    pub(super) fn add(&mut self, name: &str, value: String) {
        self.0.entry(name.to_owned()).or_default().push(value);
    }

    pub(super) fn has(&self, question: &Question) -> bool {
        self.0.contains_key(&question.name)
    }

    /// Refuses to go on where something has to be known that nobody said, all of it at once.
    pub(super) fn check_whole(&self, questions: &[Question], summary: &str) -> Result<(), Failure> {
        let is_said = |question: &Question| {
            let values = self.0.get(&question.name).unwrap_or(&question.default);
            values.iter().any(|value| !value.is_empty())
        };
        let missing: Vec<&Question> =
            questions.iter().filter(|question| question.required && !is_said(question)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let lines: String = missing.iter().map(|question| format!("\n  {}", described(question))).collect();
        let secret = missing.iter().find(|question| question.secret).map(|secret| {
            let (name, stored) = (&secret.name, secret.secret_name());
            format!(
                " (a secret: `manifold secret set {stored}`, and then --set '{name}=${{secret:{stored}}}')"
            )
        });
        let message = format!("`{summary}` has to know more than was said");
        let secret = secret.unwrap_or_default();
        Err(Failure::usage(message).hint(format!("add --set NAME=VALUE for each{secret}:{lines}")))
    }

    /// Returns the answers. Secrets get names, which stand in the entry instead of them.
    pub(super) fn into_answers(
        self,
        questions: &[Question],
        naming: &Naming<'_>,
        keeper: &mut Keeper,
    ) -> Result<Answers, Failure> {
        let mut answers = Answers::default();
        for question in questions {
            let Some(values) = self.0.get(&question.name) else { continue };
            let values: Vec<String> = values.iter().filter(|value| !value.is_empty()).cloned().collect();
            let answer = match values.as_slice() {
                [] => continue,
                [secret] if question.secret => match named(secret) {
                    Some(answer) => answer,
                    None => Answer::Secret(keeper.name_for(&naming.of(question), secret)?),
                },
                [one] => Answer::Text(naming.text(question, one)),
                several => Answer::Many(several.iter().map(|one| naming.text(question, one)).collect()),
            };
            question.check(&answer).map_err(|error| Failure::usage(error.to_string()))?;
            answers.set(&question.name, answer);
        }
        Ok(answers)
    }
}

impl Naming<'_> {
    /// Returns what a secret is called in the store. Names that every second server uses get the server's before them.
    fn of(&self, question: &Question) -> String {
        let name = question.secret_name();
        let is_telling = !self.is_bundle && name == question.name && name.contains('_');
        if is_telling {
            return name;
        }
        let safe = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
        let id: String = self.id.chars().map(safe).collect();
        if name.starts_with(&id) { name } else { format!("{id}_{}", name.trim_start_matches('_')) }
    }

    /// Returns a path that is the same wherever the server is started, and any other text as it is.
    fn text(&self, question: &Question, text: &str) -> String {
        let is_path = matches!(question.kind, Kind::File | Kind::Folder);
        if !is_path || text.starts_with('$') {
            return text.to_owned();
        }
        let Environment { home, cwd, .. } = self.environment;
        match (text.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.display().to_string(),
            (Some(rest), Some(home)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/')).display().to_string()
            }
            _ => cwd.join(Path::new(text)).display().to_string(),
        }
    }
}

/// Returns what is asked, in one line; foreign words.
pub(super) fn described(question: &Question) -> String {
    let mut line = question.name.clone();
    if question.secret {
        line.push_str(" (secret)");
    }
    if !question.description.is_empty() {
        line.push_str(": ");
        line.push_str(&question.description);
    }
    if !question.choices.is_empty() {
        line.push_str(&format!(" (one of {})", question.choices.join(", ")));
    }
    line
}

/// Returns the secret or variable that a text names.
fn named(text: &str) -> Option<Answer> {
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    match inner.strip_prefix("secret:") {
        Some(name) => is_name(name).then(|| Answer::Secret(name.to_owned())),
        None => is_name(inner).then(|| Answer::Variable(inner.to_owned())),
    }
}

fn pair_of(pair: &str) -> (&str, String) {
    match pair.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (pair, format!("${{{pair}}}")),
    }
}
