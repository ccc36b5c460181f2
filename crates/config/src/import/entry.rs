//! One server in our own keys: each thing is said in one way, whatever the ways to say it.

use indexmap::IndexMap;

use super::found::Question;
use super::translate::{Notes, Translation, plain};
use crate::expand::{Text, is_variable_name};
use crate::fields::Fields;
use crate::file::{Node, Object, Value};
use crate::keys::scalar;
use crate::keys::table::SERVER;
use crate::variables_used::BY_NAME;

/// An entry of ours.
pub(super) struct Made {
    pub(super) object: Object,
    pub(super) enabled: bool,
    pub(super) questions: Vec<Question>,
}

const TYPES: [&str; 4] = ["type", "kind", "transport", "transportType"];
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];
const DENIED: [&str; 3] = ["deniedTools", "disabledTools", "excludeTools"];
const ALLOWED: [&str; 3] = ["allowedTools", "includeTools", "tools"];
/// What says nothing of the server itself.
const LEFT_OUT: [&str; 3] = ["id", "enabled", "disabled"];

/// Returns the entry in our keys and our syntax.
pub(super) fn ours(
    name: &str,
    written: &Object,
    translation: &Translation<'_>,
    remarks: &mut Vec<String>,
) -> Made {
    let fields = Fields::new(written, &SERVER);
    let enabled = fields.flag("enabled").unwrap_or(true) && !fields.flag("disabled").unwrap_or(false);
    let mut entry = Entry { members: IndexMap::new(), line: written.line, notes: Notes::default() };
    for (key, node) in &written.members {
        if matches!(node.value, Value::Null) || LEFT_OUT.contains(&key.as_str()) {
            continue;
        }
        let by_name = BY_NAME.contains(&key.as_str()) || key == "inheritEnv";
        let mut node = node.clone();
        if !by_name {
            translate(&mut node, translation, &mut entry.notes);
        }
        entry.add(name, key, node);
    }
    entry.finish(translation);
    remarks.append(&mut entry.notes.remarks);
    let object = Object { line: written.line, members: entry.members };
    Made { object, enabled, questions: entry.notes.questions }
}

fn translate(node: &mut Node, translation: &Translation<'_>, notes: &mut Notes) {
    match &mut node.value {
        Value::Text(text) => *text = Text::written(&translation.ours(&text.raw, notes)),
        Value::List(items) => items.iter_mut().for_each(|item| translate(item, translation, notes)),
        Value::Object(object) => {
            object.members.values_mut().for_each(|node| translate(node, translation, notes));
        }
        Value::Null | Value::Flag(_) | Value::Number(_) => {}
    }
}

struct Entry {
    members: IndexMap<String, Node>,
    line: usize,
    notes: Notes,
}

impl Entry {
    /// Adds one key of the entry under the name we have for it.
    fn add(&mut self, name: &str, key: &str, node: Node) {
        match key {
            "name" if node.written() == Some(&*plain(name)) || scalar(&node).as_deref() == Some(name) => {}
            key if TYPES.contains(&key) => self.add_type(&node),
            key if ADDRESSES.contains(&key) => self.add_address(key, node),
            "headers" | "http_headers" => self.add_texts("headers", node),
            "env" => self.add_texts("env", node),
            "args" => self.add_arguments(node),
            "env_http_headers" => self.add_headers_by_name(node),
            "bearer_token_env_var" => self.add_bearer(node),
            "tool_timeout_sec" => self.add_seconds("timeout", node),
            "startup_timeout_sec" => self.add_seconds("startTimeout", node),
            key if DENIED.contains(&key) => self.add_names("deniedTools", node),
            // An object there says how tools are approved, and nothing about which there are.
            "tools" if node.object().is_some() => {}
            key if ALLOWED.contains(&key) => self.add_names("allowedTools", node),
            key if SERVER.key(key).is_some() => drop(self.members.insert(key.to_owned(), node)),
            key => self.notes.remarks.push(format!("`{key}` means nothing to us and is left out")),
        }
    }

    fn add_type(&mut self, node: &Node) {
        let said = node.written().unwrap_or_default();
        let ours = match said {
            "" | "stdio" => return,
            "http" | "streamable-http" | "streamable_http" | "streamableHttp" => "http",
            "sse" | "litemcp" => said,
            other => {
                self.notes.remarks.push(format!("the type `{other}` means nothing to us and is left out"));
                return;
            }
        };
        self.members.entry("type".to_owned()).or_insert_with(|| text(node.line, ours));
    }

    fn add_address(&mut self, key: &str, node: Node) {
        if key == "httpUrl" {
            self.members.entry("type".to_owned()).or_insert_with(|| text(node.line, "http"));
        }
        let line = node.line;
        let there = self.members.insert("url".to_owned(), node);
        if let Some(there) = there {
            // The first that was written stays, unless this is the plain name for it.
            if key != "url" {
                self.members.insert("url".to_owned(), there);
            }
            self.notes.remarks.push(format!("line {line}: it has several addresses; only `url` is used"));
        }
    }

    /// Adds texts by name; those that are there stay. Numbers and flags are texts here.
    fn add_texts(&mut self, key: &str, node: Node) {
        let Value::Object(object) = node.value else {
            self.members.insert(key.to_owned(), node);
            return;
        };
        for (name, value) in object.members {
            let value = match (&value.value, scalar(&value)) {
                (Value::Null, _) => continue,
                (Value::Number(_) | Value::Flag(_), Some(said)) => text(value.line, &said),
                _ => value,
            };
            self.put(key, &name, value);
        }
    }

    fn add_arguments(&mut self, mut node: Node) {
        if let Value::List(items) = &mut node.value {
            for item in items {
                if let (Value::Number(_) | Value::Flag(_), Some(said)) = (&item.value, scalar(item)) {
                    *item = text(item.line, &said);
                }
            }
        }
        self.members.insert("args".to_owned(), node);
    }

    fn add_headers_by_name(&mut self, node: Node) {
        let variables = node.object().into_iter().flat_map(|object| &object.members);
        let named: Option<Vec<(String, Node)>> = variables
            .map(|(header, variable)| {
                let variable = variable.written().filter(|name| is_variable_name(name))?;
                Some((header.clone(), text(node.line, &format!("${{{variable}}}"))))
            })
            .collect();
        match named {
            Some(named) if node.object().is_some() => {
                named.into_iter().for_each(|(header, value)| self.put("headers", &header, value));
            }
            // As it is, so that it is told of where it is read: a token may have been pasted there.
            _ => drop(self.members.insert("env_http_headers".to_owned(), node)),
        }
    }

    fn add_bearer(&mut self, node: Node) {
        let Some(variable) = node.written().filter(|name| is_variable_name(name)).map(str::to_owned) else {
            self.members.insert("bearer_token_env_var".to_owned(), node);
            return;
        };
        // The token is the more particular wish, and a header must not be sent twice.
        if let Some(Value::Object(headers)) = self.members.get_mut("headers").map(|node| &mut node.value) {
            headers.members.retain(|name, _| !name.eq_ignore_ascii_case("authorization"));
        }
        self.put("headers", "Authorization", text(node.line, &format!("Bearer ${{{variable}}}")));
    }

    fn add_seconds(&mut self, key: &str, node: Node) {
        let Value::Number(seconds) = &node.value else { return };
        let Ok(seconds) = seconds.parse::<f64>() else { return };
        let value = Value::Number((seconds * 1000.0).round().to_string());
        self.members.entry(key.to_owned()).or_insert(Node { line: node.line, value });
    }

    /// Adds names to a list.
    fn add_names(&mut self, key: &str, node: Node) {
        match (self.members.get_mut(key).map(|node| &mut node.value), node) {
            (Some(Value::List(there)), Node { value: Value::List(more), .. }) => there.extend(more),
            (_, node) => drop(self.members.insert(key.to_owned(), node)),
        }
    }

    fn put(&mut self, key: &str, name: &str, value: Node) {
        let empty = Node { line: self.line, value: Value::Object(Object::default()) };
        let there = self.members.entry(key.to_owned()).or_insert(empty);
        if let Value::Object(object) = &mut there.value {
            object.members.entry(name.to_owned()).or_insert(value);
        }
    }

    /// Leaves out what says nothing, and makes paths of a project hold everywhere.
    fn finish(&mut self, translation: &Translation<'_>) {
        let is_all = |node: &Node| {
            node.list().is_some_and(|names| names.iter().any(|name| name.written() == Some("*")))
        };
        if self.members.get("allowedTools").is_some_and(is_all) {
            self.members.shift_remove("allowedTools");
        }
        for key in ["args", "env", "headers", "deniedTools"] {
            let is_empty = |node: &Node| match &node.value {
                Value::List(items) => items.is_empty(),
                Value::Object(object) => object.members.is_empty(),
                _ => false,
            };
            if self.members.get(key).is_some_and(is_empty) {
                self.members.shift_remove(key);
            }
        }
        // Where keys were renamed they stand at the end; what is run is looked for at the start.
        for (place, key) in ["command", "args"].into_iter().enumerate() {
            if let Some(at) = self.members.get_index_of(key) {
                self.members.move_index(at, place.min(self.members.len() - 1));
            }
        }
        if let Some(project) = translation.project {
            let project = plain(&project.display().to_string());
            self.make_absolute("cwd", &project, true);
            self.make_absolute("envFile", &project, true);
            // A program is looked for from where it is started.
            let cwd = self.members.get("cwd").and_then(Node::written).unwrap_or(&project).to_owned();
            if cwd.starts_with('/') {
                self.make_absolute("command", &cwd, false);
            }
        }
    }

    /// Puts a folder before a path that is relative to it. A program without a `/` is looked for on the `PATH`.
    fn make_absolute(&mut self, key: &str, folder: &str, always: bool) {
        let Some(node) = self.members.get_mut(key) else { return };
        let Some(path) = node.written() else { return };
        let is_relative = !path.is_empty()
            && !path.starts_with(['/', '\\', '~', '$'])
            && path.as_bytes().get(1) != Some(&b':')
            && (always || path.contains('/'));
        if !is_relative {
            return;
        }
        let mut below = path;
        while let Some(rest) = below.strip_prefix("./") {
            below = rest.trim_start_matches('/');
        }
        let below = if below == "." { "" } else { below };
        let full = format!("{}/{below}", folder.trim_end_matches('/'));
        let full = if below.is_empty() { full.trim_end_matches('/').to_owned() } else { full };
        node.value = Value::Text(Text::written(&full));
    }
}

fn text(line: usize, text: &str) -> Node {
    Node { line, value: Value::Text(Text::written(text)) }
}
