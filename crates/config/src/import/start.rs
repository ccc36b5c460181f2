//! What would be started: by it two entries are known to be the same server.

use std::collections::BTreeMap;
use std::path::Path;

use super::launch::{Launch, is_relative_path, launch};
use super::translate::plain;
use crate::environment::Environment;
use crate::expand::Forms;
use crate::expand::pieces::{Meaning, Piece, Reference};
use crate::file::{Node, Object, Value, join};
use crate::keys::scalar;

/// What an entry starts, without the differences that make none.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Start {
    home: Option<String>,
    what: What,
    cwd: Option<String>,
    /// An argument or the program is looked for in the folder it is started in.
    is_relative: bool,
    /// The values of the stored secrets that it refers to, in our syntax. It is never shown.
    secrets: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, Default)]
enum What {
    #[default]
    Nothing,
    Builtin(String),
    Process {
        launch: Launch,
        env: BTreeMap<String, String>,
        env_file: Option<String>,
    },
    Remote {
        url: String,
        headers: BTreeMap<String, String>,
        /// How one signs in there: `auth` and `oauth`.
        sign_in: BTreeMap<String, String>,
    },
}

impl Start {
    pub(super) fn of(object: &Object, environment: &Environment) -> Self {
        let home = environment.home.as_ref().map(|home| home.display().to_string());
        let mut start = Self { home, ..Self::default() };
        for name in secrets_in(object) {
            if let Ok(Some(value)) = environment.secrets.get(&name) {
                start.keeps(&name, value.expose());
            }
        }
        start.update(object);
        start
    }

    /// Notes the value that the secret store has, or is about to have, under a name.
    pub(super) fn keeps(&mut self, name: &str, value: &str) {
        self.secrets.insert(name.to_owned(), plain(value));
    }

    /// Reads the entry again.
    pub(super) fn update(&mut self, object: &Object) {
        let text = |key: &str| object.written(key).map(|text| self.normal(text));
        let cwd = text("cwd");
        let what = if let Some(builtin) = text("builtin") {
            What::Builtin(builtin)
        } else if let Some(command) = text("command") {
            let args = object.members.get("args").and_then(Node::list).unwrap_or_default();
            let args: Vec<String> =
                args.iter().filter_map(Node::written).map(|arg| self.normal(arg)).collect();
            let env = self.texts(object, "env");
            What::Process { launch: launch(&command, &args), env, env_file: text("envFile") }
        } else if let Some(url) = text("url") {
            let headers = self.texts(object, "headers").into_iter();
            let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
            let mut sign_in = BTreeMap::new();
            for key in ["auth", "oauth"] {
                if let Some(node) = object.members.get(key) {
                    flatten(node, key, &mut sign_in);
                }
            }
            What::Remote { url: normal_address(&url), headers, sign_in }
        } else {
            What::Nothing
        };
        self.is_relative = matches!(&what, What::Process { launch, .. }
            if launch.args.iter().any(|arg| is_relative_path(arg)) || launch.program.starts_with('.'));
        (self.what, self.cwd) = (what, cwd);
    }

    /// Returns whether both start the same, for servers that are meant for these folders.
    pub(super) fn is_same(&self, other: &Self, project: Option<&Path>, others: Option<&Path>) -> bool {
        let texts = Texts { one: &self.secrets, other: &other.secrets };
        self.is_same_folder(other, project, others) && self.what.is_same(&other.what, &texts)
    }

    /// A folder that only follows from where an entry was found makes no other server, unless the server is looked for in it.
    fn is_same_folder(&self, other: &Self, project: Option<&Path>, others: Option<&Path>) -> bool {
        let shown = |path: Option<&Path>| path.map(|path| self.normal(&plain(&path.display().to_string())));
        let (mine, theirs) = (shown(project), shown(others));
        match (&self.cwd, &other.cwd) {
            (Some(one), Some(other)) => one == other,
            (None, None) => !self.is_relative || mine == theirs,
            (Some(cwd), None) => Some(cwd) == theirs.as_ref(),
            (None, Some(cwd)) => Some(cwd) == mine.as_ref(),
        }
    }

    /// Returns the package that is run.
    pub(super) fn package(&self) -> Option<&str> {
        match &self.what {
            What::Process { launch, .. } => launch.package.as_deref(),
            _ => None,
        }
    }

    /// Returns whether something in the entry stands for the folder of whoever asks.
    pub(super) fn depends_on_folder(&self) -> bool {
        let What::Process { launch, env, .. } = &self.what else { return false };
        let names_it = |text: &String| {
            Forms::OURS.pieces(text).iter().any(|piece| match piece {
                Piece::Reference(reference) => match reference.meaning {
                    Meaning::Variable { name, .. } | Meaning::Editor(name) => {
                        name.starts_with("workspaceFolder") || name == "PWD"
                    }
                    _ => false,
                },
                Piece::Literal(_) => false,
            })
        };
        self.is_relative || launch.args.iter().chain(env.values()).any(names_it)
    }

    fn texts(&self, object: &Object, key: &str) -> BTreeMap<String, String> {
        let members = object.object(key).into_iter().flat_map(|object| &object.members);
        members.filter_map(|(name, node)| Some((name.clone(), self.normal(node.written()?)))).collect()
    }

    /// Writes the home folder in one of the ways there are.
    fn normal(&self, text: &str) -> String {
        let names = ["${HOME}", "${userHome}"].into_iter().chain(self.home.as_deref());
        for name in names.filter(|name| !name.is_empty()) {
            if let Some(below) = text.strip_prefix(name)
                && (below.is_empty() || below.starts_with('/'))
            {
                return format!("~{below}");
            }
        }
        text.to_owned()
    }
}

impl What {
    fn is_same(&self, other: &Self, texts: &Texts<'_>) -> bool {
        match (self, other) {
            (Self::Builtin(one), Self::Builtin(other)) => one == other,
            (
                Self::Process { launch, env, env_file },
                Self::Process { launch: other, env: others, env_file: file },
            ) => {
                texts.are_same(&launch.program, &other.program)
                    && launch.args.len() == other.args.len()
                    && launch.args.iter().zip(&other.args).all(|(one, other)| texts.are_same(one, other))
                    && texts.are_all_same(env, others)
                    && env_file == file
            }
            (
                Self::Remote { url, headers, sign_in },
                Self::Remote { url: other, headers: others, sign_in: sign_in_there },
            ) => {
                texts.are_same(url, other)
                    && texts.are_all_same(headers, others)
                    && texts.are_all_same(sign_in, sign_in_there)
            }
            _ => false,
        }
    }
}

/// Compares texts of two entries. A secret in the store is the same as its value where that is written out; of one whose
/// value is not known, only the name can be compared.
struct Texts<'s> {
    one: &'s BTreeMap<String, String>,
    other: &'s BTreeMap<String, String>,
}

impl Texts<'_> {
    fn are_all_same(&self, one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
        one.len() == other.len()
            && one.iter().all(|(name, text)| other.get(name).is_some_and(|other| self.are_same(text, other)))
    }

    fn are_same(&self, one: &str, other: &str) -> bool {
        one == other || self.filled_in(one) == self.filled_in(other)
    }

    fn filled_in(&self, text: &str) -> String {
        let value = |name: &str| self.one.get(name).or_else(|| self.other.get(name));
        let pieces = Forms::OURS.pieces(text).into_iter().map(|piece| match piece {
            Piece::Literal(text) => text,
            Piece::Reference(Reference { whole, meaning: Meaning::Secret(name), .. }) => {
                value(name).map_or(whole, String::as_str)
            }
            Piece::Reference(reference) => reference.whole,
        });
        pieces.collect()
    }
}

/// Returns the secrets that an entry refers to.
fn secrets_in(object: &Object) -> Vec<String> {
    let mut names = Vec::new();
    for node in object.members.values() {
        node.each_text("", &mut |text, _, _| {
            for piece in Forms::OURS.pieces(&text.raw) {
                if let Piece::Reference(Reference { meaning: Meaning::Secret(name), .. }) = piece {
                    names.push(name.to_owned());
                }
            }
        });
    }
    names
}

/// Adds every value below, by its place.
fn flatten(node: &Node, place: &str, texts: &mut BTreeMap<String, String>) {
    match &node.value {
        Value::Object(object) => {
            object.members.iter().for_each(|(key, node)| flatten(node, &join(place, key), texts));
        }
        Value::List(items) => {
            items.iter().enumerate().for_each(|(at, node)| flatten(node, &format!("{place}[{at}]"), texts));
        }
        _ => {
            let said = node.written().map(str::to_owned).or_else(|| scalar(node));
            texts.extend(said.map(|said| (place.to_owned(), said)));
        }
    }
}

/// Scheme and host know no case, and a `/` at the end makes no other address.
fn normal_address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#', '$']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let scheme = scheme.to_ascii_lowercase();
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(usual).unwrap_or(&host);
    let at = if user.is_empty() { "" } else { "@" };
    let path = if path.contains(['?', '#']) { path } else { path.trim_end_matches('/') };
    format!("{scheme}://{user}{at}{host}{path}")
}
