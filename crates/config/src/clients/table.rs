//! The table itself: one `Client` from each file in `data/`.

use std::sync::LazyLock;

use super::data::Data;
use super::limits::ToolLimits;
use super::own_command::Commands;
use super::places::Places;
use super::shape::Shape;
use super::{Sure, Writing};
use crate::expand::Forms;
use crate::file::Object;
use crate::problem::Problems;
use crate::syntax::Syntax;

/// A program whose config we know how to read, and mostly how to write. The README beside this tells what each part means.
#[derive(Debug)]
pub struct Client {
    /// The name of its file in `data/`.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) syntax: Syntax,
    pub(crate) places: Places,
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
    pub(super) writing: Writing,
    pub(super) sure: Sure,
    pub(super) as_of: String,
    /// Where a file that has no servers yet gets them.
    pub(super) root: Vec<String>,
    pub(super) stdio: Option<Shape>,
    pub(super) remote: Option<Shape>,
    pub(super) no_remote: Option<String>,
    /// Keys that an entry goes without under another root, or in a project.
    pub(super) left_out: Vec<(String, Vec<String>)>,
    /// What a new file has to have beside its servers.
    pub(super) new_file: Option<Shape>,
    /// How it refers to the variable `VAR`.
    pub(super) reference: Option<String>,
    pub(super) is_strict: bool,
    pub(super) rewritten_by: Option<String>,
    pub(super) note: Option<String>,
    /// What it calls itself when it connects.
    pub(super) known_as: Option<String>,
    pub(super) deep_link: Option<String>,
    pub(super) commands: Option<Commands>,
    pub(super) limits: ToolLimits,
}

/// Every file in `data/`, by its name and in the order of names.
static DATA: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/clients.rs"));

static CLIENTS: LazyLock<Vec<Client>> = LazyLock::new(|| {
    // Our own files: a test reads every one of them, and none is wrong.
    read_all().filter_map(Result::ok).collect()
});

/// Returns the programs whose files we know, in the order of their ids.
pub fn clients() -> &'static [Client] {
    &CLIENTS
}

/// Returns the program of this id.
pub fn client(id: &str) -> Option<&'static Client> {
    clients().iter().find(|client| client.id == id)
}

/// Reads every data file; an error names the file and what is wrong in it.
pub(super) fn read_all() -> impl Iterator<Item = Result<Client, String>> {
    DATA.iter().map(|(id, text)| read(id, text))
}

pub(super) fn read(id: &'static str, text: &str) -> Result<Client, String> {
    let node = Syntax::Toml.read(text, &mut Problems::default()).ok().flatten();
    let object = node.as_ref().and_then(|node| node.object()).ok_or_else(|| format!("{id}: is no TOML"))?;
    Client::from_data(id, object)
}

impl Client {
    fn from_data(id: &'static str, object: &Object) -> Result<Self, String> {
        let mut data = Data::of(id, object);
        let syntaxes = [("json", Syntax::Json), ("toml", Syntax::Toml), ("yaml", Syntax::Yaml)];
        let roots = data.list_of_texts("roots")?;
        let first = roots.first().filter(|root| !root.is_empty()).cloned();
        let first = first.ok_or_else(|| format!("{id}: `roots` has none"))?;
        let shape = |object: Option<Object>| object.map(Shape::from_data).transpose();
        let client = Self {
            id,
            title: data.needed("title")?,
            syntax: data.word("syntax", &syntaxes)?,
            places: Places::from_data(&mut data)?,
            roots,
            list: data.flag("list")?,
            settings: data.flag("settings")?,
            by_file: data.flag("by_file")?,
            signs: data.texts("signs")?,
            projects: data.text("projects")?,
            allowed: data.texts("allowed")?,
            excluded: data.texts("excluded")?,
            forms: data.maybe_texts("variables")?.map_or(Forms::USUAL, |named| forms(&named)),
            seconds: data.texts("seconds")?,
            empty_is_all: data.texts("empty_is_all")?,
            url_type: data.text("url_type")?,
            fields: data.pairs("fields")?,
            types: data.pairs("types")?,
            own: data.lists("own")?,
            unsupported: data.pairs("unsupported")?,
            writing: data.word("writing", &Writing::WORDS)?,
            sure: data.word("sure", &Sure::WORDS)?,
            as_of: data.needed("as_of")?,
            root: data.maybe_texts("root")?.unwrap_or(first),
            stdio: shape(data.object("stdio")?)?,
            remote: shape(data.object("remote")?)?,
            no_remote: data.text("no_remote")?,
            left_out: data.lists("left_out")?,
            new_file: shape(data.object("new_file")?)?,
            reference: data.text("reference")?,
            is_strict: data.flag("strict")?,
            rewritten_by: data.text("rewritten_by")?,
            note: data.text("note")?,
            known_as: data.text("known_as")?,
            deep_link: data.text("deep_link")?,
            commands: data.table("own_command")?.map(Commands::from_data).transpose()?,
            limits: ToolLimits::from_data(data.table("limits")?)?,
        };
        data.finish()?;
        Ok(client)
    }
}

fn forms(named: &[String]) -> Forms {
    let has = |form: &str| named.iter().any(|one| one == form);
    Forms {
        braced: has("${VAR}"),
        dollar: has("$VAR"),
        // Elsewhere it is plain text to those who know it.
        percent: cfg!(windows) && has("%VAR%"),
        bare_braces: has("{env:VAR}"),
        files: has("${file:PATH}"),
        verbatim: false,
        secrets: false,
    }
}
