//! A server that was found in some program's file.

use std::fmt;
use std::path::PathBuf;

use super::secrets::{self, Place};
use super::start::Start;
use super::{check, known, ourselves};
use crate::edit::inline;
use crate::environment::Environment;
use crate::expand::Text;
use crate::expand::pieces::{Meaning, Piece};
use crate::expand::{Forms, Variables};
use crate::file::{Node, Object, Value};
use crate::secret::Secret;
use crate::secrets::SECRET;

use crate::clients::Scope;

/// A server as an entry of ours.
#[derive(Clone)]
pub struct FoundServer {
    /// As the file calls it.
    pub id: String,
    /// A JSON object in our keys and our syntax, its variables not filled in. Whether it is switched on is told beside it.
    pub entry: String,
    /// The id of the program whose file it is; `None` for one of our own formats.
    pub client: Option<&'static str>,
    pub scope: Scope,
    /// The folder it is meant for: that of the project's file, or the one it is listed under in the user's.
    pub project: Option<PathBuf>,
    pub file: PathBuf,
    pub line: usize,
    /// Whether the file has it switched on.
    pub enabled: bool,
    /// Whether somebody other than the project itself has said that it may be started.
    pub approved: bool,
    pub is_ourselves: bool,
    /// What stands in the entry as it is and should not.
    pub secrets: Vec<LiteralSecret>,
    /// What its program would ask for before it starts it.
    pub questions: Vec<Question>,
    /// What a user should know of how it was read.
    pub remarks: Vec<String>,
    /// Why no entry of ours can be made of it.
    pub fault: Option<String>,
    object: Object,
    start: Start,
}

/// A secret written into the entry as it is. It does not hold the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralSecret {
    /// Where: `env.TOKEN`, `headers.Authorization`, `args[2]`, `url`.
    pub place: String,
    /// What it could be called in the secret store.
    pub name_hint: String,
    pub(super) at: Place,
    /// Which bytes of the text there.
    pub(super) span: (usize, usize),
}

/// Something a program asks its user for (`inputs` of VS Code); here a variable holds the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The variable the entry refers to.
    pub variable: String,
    pub about: String,
    pub is_secret: bool,
    pub choices: Vec<String>,
    pub default: Option<String>,
}

impl FoundServer {
    pub(super) fn new(id: &str, object: Object, environment: &Environment) -> Self {
        let mut found = Self {
            id: id.to_owned(),
            entry: String::new(),
            client: None,
            scope: Scope::User,
            project: None,
            file: PathBuf::new(),
            line: 1,
            enabled: true,
            approved: true,
            is_ourselves: ourselves::is_ourselves(&object, environment),
            secrets: Vec::new(),
            questions: Vec::new(),
            remarks: Vec::new(),
            fault: None,
            start: Start::of(&object, environment),
            object,
        };
        found.written();
        found.fault = check::fault(&found.object, environment);
        found
    }

    /// Returns whether both entries would start the same: a program with the same arguments and variables, or a server at
    /// the same address with the same headers.
    pub fn starts_same(&self, other: &Self) -> bool {
        self.start.is_same(&other.start, self.project.as_deref(), other.project.as_deref())
    }

    /// Returns whether it is a server known not to use the folder it is started in, so that all may share one.
    pub fn is_known_shared(&self) -> bool {
        let package = self.start.package();
        package.is_some_and(known::is_shared)
            && !self.object.members.contains_key("cwd")
            && !self.start.depends_on_folder()
    }

    /// Notes that it is we ourselves if it leads to this address, where we serve.
    pub fn know_ourselves(&mut self, host: &str, port: u16) {
        let url = self.object.written("url");
        self.is_ourselves |= url.is_some_and(|url| crate::resolve::is_own_address(url, host, Some(port)));
    }

    /// Puts `${secret:NAME}` in the place of a secret and returns the secret itself, to be stored; `None` where it is no
    /// longer there, and nothing has changed.
    pub fn take_secret(&mut self, secret: &LiteralSecret, name: &str) -> Option<Secret> {
        if !self.secrets.contains(secret) {
            return None;
        }
        let text = secret.at.text_mut(&mut self.object)?;
        let (start, end) = secret.span;
        let value = literal(text.raw.get(start..end)?);
        let raw = format!("{}${{{SECRET}{name}}}{}", &text.raw[..start], &text.raw[end..]);
        *text = Text::written(&raw);
        self.start.keeps(name, &value);
        self.written();
        Some(Secret::new(value))
    }

    /// Lets the secret store answer a question instead of a variable.
    pub fn answer_by_secret(&mut self, question: &Question, name: &str) {
        for node in self.object.members.values_mut() {
            answer(node, &question.variable, &format!("${{{SECRET}{name}}}"));
        }
        self.questions.retain(|one| one != question);
        self.written();
    }

    pub(super) fn object(&self) -> &Object {
        &self.object
    }

    /// Brings what is told of the entry up to date with it.
    fn written(&mut self) {
        self.entry = inline(&Value::Object(self.object.clone()));
        self.secrets = secrets::literal_secrets(&self.id, &self.object);
        self.start.update(&self.object);
    }
}

/// Returns what a text without references stands for.
fn literal(raw: &str) -> String {
    let nothing = Environment::default();
    let variables = Variables {
        environment: &nothing,
        forms: Forms::OURS,
        folder: PathBuf::new(),
        workspace: PathBuf::new(),
    };
    variables.expand(raw).value
}

fn answer(node: &mut Node, variable: &str, instead: &str) {
    match &mut node.value {
        Value::Text(text) => {
            let pieces = Forms::OURS.pieces(&text.raw).into_iter().map(|piece| match piece {
                Piece::Reference(reference) => match reference.meaning {
                    Meaning::Variable { name, .. } if name == variable => instead.to_owned(),
                    _ => reference.whole.to_owned(),
                },
                Piece::Literal(text) => text.to_owned(),
            });
            *text = Text::written(&pieces.collect::<String>());
        }
        Value::List(items) => items.iter_mut().for_each(|item| answer(item, variable, instead)),
        Value::Object(object) => {
            object.members.values_mut().for_each(|node| answer(node, variable, instead));
        }
        Value::Null | Value::Flag(_) | Value::Number(_) => {}
    }
}

/// The entry may hold secrets, so it is not shown.
impl fmt::Debug for FoundServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundServer")
            .field("id", &self.id)
            .field("client", &self.client)
            .field("scope", &self.scope)
            .field("project", &self.project)
            .field("file", &self.file)
            .field("line", &self.line)
            .field("enabled", &self.enabled)
            .field("approved", &self.approved)
            .field("is_ourselves", &self.is_ourselves)
            .field("secrets", &self.secrets)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
