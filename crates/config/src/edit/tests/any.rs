//! Texts nobody thought of.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::{edit, enable, put, remove};
use crate::edit::{Edit, PermissionKind};
use crate::load::load_text;
use crate::model::Server;
use crate::testing::options;

/// What the files of every syntax are made of.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    ", ",
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    "\"",
    "'",
    "\"a\"",
    "\"b\"",
    "a",
    "b",
    "mcpServers",
    "\"mcpServers\"",
    "servers:",
    "mcp_servers",
    "[mcp_servers.a]\n",
    "[[x]]\n",
    " = ",
    "command",
    "\"command\"",
    "\"x\"",
    "- ",
    "-",
    "- name: a",
    "name",
    "// c\n",
    "/* c */",
    "# c\n",
    " # c",
    "#",
    "true",
    "null",
    "1",
    "|",
    ">",
    "&x ",
    "*x",
    "disabled",
    "enabled: false",
    "ä",
    "\u{feff}",
    "\t",
    " ",
    "---\n",
    "\\",
    "namespaces",
    "toolPermissions",
    "{}",
    "[]",
];

fn edits() -> Vec<Edit> {
    let permission = Edit::SetPermission {
        namespace: "b".to_owned(),
        server: "a".to_owned(),
        kind: PermissionKind::Tool,
        name: "t".to_owned(),
        allow: Some(false),
    };
    let rename = Edit::RenameServer { id: "a".to_owned(), to: "ö z".to_owned() };
    let entry = r#"{"command": "x", "args": ["y"], "env": {"A": "b"}}"#;
    vec![
        enable("a", false),
        enable("a", true),
        put("a", entry),
        put("new", entry),
        remove("a"),
        rename,
        permission,
    ]
}

/// Returns the servers of a file, each without what only its place says.
fn servers(name: &str, text: &str) -> Option<BTreeMap<String, Server>> {
    let config = load_text(text, Some(Path::new(name)), &options()).ok()?;
    let plain = |server: Server| Server { exposed_id: String::new(), ..server };
    Some(config.servers.into_iter().map(|server| (server.key.id.clone(), plain(server))).collect())
}

/// Whatever was done to one server, the others are as before.
pub(super) fn check_others(path: &Path, before: &str, after: &str, id: &str) {
    let others = |text: &str| {
        let mut servers = servers(path.to_str().unwrap(), text).unwrap();
        servers.remove(id);
        servers
    };
    assert_eq!(others(before), others(after), "{id}\n{before}\n{after}");
}

/// Makes every edit; whatever comes of one changes no other server, and making it again changes nothing.
fn check_every_edit(name: &str, text: &str) {
    for change in edits() {
        let Ok(new) = edit(name, text, &change) else { continue };
        let (Some(before), Some(after)) = (servers(name, text), servers(name, &new)) else { continue };
        let others = |servers: BTreeMap<String, Server>| -> BTreeMap<String, Server> {
            servers.into_iter().filter(|(id, _)| !["a", "new", "ö z"].contains(&id.as_str())).collect()
        };
        assert_eq!(others(before), others(after), "{change:?}\n{text}\n{new}");
        if matches!(change, Edit::SetEnabled { .. } | Edit::PutServer { .. } | Edit::SetPermission { .. }) {
            assert_eq!(edit(name, &new, &change).as_ref(), Ok(&new), "{change:?}\n{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_an_edit(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        for name in ["c.json", "c.toml", "c.yaml"] {
            check_every_edit(name, &text);
        }
    }

    #[test]
    fn no_damaged_file_breaks_an_edit(
        file in file(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, prop::sample::select(PIECES)), 1..4),
    ) {
        for (name, text) in [("c.json", file.json()), ("c.toml", file.toml()), ("c.yaml", file.yaml())] {
            let mut chars: Vec<char> = text.chars().collect();
            for (at, gone, piece) in &damage {
                let at = at.index(chars.len());
                let end = chars.len().min(at + gone);
                chars.splice(at..end, piece.chars());
            }
            check_every_edit(name, &chars.into_iter().collect::<String>());
        }
    }

    #[test]
    fn every_comment_survives(file in file()) {
        for (name, text) in [("c.json", file.json()), ("c.toml", file.toml()), ("c.yaml", file.yaml())] {
            prop_assert!(servers(name, &text).is_some_and(|found| found.len() == file.servers.len()), "{text}");
            check_every_edit(name, &text);
            for change in [enable("a", false), enable("b", true), put("new", r#"{"command": "n"}"#)] {
                let new = edit(name, &text, &change);
                let new = new.unwrap_or_else(|error| panic!("{change:?}: {error}\n{text}"));
                prop_assert_eq!(comments(&new), comments(&text), "{}\n{}", text, new);
            }
            let with = edit(name, &text, &put("new", r#"{"command": "n", "env": {"A": "b"}}"#)).unwrap();
            prop_assert_eq!(edit(name, &with, &remove("new")).unwrap(), text);
        }
    }
}

fn comments(text: &str) -> Vec<&str> {
    text.split('¶').skip(1).step_by(2).collect()
}

/// A file with servers `a`, `b` and so on, and comments at some places.
#[derive(Debug, Clone)]
struct File {
    servers: Vec<Entry>,
    /// Whether there is a comment at the next place, over and over.
    comments: Vec<bool>,
    indent: usize,
    line_end: &'static str,
}

#[derive(Debug, Clone)]
struct Entry {
    args: usize,
    env: bool,
    flag: Option<(&'static str, bool)>,
}

fn file() -> impl Strategy<Value = File> {
    let flag = prop::option::of((prop::sample::select(&["enabled", "disabled"][..]), any::<bool>()));
    let entry = (0..3_usize, any::<bool>(), flag).prop_map(|(args, env, flag)| Entry { args, env, flag });
    let servers = prop::collection::vec(entry, 2..5);
    let comments = prop::collection::vec(any::<bool>(), 1..9);
    let line_end = prop::sample::select(&["\n", "\r\n"][..]);
    (servers, comments, 1..5_usize, line_end).prop_map(|(servers, comments, indent, line_end)| File {
        servers,
        comments,
        indent,
        line_end,
    })
}

/// Lines, with comments between and behind them.
struct Page<'f> {
    file: &'f File,
    mark: &'static str,
    lines: Vec<String>,
    placed: usize,
}

impl Page<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        let indent = " ".repeat(depth * self.file.indent);
        let above = self.comment().map(|comment| format!("{indent}{comment}"));
        self.lines.extend(above);
        let behind = self.comment().map_or_else(String::new, |comment| format!(" {comment}"));
        self.lines.push(format!("{indent}{line}{behind}"));
    }

    fn comment(&mut self) -> Option<String> {
        self.placed += 1;
        let is_there = self.file.comments[self.placed % self.file.comments.len()];
        is_there.then(|| format!("{} ¶{}¶", self.mark, self.placed))
    }

    fn text(self) -> String {
        self.lines.into_iter().map(|line| line + self.file.line_end).collect()
    }
}

impl File {
    fn page(&self, mark: &'static str) -> Page<'_> {
        Page { file: self, mark, lines: Vec::new(), placed: 0 }
    }

    fn each(&self) -> impl Iterator<Item = (char, &Entry)> {
        ('a'..).zip(&self.servers)
    }

    fn json(&self) -> String {
        let mut page = self.page("//");
        page.line(0, "{");
        page.line(1, "\"mcpServers\": {");
        for (id, entry) in self.each() {
            page.line(2, &format!("\"{id}\": {{"));
            page.line(3, "\"args\": [");
            for number in 0..entry.args {
                page.line(4, &format!("\"{number}\"{}", if number + 1 < entry.args { "," } else { "" }));
            }
            page.line(3, "],");
            if let Some((flag, value)) = entry.flag {
                page.line(3, &format!("\"{flag}\": {value},"));
            }
            if entry.env {
                page.line(3, "\"env\": {\"K\": \"v\"},");
            }
            page.line(3, "\"command\": \"x\"");
            page.line(2, if usize::from(id as u8 - b'a') + 1 < self.servers.len() { "}," } else { "}" });
        }
        page.line(1, "}");
        page.line(0, "}");
        page.text()
    }

    fn toml(&self) -> String {
        let mut page = self.page("#");
        for (id, entry) in self.each() {
            page.line(0, &format!("[mcpServers.{id}]"));
            page.line(0, "command = \"x\"");
            page.line(0, "args = [");
            for number in 0..entry.args {
                page.line(1, &format!("\"{number}\","));
            }
            page.line(0, "]");
            if let Some((flag, value)) = entry.flag {
                page.line(0, &format!("{flag} = {value}"));
            }
            if entry.env {
                page.line(0, &format!("[mcpServers.{id}.env]"));
                page.line(0, "K = \"v\"");
            }
        }
        page.text()
    }

    fn yaml(&self) -> String {
        let mut page = self.page("#");
        page.line(0, "mcpServers:");
        for (id, entry) in self.each() {
            page.line(1, &format!("{id}:"));
            page.line(2, "command: x");
            if entry.args > 0 {
                page.line(2, "args:");
            }
            for number in 0..entry.args {
                page.line(3, &format!("- \"{number}\""));
            }
            if let Some((flag, value)) = entry.flag {
                page.line(2, &format!("{flag}: {value}"));
            }
            if entry.env {
                page.line(2, "env: {K: v}");
            }
        }
        page.text()
    }
}
