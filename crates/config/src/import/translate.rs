//! One text in our syntax: what it refers to stays referred to, what is plain text stays plain.

use std::path::Path;

use super::found::Question;
use crate::expand::pieces::{Meaning, Piece, Reference, placeholder};
use crate::expand::{FILE, Forms, input_variable};
use crate::file::{Node, Object, Value};

/// How the texts of one file are read, and from where.
pub(super) struct Translation<'a> {
    /// How the program refers to things.
    pub(super) forms: Forms,
    /// Where the file lies.
    pub(super) folder: &'a Path,
    /// The project the server belongs to, if to any.
    pub(super) project: Option<&'a Path>,
    pub(super) inputs: &'a Inputs,
}

/// What was noticed beside the text itself.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) questions: Vec<Question>,
    pub(super) remarks: Vec<String>,
}

/// A part of the text to be made.
enum Part {
    Plain(String),
    /// In our syntax.
    Reference(String),
}

impl Translation<'_> {
    /// Returns a text in our syntax.
    pub(super) fn ours(&self, raw: &str, notes: &mut Notes) -> String {
        let mut parts: Vec<Part> = Vec::new();
        for piece in self.forms.pieces(raw) {
            let part = match piece {
                Piece::Literal(text) => Part::Plain(text.to_owned()),
                Piece::Reference(reference) => self.reference(&reference, notes),
            };
            match (parts.last_mut(), part) {
                (Some(Part::Plain(before)), Part::Plain(text)) => before.push_str(&text),
                (_, part) => parts.push(part),
            }
        }
        written(&parts)
    }

    fn reference(&self, reference: &Reference<'_>, notes: &mut Notes) -> Part {
        match reference.meaning {
            Meaning::Variable { name, .. } if reference.braced && self.of_project(name).is_some() => {
                Part::Plain(self.of_project(name).unwrap_or_default())
            }
            Meaning::Variable { name, default: None } => Part::Reference(format!("${{{name}}}")),
            Meaning::Variable { name, default: Some(default) } => {
                Part::Reference(format!("${{{name}:-{default}}}"))
            }
            Meaning::Editor(inside) => {
                let name = inside.split(':').next().unwrap_or_default();
                self.of_project(name).map_or_else(|| Part::Reference(format!("${{{name}}}")), Part::Plain)
            }
            Meaning::Input(id) => Part::Reference(self.inputs.reference(id, notes)),
            Meaning::File(path) => self.file(path, reference.whole, notes),
            Meaning::Secret(name) => Part::Reference(format!("${{secret:{name}}}")),
            Meaning::Verbatim(text) => Part::Plain(text.to_owned()),
        }
    }

    /// Returns what an editor's name for a folder is in this project.
    fn of_project(&self, name: &str) -> Option<String> {
        let project = self.project?;
        match name {
            // The second is how Claude Code calls it.
            "workspaceFolder" | "CLAUDE_PROJECT_DIR" => Some(project.display().to_string()),
            "workspaceFolderBasename" => Some(project.file_name()?.to_string_lossy().into_owned()),
            _ => None,
        }
    }

    /// A file is named from the folder of the config, and ours lies elsewhere.
    fn file(&self, path: &str, whole: &str, notes: &mut Notes) -> Part {
        let full = if path.starts_with('~') {
            path.to_owned()
        } else {
            self.folder.join(path).display().to_string()
        };
        let ours = format!("${{{FILE}{full}}}");
        if is_whole(&ours) {
            return Part::Reference(ours);
        }
        notes.remarks.push(format!("the file `{path}` cannot be named in our config; rename it"));
        Part::Plain(whole.to_owned())
    }
}

/// Returns a plain text so that nothing in it is taken for a reference of ours.
pub(super) fn plain(text: &str) -> String {
    written(&[Part::Plain(text.to_owned())])
}

/// Writes the parts one after the other. What is plain is marked so where it would be read as a reference otherwise; where
/// parts together would, each mark of a reference in them is.
fn written(parts: &[Part]) -> String {
    let write = |plain: fn(&str) -> String| {
        let texts = parts.iter().map(|part| match part {
            Part::Plain(text) => plain(text),
            Part::Reference(reference) => reference.clone(),
        });
        texts.collect::<String>()
    };
    let short = write(|text| {
        let pieces = Forms::OURS.pieces(text).into_iter().map(|piece| match piece {
            Piece::Literal(text) => text.to_owned(),
            Piece::Reference(reference) => format!("${{:-{}}}", reference.whole),
        });
        pieces.collect()
    });
    if reads_as(&short, parts) { short } else { write(|text| text.replace("${", "${:-$}{")) }
}

/// Tells whether our own reading of a text gives just these parts.
fn reads_as(text: &str, parts: &[Part]) -> bool {
    let mut found: Vec<(bool, String)> = Vec::new();
    for piece in Forms::OURS.pieces(text) {
        let (is_plain, text) = match piece {
            Piece::Literal(text) | Piece::Reference(Reference { meaning: Meaning::Verbatim(text), .. }) => {
                (true, text)
            }
            Piece::Reference(reference) => (false, reference.whole),
        };
        match found.last_mut() {
            Some((true, before)) if is_plain => before.push_str(text),
            _ => found.push((is_plain, text.to_owned())),
        }
    }
    let wanted = parts.iter().map(|part| match part {
        Part::Plain(text) => (true, text),
        Part::Reference(reference) => (false, reference),
    });
    wanted.eq(found.iter().map(|(is_plain, text)| (*is_plain, text)))
}

/// What a program asks its user for, by id.
#[derive(Default)]
pub(super) struct Inputs(Vec<(String, Question)>);

impl Inputs {
    pub(super) fn of(inputs: &[Object]) -> Self {
        let read = |input: &Object| {
            let id = input.written("id")?;
            let flag = |name: &str| {
                input.members.get(name).is_some_and(|node| matches!(node.value, Value::Flag(true)))
            };
            let options = input.members.get("options").and_then(Node::list).unwrap_or_default();
            let choice = |node: &Node| {
                let label = || node.object()?.written("value").or_else(|| node.object()?.written("label"));
                node.written().or_else(label).map(str::to_owned)
            };
            let question = Question {
                variable: input_variable(id),
                about: input.written("description").unwrap_or(id).to_owned(),
                is_secret: flag("password"),
                choices: options.iter().filter_map(choice).collect(),
                default: input.written("default").filter(|text| !text.is_empty()).map(str::to_owned),
            };
            Some((id.to_owned(), question))
        };
        Self(inputs.iter().filter_map(read).collect())
    }

    /// Returns what stands for an answer: the variable that may hold it, else what is there without one.
    fn reference(&self, id: &str, notes: &mut Notes) -> String {
        let known = self.0.iter().find(|(known, _)| known == id).map(|(_, question)| question.clone());
        let question = known.unwrap_or_else(|| Question {
            variable: input_variable(id),
            about: id.to_owned(),
            is_secret: false,
            choices: Vec::new(),
            default: None,
        });
        let variable = question.variable.clone();
        let with_default = question.default.as_ref().map(|default| format!("${{{variable}:-{default}}}"));
        if !notes.questions.contains(&question) {
            notes.questions.push(question);
        }
        with_default.filter(|text| is_whole(text)).unwrap_or_else(|| format!("${{{variable}}}"))
    }
}

/// Tells whether a text is one reference from its first to its last character.
fn is_whole(text: &str) -> bool {
    placeholder(text).is_some_and(|(whole, _)| whole == text)
}
