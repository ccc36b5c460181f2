//! One server of another program's file, in our own words.

use indexmap::IndexMap;

use super::SERVER_KEYS;
use super::table::Client;
use crate::expand::Text;
use crate::file::{Node, Object, Value};
use crate::problem::Problems;

/// Rewrites an entry; `None` where only the program itself could run it, which has been said.
pub(super) fn convert(client: &Client, node: &Node, place: &str, problems: &mut Problems) -> Option<Node> {
    let Value::Object(object) = &node.value else { return Some(node.clone()) };
    let mut entry = Entry { members: object.members.clone(), line: node.line };
    entry.unfold_transport();
    if entry.is_own(client) {
        if !matches!(entry.members.get("enabled").map(|node| &node.value), Some(Value::Flag(false))) {
            let what = format!("is a part of {}, which only it can run", client.title);
            problems.warn(node.line, place, what, Some("it is left out".to_owned()));
        }
        return None;
    }
    for (key, instead) in &client.unsupported {
        if let Some(found) = entry.members.shift_remove(key) {
            problems.warn(found.line, place, format!("`{key}` is not supported"), Some(instead.clone()));
        }
    }
    entry.split_command();
    for key in &client.seconds {
        entry.as_milliseconds(key);
    }
    for key in &client.empty_is_all {
        if entry.members.get(key).and_then(Node::list).is_some_and(<[Node]>::is_empty) {
            entry.members.shift_remove(key);
        }
    }
    for (theirs, ours) in &client.fields {
        entry.rename(theirs, ours);
    }
    entry.translate_type(client);
    Some(Node { line: node.line, value: Value::Object(Object { line: object.line, members: entry.members }) })
}

/// Tells whether only the program itself could run an entry.
pub(super) fn is_own(client: &Client, node: &Node) -> bool {
    let Some(object) = node.object() else { return false };
    let mut entry = Entry { members: object.members.clone(), line: node.line };
    entry.unfold_transport();
    entry.is_own(client)
}

/// Puts the members of a nested `transport` into the entries themselves.
pub(super) fn unfold_transports(servers: &mut Node) {
    let Value::Object(servers) = &mut servers.value else { return };
    for node in servers.members.values_mut() {
        if let Value::Object(object) = &mut node.value
            && object.object("transport").is_some()
        {
            let mut entry = Entry { members: std::mem::take(&mut object.members), line: node.line };
            entry.unfold_transport();
            object.members = entry.members;
        }
    }
}

struct Entry {
    members: IndexMap<String, Node>,
    line: usize,
}

impl Entry {
    fn is_own(&self, client: &Client) -> bool {
        let runs = SERVER_KEYS.iter().any(|key| self.members.contains_key(*key));
        client.own.iter().any(|(key, values)| match self.members.get(key) {
            Some(node) if !values.is_empty() => {
                node.written().is_some_and(|said| values.iter().any(|value| value == said))
            }
            // With this key and nothing to run it belongs to something we do not have.
            Some(_) => !runs,
            None => false,
        })
    }

    fn unfold_transport(&mut self) {
        if self.members.get("transport").and_then(Node::object).is_none() {
            return;
        }
        if let Some(Node { value: Value::Object(transport), .. }) = self.members.shift_remove("transport") {
            for (key, node) in transport.members {
                self.members.entry(key).or_insert(node);
            }
        }
    }

    /// A command may be a list with its arguments, or an object with its `path`.
    fn split_command(&mut self) {
        for key in ["command", "cmd"] {
            let Some(node) = self.members.get(key) else { continue };
            let line = node.line;
            match &node.value {
                Value::List(items) => {
                    let mut items = items.clone().into_iter();
                    let Some(program) = items.next() else { continue };
                    self.members.insert(key.to_owned(), program);
                    let mut args: Vec<Node> = items.collect();
                    if let Some(more) = self.members.get("args").and_then(Node::list) {
                        args.extend(more.iter().cloned());
                    }
                    self.members.insert("args".to_owned(), Node { line, value: Value::List(args) });
                }
                Value::Object(inner) if inner.members.contains_key("path") => {
                    let mut inner = inner.clone();
                    if let Some(program) = inner.members.shift_remove("path") {
                        self.members.insert(key.to_owned(), program);
                    }
                    for (key, node) in inner.members {
                        self.members.entry(key).or_insert(node);
                    }
                }
                _ => {}
            }
        }
    }

    fn as_milliseconds(&mut self, key: &str) {
        if let Some(Node { value: Value::Number(number), .. }) = self.members.get_mut(key)
            && let Ok(seconds) = number.parse::<f64>()
        {
            *number = (seconds * 1000.0).to_string();
        }
    }

    fn rename(&mut self, theirs: &str, ours: &str) {
        let Some(node) = self.take(theirs) else { return };
        match ours {
            "" => {}
            "bearer" => {
                if let Some(token) = node.written() {
                    let value = Value::Text(Text::written(&format!("Bearer {token}")));
                    self.merge("headers", [("Authorization".to_owned(), Node { line: node.line, value })]);
                }
            }
            "environment names" => {
                let names = node.list().unwrap_or_default().iter().filter_map(|name| {
                    let value = Value::Text(Text::written(&format!("${{{}}}", name.written()?)));
                    Some((name.written()?.to_owned(), Node { line: name.line, value }))
                });
                let names: Vec<_> = names.collect();
                self.merge("env", names);
            }
            "inherited names" => {
                // Each is a name, or an object that has it.
                let names = node.list().unwrap_or_default().iter().filter_map(|item| {
                    let name = item.written().or_else(|| item.object()?.written("name"))?;
                    Some(Node { line: item.line, value: Value::Text(Text::written(name)) })
                });
                let names = Node { line: node.line, value: Value::List(names.collect()) };
                self.members.entry("inheritEnv".to_owned()).or_insert(names);
            }
            ours => match node.value {
                Value::Object(object) => self.merge(ours, object.members),
                // A part of the very key it becomes takes its place.
                value if theirs.split_once('.').is_some_and(|(outer, _)| outer == ours) => {
                    self.members.insert(ours.to_owned(), Node { line: node.line, value });
                }
                // Where both are there, neither is lost: it is told of as a key that is not known, or refused.
                value if self.members.contains_key(ours) => {
                    self.members.insert(theirs.to_owned(), Node { line: node.line, value });
                }
                value => {
                    self.members.insert(ours.to_owned(), Node { line: node.line, value });
                }
            },
        }
    }

    /// Takes out what stands at a path of keys.
    fn take(&mut self, path: &str) -> Option<Node> {
        let Some((outer, inner)) = path.split_once('.') else { return self.members.shift_remove(path) };
        let Value::Object(object) = &mut self.members.get_mut(outer)?.value else { return None };
        let taken = object.members.shift_remove(inner);
        if object.members.is_empty() {
            self.members.shift_remove(outer);
        }
        taken
    }

    /// Adds members to an object that may be there already; what is there stays.
    fn merge(&mut self, key: &str, members: impl IntoIterator<Item = (String, Node)>) {
        let empty = Node { line: self.line, value: Value::Object(Object::default()) };
        if let Value::Object(object) = &mut self.members.entry(key.to_owned()).or_insert(empty).value {
            for (name, node) in members {
                object.members.entry(name).or_insert(node);
            }
        }
    }

    fn translate_type(&mut self, client: &Client) {
        let said = self.members.get("type").and_then(Node::written).map(str::to_owned);
        let ours =
            client.types.iter().find(|(theirs, _)| Some(theirs) == said.as_ref()).map(|(_, ours)| ours);
        let text = |ours: &str| Node { line: self.line, value: Value::Text(Text::written(ours)) };
        match (ours, &client.url_type) {
            (Some(ours), _) if ours.is_empty() => drop(self.members.shift_remove("type")),
            (Some(ours), _) => drop(self.members.insert("type".to_owned(), text(ours))),
            (None, Some(kind))
                if said.is_none()
                    && self.members.contains_key("url")
                    && !self.members.contains_key("transport") =>
            {
                self.members.insert("type".to_owned(), text(kind));
            }
            _ => {}
        }
    }
}
