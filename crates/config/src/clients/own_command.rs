//! A program's own command for adding and removing a server, and links that make it add one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Scope;
use super::data::Data;
use super::plug::{Parts, Plug, Takes, reference};
use super::table::Client;
use crate::edit::entry_text;
use crate::expand::Text;
use crate::file::{Node, Object, Value};

/// What a program's own command is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCommand {
    Add,
    Remove,
}

/// A program's own commands, as arguments with places in them.
#[derive(Debug)]
pub(super) struct Commands {
    stdio: Vec<String>,
    remote: Vec<String>,
    remove: Vec<String>,
    /// What it calls the scopes it has.
    user: Option<String>,
    project: Option<String>,
}

/// What is not changed in a link.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Commands {
    pub(super) fn from_data(mut data: Data) -> Result<Self, String> {
        let commands = Self {
            stdio: data.texts("stdio")?,
            remote: data.texts("remote")?,
            remove: data.texts("remove")?,
            user: data.text("user")?,
            project: data.text("project")?,
        };
        data.finish()?;
        Ok(commands)
    }
}

impl Client {
    /// Returns the command line by which the program itself adds or removes an entry; its first word is the program.
    /// `None` where it has no such command, or none that can say all of this: other users see the words of a command, so
    /// the value of a header does not go there.
    pub fn own_command(
        &self,
        what: OwnCommand,
        name: &str,
        plug: &Plug,
        scope: Scope,
    ) -> Option<Vec<String>> {
        self.check_name(name).ok()?;
        let commands = self.commands.as_ref()?;
        let scope = match scope {
            Scope::User => commands.user.as_deref(),
            Scope::Project => commands.project.as_deref(),
        }?;
        let words = match (what, plug) {
            (OwnCommand::Remove, _) => &commands.remove,
            (OwnCommand::Add, Plug::Stdio { .. }) => &commands.stdio,
            (OwnCommand::Add, Plug::Http { .. }) => &commands.remote,
        };
        if words.is_empty() {
            return None;
        }
        if what == OwnCommand::Remove {
            let places = [("{name}", name), ("{scope}", scope)];
            return Some(words.iter().map(|word| filled(word, &places)).collect());
        }
        let json = self.entry(name, plug, None).ok()?;
        let arguments = Arguments { words, name, scope, json: &json };
        arguments.of(plug, &self.parts(plug, words)?)
    }

    /// Returns the values of a plug as the words of a command have them.
    fn parts(&self, plug: &Plug, words: &[String]) -> Option<Parts> {
        let has = |place: &str| words.iter().any(|word| word.contains(place));
        let takes =
            Takes { env_names: false, bearer_variable: has("{bearer_variable}"), header_variables: false };
        Parts::of(plug, self, takes).ok()
    }

    /// Returns a link that makes the program offer to add us; `None` where it has none.
    pub fn deep_link(&self, name: &str, plug: &Plug) -> Option<String> {
        let form = self.deep_link.as_ref()?;
        self.check_name(name).ok()?;
        let entry = self.entry(name, plug, None).ok()?;
        let json = entry_text(&entry);
        let places = [
            ("{name}", name.to_owned()),
            ("{base64}", STANDARD.encode(&json)),
            ("{json_with_name}", entry_text(&with_name(name, &entry))),
        ];
        let encoded = places.map(|(place, value)| (place, utf8_percent_encode(&value, PLAIN).to_string()));
        Some(filled(form, &encoded))
    }
}

/// The words of a command and what comes in their places.
struct Arguments<'a> {
    words: &'a [String],
    name: &'a str,
    scope: &'a str,
    json: &'a Object,
}

impl Arguments<'_> {
    fn of(&self, plug: &Plug, parts: &Parts) -> Option<Vec<String>> {
        let has =
            |places: &[&str]| self.words.iter().any(|word| places.iter().any(|place| word.contains(place)));
        let whole = ["{json}", "{json_with_name}"];
        let headers: &[(String, String)] = match plug {
            Plug::Http { headers, .. } => headers,
            Plug::Stdio { .. } => &[],
        };
        let is_shown =
            headers.iter().any(|(_, value)| reference(value.trim_start_matches("Bearer ")).is_none());
        let loses_env = !parts.env.is_empty() && !has(&["{env}", whole[0], whole[1]]);
        let loses_headers = !parts.headers.is_empty() && !has(&["{headers}", whole[0], whole[1]]);
        if is_shown || loses_env || loses_headers {
            return None;
        }
        Some(self.words.iter().flat_map(|word| self.expanded(word, parts)).collect())
    }

    /// Returns the words that one word of the data stands for.
    fn expanded(&self, word: &str, parts: &Parts) -> Vec<String> {
        let each = |place: &str, values: Vec<String>| {
            values.iter().map(|value| word.replacen(place, value, 1)).collect::<Vec<_>>()
        };
        let joined = |pairs: &[(String, String)], between: &str| {
            pairs.iter().map(|(name, value)| format!("{name}{between}{value}")).collect::<Vec<_>>()
        };
        if word.contains("{args}") {
            return each("{args}", parts.args.clone());
        }
        if word.contains("{env}") {
            return each("{env}", joined(&parts.env, "="));
        }
        if word.contains("{headers}") {
            return each("{headers}", joined(&parts.headers, ": "));
        }
        if word.contains("{bearer_variable}") {
            return each("{bearer_variable}", parts.bearer_variable.iter().cloned().collect());
        }
        let json = || entry_text(self.json);
        vec![match word {
            "{json}" => json(),
            "{json_with_name}" => entry_text(&with_name(self.name, self.json)),
            "{command}" => parts.command.clone(),
            "{url}" => parts.url.clone(),
            word => filled(word, &[("{name}", self.name), ("{scope}", self.scope)]),
        }]
    }
}

fn with_name(name: &str, entry: &Object) -> Object {
    let name = Node { line: 1, value: Value::Text(Text::written(name)) };
    let mut members = indexmap::IndexMap::from([("name".to_owned(), name)]);
    members.extend(entry.members.clone());
    Object { line: 1, members }
}

fn filled<T: AsRef<str>>(form: &str, places: &[(&str, T)]) -> String {
    places.iter().fold(form.to_owned(), |text, (place, value)| text.replacen(place, value.as_ref(), 1))
}
