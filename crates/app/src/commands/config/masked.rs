//! Hides in the text of a config what may be a secret. A secret may stand where none is looked for, so only values that
//! mean something to us and never are one are shown, an address by its origin. References such as `${TOKEN}` stay: they
//! tell nothing. Comments are left out: what is switched off for a while is often an entry with its secrets.

/// Members whose values are shown.
const SHOWN: [&str; 24] = [
    "$schema",
    "builtin",
    "command",
    "cwd",
    "defaultNamespaceId",
    "default_namespace",
    "description",
    "file",
    "format",
    "framing",
    "host",
    "kind",
    "level",
    "logLevel",
    "maxSize",
    "name",
    "profile",
    "protocol",
    "serverIds",
    "server_ids",
    "shared",
    "start",
    "transport",
    "type",
];
/// Members in which names are whatever somebody chose.
const CLOSED: [&str; 5] = ["args", "env", "environment", "headers", "http_headers"];
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];
const HIDDEN: &str = "***";

/// Returns the text with everything else hidden; order and layout stay. `None`: it is not JSON, so nothing is known of it.
pub(super) fn masked(text: &str) -> Option<String> {
    if !text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with(['{', '/']) {
        return None;
    }
    let mut shown = String::with_capacity(text.len());
    let mut scan = Scan { rest: text, open: Vec::new(), key: String::new() };
    while let Some(piece) = scan.next() {
        match piece {
            Piece::Other(other) => shown.push_str(other),
            Piece::Value(value) => shown.push_str(&scan.hidden(value)),
        }
    }
    Some(shown)
}

/// A part of the text: a string that is a value, or anything else.
enum Piece<'t> {
    Value(&'t str),
    Other(&'t str),
}

struct Scan<'t> {
    rest: &'t str,
    /// For each object and list that is open, whether what is in it is hidden, and its key.
    open: Vec<(bool, String)>,
    /// The last key.
    key: String,
}

impl<'t> Scan<'t> {
    fn next(&mut self) -> Option<Piece<'t>> {
        let first = self.rest.chars().next()?;
        if first == '"' {
            let text = self.take(string_end(self.rest));
            // What a colon follows is a key.
            if self.rest.trim_start().starts_with(':') {
                self.key = text.trim_matches('"').to_owned();
                return Some(Piece::Other(text));
            }
            return Some(Piece::Value(text));
        }
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
            return Some(Piece::Other("// ..."));
        }
        if self.rest.starts_with("/*") {
            let end = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
            self.take(end);
            return Some(Piece::Other("/* ... */"));
        }
        match first {
            '{' | '[' => {
                let hidden = self.is_in_hidden() || CLOSED.contains(&self.key.as_str());
                self.open.push((hidden, self.key.clone()));
            }
            // What follows in a list has the list's key again.
            '}' | ']' => self.key = self.open.pop().map_or_else(String::new, |(_, key)| key),
            _ => {}
        }
        Some(Piece::Other(self.take(first.len_utf8())))
    }

    fn is_in_hidden(&self) -> bool {
        self.open.last().is_some_and(|(hidden, _)| *hidden)
    }

    fn take(&mut self, end: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Returns a value as it may be shown.
    fn hidden(&self, value: &str) -> String {
        let inner = value.strip_prefix('"').unwrap_or(value);
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        let key = self.key.as_str();
        match self.is_in_hidden() {
            false if SHOWN.contains(&key) => value.to_owned(),
            false if ADDRESSES.contains(&key) => format!("\"{}\"", origin(inner)),
            _ => format!("\"{}\"", without_literals(inner)),
        }
    }
}

/// Returns where a string ends that begins here.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Hides everything but references to variables and stored secrets.
fn without_literals(text: &str) -> String {
    let is_reference = |text: &str| {
        let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        name.is_some_and(|name| {
            let (name, more) = name.strip_prefix("secret:").map_or((name, ""), |name| (name, ".-"));
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(c))
        })
    };
    match text {
        "" => String::new(),
        text if is_reference(text) => text.to_owned(),
        text => match text.strip_prefix("Bearer ") {
            Some(token) if is_reference(token) => text.to_owned(),
            _ => HIDDEN.to_owned(),
        },
    }
}

/// Returns scheme, host and port of an address, and a mark where there was more.
fn origin(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return without_literals(address) };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = if path.is_empty() { String::new() } else { format!("/{HIDDEN}") };
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::masked;

    #[test]
    fn what_may_be_secret_is_hidden_and_the_rest_stays() {
        let text = r#"{
  // my "servers", with a {brace} in a comment
  "mcpServers": {
    "git": { "command": "uvx", "args": ["--password=hunter2", "${DIR}"], "env": {"KEY": "k\"1", "T": "${T}", "S": "${secret:a.b-c}"} },
    "web": { "url": "https://me:pw@h.example:1/mcp?key=1", "headers": {"Authorization": "Bearer ${T}", "X": "abc"} },
  },
  "namespaces": {"work": {"serverIds": ["git", "web"], "odd": [{"name": "n"}, "x"]}},
  "server": {"token": "short", "port": 1} /* "end" */
}
"#;
        expect![[r#"
            {
              // ...
              "mcpServers": {
                "git": { "command": "uvx", "args": ["***", "${DIR}"], "env": {"KEY": "***", "T": "${T}", "S": "${secret:a.b-c}"} },
                "web": { "url": "https://h.example:1/***", "headers": {"Authorization": "Bearer ${T}", "X": "***"} },
              },
              "namespaces": {"work": {"serverIds": ["git", "web"], "odd": [{"name": "n"}, "***"]}},
              "server": {"token": "***", "port": 1} /* ... */
            }
        "#]]
        .assert_eq(&masked(text).unwrap());
        assert_eq!(masked("[mcp_servers.git]\nenv = { KEY = \"k\" }"), None);
    }
}
