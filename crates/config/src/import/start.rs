//! What would be started: by it two entries are known to be the same server.

use std::collections::BTreeMap;
use std::path::Path;

use super::launch::{Launch, is_relative_path, launch};
use super::translate::plain;
use crate::expand::Forms;
use crate::expand::pieces::{Meaning, Piece};
use crate::file::{Node, Object};

/// What an entry starts, without the differences that make none.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Start {
    home: Option<String>,
    what: What,
    cwd: Option<String>,
    /// An argument or the program is looked for in the folder it is started in.
    is_relative: bool,
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
    },
}

impl Start {
    pub(super) fn of(object: &Object, home: Option<&Path>) -> Self {
        let mut start = Self { home: home.map(|home| home.display().to_string()), ..Self::default() };
        start.update(object);
        start
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
            What::Remote { url: normal_address(&url), headers }
        } else {
            What::Nothing
        };
        self.is_relative = matches!(&what, What::Process { launch, .. }
            if launch.args.iter().any(|arg| is_relative_path(arg)) || launch.program.starts_with('.'));
        (self.what, self.cwd) = (what, cwd);
    }

    /// Returns whether both start the same, for servers that are meant for these folders.
    pub(super) fn is_same(&self, other: &Self, project: Option<&Path>, others: Option<&Path>) -> bool {
        self.is_same_folder(other, project, others) && self.what.is_same(&other.what)
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
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Builtin(one), Self::Builtin(other)) => one == other,
            (
                Self::Process { launch, env, env_file },
                Self::Process { launch: other, env: others, env_file: file },
            ) => {
                same_text(&launch.program, &other.program)
                    && launch.args.len() == other.args.len()
                    && launch.args.iter().zip(&other.args).all(|(one, other)| same_text(one, other))
                    && same_texts(env, others)
                    && env_file == file
            }
            (Self::Remote { url, headers }, Self::Remote { url: other, headers: others }) => {
                same_text(url, other) && same_texts(headers, others)
            }
            _ => false,
        }
    }
}

fn same_texts(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    one.len() == other.len()
        && one.iter().all(|(name, text)| other.get(name).is_some_and(|other| same_text(text, other)))
}

/// Compares two texts. What was put into the secret store is the same as the text it was taken from, as far as can be told.
fn same_text(one: &str, other: &str) -> bool {
    one == other || stands_for(one, other) || stands_for(other, one)
}

fn stands_for(with_secrets: &str, text: &str) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    let (mut start, mut at) = (0, 0);
    for piece in Forms::OURS.pieces(with_secrets) {
        let (length, is_secret) = match piece {
            Piece::Literal(text) => (text.len(), false),
            Piece::Reference(reference) => {
                (reference.whole.len(), matches!(reference.meaning, Meaning::Secret(_)))
            }
        };
        if is_secret {
            parts.push(&with_secrets[start..at]);
            start = at + length;
        }
        at += length;
    }
    let Some((first, between)) = parts.split_first() else { return false };
    let inner = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(&with_secrets[start..]));
    let Some(mut rest) = inner else { return false };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    !rest.is_empty()
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
