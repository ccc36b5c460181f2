//! The table itself: one `Client` from each file in `data/`.

use std::path::Path;
use std::sync::LazyLock;

use crate::expand::Forms;
use crate::file::{Node, Object};
use crate::problem::Problems;
use crate::syntax::Syntax;

/// How one program writes its config. The README beside this tells what each part means.
#[derive(Debug)]
pub struct Client {
    /// The name of its file in `data/`.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "a file is told by its content"))]
    pub(crate) syntax: Syntax,
    pub(crate) user: Vec<String>,
    pub(crate) project: Vec<String>,
    pub(crate) roots: Vec<Vec<String>>,
    pub(crate) list: bool,
    pub(crate) settings: bool,
    pub(crate) by_file: bool,
    pub(crate) signs: Vec<String>,
    pub(crate) projects: Option<String>,
    pub(crate) allowed: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) forms: Forms,
    pub(crate) seconds: Vec<String>,
    pub(crate) empty_is_all: Vec<String>,
    pub(crate) url_type: Option<String>,
    /// Theirs, ours.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) types: Vec<(String, String)>,
    pub(crate) own: Vec<(String, Vec<String>)>,
    pub(crate) unsupported: Vec<(String, String)>,
}

/// Every file in `data/`, by its name and in the order of names.
static DATA: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/clients.rs"));

static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    let read = |(id, text): &(&'static str, &str)| {
        // Our own files: a test reads every one of them.
        let node = Syntax::Toml.read(text, &mut Problems::default()).ok().flatten()?;
        Client::from_data(id, node.object()?)
    };
    DATA.iter().filter_map(read).collect()
});

/// Returns the programs whose files we know.
pub fn clients() -> &'static [Client] {
    &CLIENTS
}

impl Client {
    fn from_data(id: &'static str, data: &Object) -> Option<Self> {
        let texts = |name: &str| data.members.get(name).map(texts).unwrap_or_default();
        let flag = |name: &str| {
            matches!(data.members.get(name), Some(Node { value: crate::file::Value::Flag(true), .. }))
        };
        Some(Self {
            id,
            title: data.written("title")?.to_owned(),
            syntax: match data.written("syntax")? {
                "toml" => Syntax::Toml,
                "yaml" => Syntax::Yaml,
                _ => Syntax::Json,
            },
            user: texts("user"),
            project: texts("project"),
            roots: data.members.get("roots")?.list()?.iter().map(self::texts).collect(),
            list: flag("list"),
            settings: flag("settings"),
            by_file: flag("by_file"),
            signs: texts("signs"),
            projects: data.written("projects").map(str::to_owned),
            allowed: texts("allowed"),
            excluded: texts("excluded"),
            forms: data.members.get("variables").map_or(Forms::USUAL, |node| forms(&self::texts(node))),
            seconds: texts("seconds"),
            empty_is_all: texts("empty_is_all"),
            url_type: data.written("url_type").map(str::to_owned),
            fields: pairs(data, "fields"),
            types: pairs(data, "types"),
            own: members(data, "own").map(|(key, node)| (key.clone(), self::texts(node))).collect(),
            unsupported: pairs(data, "unsupported"),
        })
    }

    /// Returns whether a file at this path is this program's.
    pub(crate) fn keeps(&self, path: &Path) -> bool {
        let user = self.user.iter().map(|place| {
            let folder = place.split('/').next().unwrap_or_default();
            place[folder.len()..].trim_start_matches('/')
        });
        user.chain(self.project.iter().map(String::as_str)).any(|end| path.ends_with(end))
    }

    /// Returns the folder of the project whose file of this program lies at this path.
    pub(crate) fn project_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let end = self.project.iter().find(|end| path.ends_with(end))?;
        path.ancestors().nth(Path::new(end).components().count())
    }
}

fn forms(named: &[String]) -> Forms {
    let has = |form: &str| named.iter().any(|one| one == form);
    Forms {
        braced: has("${VAR}"),
        dollar: has("$VAR"),
        percent: has("%VAR%"),
        bare_braces: has("{env:VAR}"),
        files: has("${file:PATH}"),
        verbatim: false,
        secrets: false,
    }
}

fn texts(node: &Node) -> Vec<String> {
    node.list().unwrap_or_default().iter().filter_map(|item| item.written().map(str::to_owned)).collect()
}

fn members<'a>(data: &'a Object, name: &str) -> impl Iterator<Item = (&'a String, &'a Node)> {
    data.object(name).into_iter().flat_map(|object| &object.members)
}

fn pairs(data: &Object, name: &str) -> Vec<(String, String)> {
    members(data, name).filter_map(|(key, node)| Some((key.clone(), node.written()?.to_owned()))).collect()
}
